/* Any bytes at all, as a query to the sandbox's name server: the answer fits, is for that
 * query, and names no address but the doorway's. */
#include <assert.h>
#include <string.h>

#include "names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const all[] = { "*", NULL };
    static const char *const some[] = { "a.test", "*.b.test", NULL };
    static const char *const none[] = { NULL };
    static const uint8_t doorway[4] = { 127, 0, 1, 1 };
    const char *const *const lists[] = { all, some, none };
    uint8_t answer[NAMES_ANSWER_MAX];

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        size_t used = names_answer(lists[i], data, size, answer);

        assert(used == 0 || (used >= 12 && used <= sizeof(answer)));
        if (used == 0)
            continue;
        assert(size >= 12 && memcmp(answer, data, 2) == 0 && answer[2] & 0x80);
        assert(answer[7] == 0 || memcmp(answer + used - 4, doorway, 4) == 0);
        assert(lists[i] != none || answer[7] == 0);
    }
    return 0;
}
