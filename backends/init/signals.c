#include "signals.h"

#include <signal.h>
#include <stdint.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KERNEL_SIGNALS 64

/* As the kernel has them, which is not as the C library shows them. */
static const uint64_t every_signal = ~UINT64_C(0);
struct kernel_action {
    void *handler; /* NULL: the default */
    unsigned long flags;
    void *restorer;
    uint64_t mask;
};

void signals_reset(void)
{
    const struct kernel_action defaults = { 0 };

    for (int number = 1; number <= KERNEL_SIGNALS; number++)
        (void)syscall(SYS_rt_sigaction, number, &defaults, NULL, sizeof(every_signal));
}

int signals_take(void)
{
    if (syscall(SYS_rt_sigprocmask, SIG_SETMASK, &every_signal, NULL,
                sizeof(every_signal)) != 0)
        return -1;
    return (int)syscall(SYS_signalfd4, -1, &every_signal, sizeof(every_signal),
                        SFD_CLOEXEC | SFD_NONBLOCK);
}
