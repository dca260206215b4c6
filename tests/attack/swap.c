/*
 * swap A B TIMES [on]: exchanges the two names so often, from outside of any sandbox;
 * with "on" it goes on until SIGTERM.  Always an even number of times, so that each ends
 * as it was.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static volatile sig_atomic_t told;

static void on_signal(int number)
{
    told = number;
}

int main(int argc, char **argv)
{
    unsigned long times, done = 0;

    if (argc < 4)
        return 2;
    times = strtoul(argv[3], NULL, 10);
    told = argc == 4;
    (void)signal(SIGTERM, on_signal);
    while (done < times || !told || done % 2) {
        if (renameat2(AT_FDCWD, argv[1], AT_FDCWD, argv[2], RENAME_EXCHANGE) != 0) {
            perror("swap");
            return 1;
        }
        done++;
    }
    (void)printf("swapped %lu\n", done);
    return 0;
}
