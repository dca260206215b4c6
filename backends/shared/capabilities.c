#include "capabilities.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KEPT                                                              \
    (1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH | 1u << CAP_FOWNER)

enum nacre_status nacre_capabilities_drop(struct nacre_error *err)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct sets[2] = { 0 };

    if (syscall(SYS_capget, &header, sets) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "capabilities can't be read");
    sets[0].permitted &= KEPT;
    /* Also what the kernel has put aside when files became another user's. */
    sets[0].effective = sets[0].permitted;
    sets[0].inheritable = 0;
    sets[1] = (struct __user_cap_data_struct){ 0 };
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 ||
        syscall(SYS_capset, &header, sets) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "capabilities can't be given up");
    return NACRE_OK;
}
