/* grow [MIB]: asks for memory, a mebibyte at a time, and uses it; by default until it is
 * refused.  Prints what it got; 1 when that is less than it was told to get. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB_PAGES 16

int main(int argc, char **argv)
{
    unsigned long wanted = argc > 1 ? strtoul(argv[1], NULL, 10) : 4096;
    unsigned long got = 0;

    while (got < wanted) {
        size_t page = __builtin_wasm_memory_grow(0, MIB_PAGES);
        if (page == (size_t)-1)
            break;
        memset((void *)(page * 65536), 0xa5, MIB_PAGES * 65536);
        got++;
    }
    printf("%lu MiB\n", got);
    return argc > 1 && got < wanted;
}
