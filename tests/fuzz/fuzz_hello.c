/*
 * Any bytes at all, as what a TLS client says first: how they are cut into segments never
 * changes the verdict, and a name that is found stands in what came.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hello.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct door_hello hello = { .name = "?" }, again = { .name = "?" };
    enum door_hello_is is = door_hello_read(data, size, &hello), early = DOOR_HELLO_MORE;

    if (size > 4096)
        return 0;
    for (size_t cut = 0; cut < size && early == DOOR_HELLO_MORE; cut++) {
        /* On the heap, so that reading past the end is seen. */
        uint8_t *piece = malloc(cut + 1);

        assert(piece);
        memcpy(piece + 1, data, cut);
        early = door_hello_read(piece + 1, cut, &again);
        free(piece);
    }
    if (early != DOOR_HELLO_MORE)
        assert(early == is && strcmp(again.name, hello.name) == 0);
    if (is == DOOR_HELLO_WHOLE) {
        assert(hello.name[0] != '\0' && strlen(hello.name) < sizeof(hello.name));
        for (const char *at = hello.name; *at; at++)
            assert(strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                          "0123456789.-_", *at));
    }
    return 0;
}
