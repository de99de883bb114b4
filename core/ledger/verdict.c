/* See verdict.h. */
#include "verdict.h"

static const char *const keys[VERDICT_COUNT] = {
#define X(key, text) #key,
    VERDICT_MAP(X)
#undef X
};
const char *verdict_key(uint32_t cause) { return keys[cause]; }

static const char *const texts[VERDICT_COUNT] = {
#define X(key, text) text,
    VERDICT_MAP(X)
#undef X
};
const char *verdict_text(uint32_t cause) { return texts[cause]; }
