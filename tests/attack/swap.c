/*
 * swap A B TIMES: exchanges the two names so often, from outside of any sandbox, and
 * says so when it is done; an odd number is made even, so that each ends as it was.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    unsigned long times;

    if (argc != 4)
        return 2;
    times = strtoul(argv[3], NULL, 10);
    times += times % 2;
    for (unsigned long i = 0; i < times; i++)
        if (renameat2(AT_FDCWD, argv[1], AT_FDCWD, argv[2], RENAME_EXCHANGE) != 0) {
            perror("swap");
            return 1;
        }
    (void)printf("swapped %lu\n", times);
    return 0;
}
