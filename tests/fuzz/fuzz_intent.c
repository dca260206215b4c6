/* Any text as a token: invalid, unless the key's holder wrote exactly it. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/intent.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t key[NACRE_KEY_BYTES] = { 1, 2, 3 };
    struct nacre_intent intent = { .expires_ms = 1 }, opened;
    char right[NACRE_INTENT_TOKEN], changed[NACRE_INTENT_TOKEN];
    char *text = malloc(size + 1);
    enum nacre_intent_verdict verdict;

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    nacre_intent_seal(key, &intent, right);
    verdict = nacre_intent_open(key, text, &opened);
    assert((verdict == NACRE_INTENT_HOLDS) == (strcmp(text, right) == 0));

    /* The right one with some of it overwritten. */
    memcpy(changed, right, sizeof(changed));
    for (size_t i = 0; i + 1 < size; i += 2)
        changed[data[i] % strlen(right)] = (char)data[i + 1];
    verdict = nacre_intent_open(key, changed, &opened);
    assert((verdict == NACRE_INTENT_HOLDS) == (strcmp(changed, right) == 0));
    free(text);
    return 0;
}
