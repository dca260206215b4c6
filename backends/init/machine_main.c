#include <sys/stat.h>

#include "init.h"
#include "machine_parts.h"

int machine_main(void)
{
    static struct machine_making making = { .root_fd = -1, .files_fd = -1,
                                            .cover_dir_fd = -1, .cover_file_fd = -1 };
    const struct init_place place = { .is_pid1 = true, .walls = true, .landlock_fd = -1,
                                      .names_fd = -1 };

    launch_channel = 2; /* the console, where there is one */
    (void)umask(0);
    machine_devices_begin();
    machine_devices_channel();
    making.order = machine_order_read();
    machine_user_clock(making.order);
    machine_root_make(&making);
    machine_attach_all(&making);
    machine_group_enter(&making);
    machine_user_settle(making.order);
    machine_root_enter(&making);
    machine_user_become(making.order);
    return init_main(&place);
}
