#ifndef NACRE_IDS_H
#define NACRE_IDS_H

#include <stdint.h>
#include <sys/types.h>

/* Maps one id, the sandbox's own, onto itself in the user namespace of `pid`: no other
 * exists in there, root neither.  NULL, or which of its files can't be written, with
 * errno. */
const char *nacre_ids_map(pid_t pid, uint64_t uid, uint64_t gid);

#endif
