#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "init.h"
#include "launch.h"
#include "machine_parts.h"

int main(int argc, char **argv)
{
    struct init_place place = { .is_pid1 = getpid() == 1, .walls = true,
                                .landlock_fd = -1, .names_fd = -1 };

    if (argc == 2 && strcmp(argv[1], "launch") == 0)
        return launch_main();
    if (argc == 2 && strcmp(argv[1], "inner") == 0)
        return launch_inner_main();
    /* Whatever else a kernel's command line may pass on to its first process. */
    if (argc == 2 && strcmp(argv[1], "machine") == 0 && place.is_pid1)
        return machine_main();
    if (argc == 2 && strcmp(argv[1], "none") == 0)
        place.walls = false;
    else if (argc == 2 && strcmp(argv[1], "browser") == 0)
        place.browser = true;
    else if (argc == 2 && strcmp(argv[1], "setup") == 0)
        place.setup = true;
    else if (argc != 1) {
        (void)fputs("nacre-init: expected no argument, \"launch\", \"inner\", "
                    "\"machine\", \"browser\", \"setup\" or \"none\"; nacre starts it, as the first "
                    "process of a sandbox\n",
                    stderr);
        return 2;
    }
    return init_main(&place);
}
