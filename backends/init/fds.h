#ifndef NACRE_INIT_FDS_H
#define NACRE_INIT_FDS_H

#include <stdbool.h>
#include <stddef.h>

/* Closes `*fd` if it is open; it is -1 then. */
void fd_close(int *fd);
bool fd_nonblocking(int fd);

/* Closes every fd of this process but `kept`; negative ones are no fds. */
void fds_keep(const int *kept, size_t count);

#endif
