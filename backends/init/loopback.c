#include "loopback.h"

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "nacre/own.h"

bool loopback_raise(void)
{
    NACRE_AUTO(nacre_fd_guard) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };

    return fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
}
