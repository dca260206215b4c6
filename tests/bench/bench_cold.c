/*
 * bench_cold COUNT ROW PROGRAM [ARGUMENT...] [-- ROW PROGRAM [ARGUMENT...]]...: how long
 * each program takes from its start to its end, one of each by turns.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure.h"

#define COMMANDS_MAX 16

extern char **environ;

static void run(void *data)
{
    char **arguments = data;
    posix_spawn_file_actions_t actions;
    int status = -1, failed;
    pid_t pid;

    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY,
                                           0);
    (void)posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY,
                                           0);
    failed = posix_spawnp(&pid, arguments[0], &actions, NULL, arguments, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (failed)
        measure_die("%s: %s", arguments[0], strerror(failed));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        measure_die("%s failed: status %#x", arguments[0], (unsigned)status);
}

int main(int argc, char **argv)
{
    struct measure_variant variants[COMMANDS_MAX];
    size_t count = 0;

    for (int i = 2; i < argc; i++) {
        if (count == COMMANDS_MAX || i + 1 >= argc)
            measure_die("at most %d programs, each after the name of its row",
                        COMMANDS_MAX);
        variants[count++] = (struct measure_variant){ .row = argv[i], .call = run,
                                                      .data = argv + i + 1 };
        while (i < argc && strcmp(argv[i], "--") != 0)
            i++;
        argv[i] = NULL;
    }
    if (count == 0)
        measure_die("COUNT ROW PROGRAM [ARGUMENT...] [-- ROW PROGRAM [ARGUMENT...]]...");
    measure_by_turns(variants, count, measure_count(argv[1]));
    return 0;
}
