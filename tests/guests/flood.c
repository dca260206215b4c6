/* flood [BYTES]: numbered lines of 64 bytes to standard output; endless by default. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    uint64_t left = argc > 1 ? strtoull(argv[1], NULL, 10) : UINT64_MAX;

    for (uint64_t line = 0; left >= 64; line++, left -= 64)
        if (printf("%063llu\n", (unsigned long long)line) < 0)
            return 1;
    return 0;
}
