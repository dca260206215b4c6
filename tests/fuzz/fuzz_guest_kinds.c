/* Any bytes as a file that the tool read looks at: no header leads out of them. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kinds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *exact = malloc(size ? size : 1);
    struct kind kind;

    assert(exact);
    if (size > 0)
        memcpy(exact, data, size);
    kind = kind_of(exact, size);
    assert(kind.name || (!kind.mime && kind.width == 0 && kind.height == 0));
    assert(kind.mime || (kind.width == 0 && kind.height == 0));
    (void)looks_binary(exact, size);
    free(exact);
    return 0;
}
