/* See verdict.h. */
#include "verdict.h"

static const char *const keys[VERDICT_COUNT] = {
#define X(key, text, helps) #key,
    VERDICT_MAP(X)
#undef X
};
const char *verdict_key(uint32_t cause) { return keys[cause]; }

static const char *const texts[VERDICT_COUNT] = {
#define X(key, text, helps) text,
    VERDICT_MAP(X)
#undef X
};
const char *verdict_text(uint32_t cause) { return texts[cause]; }

static const char *const all_helps[VERDICT_COUNT] = {
#define X(key, text, helps) helps,
    VERDICT_MAP(X)
#undef X
};
const char *verdict_helps(uint32_t cause) { return all_helps[cause]; }
