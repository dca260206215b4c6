/*
 * measure FILE COMMAND...: runs the command and writes to FILE the most memory that it
 * or any process it waited for has held, in KiB.  Leaves with the command's status.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct rusage usage;
    int status;
    FILE *file;
    pid_t pid;

    if (argc < 3)
        return 2;
    pid = fork();
    if (pid == 0) {
        (void)execvp(argv[2], argv + 2);
        _exit(2);
    }
    if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
        return 2;
    file = fopen(argv[1], "we");
    if (!file || fprintf(file, "%ld\n", usage.ru_maxrss) < 0 || fclose(file) != 0)
        return 2;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
