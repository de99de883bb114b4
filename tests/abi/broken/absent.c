/* A library that the plugin needs_absent needs and nobody finds. */
int absent(void);
int absent(void) { return 0; }
