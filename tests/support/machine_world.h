#ifndef NACRE_TEST_MACHINE_WORLD_H
#define NACRE_TEST_MACHINE_WORLD_H

#include <sys/types.h>

#include "machine.h"
#include "nt_box.h"

/*
 * A machine of the bundled kind, emulated, without an engine around it: QEMU as a child
 * of the test, Debian's kernel, our init, and for an image busybox alone.  Below `dir`:
 *
 *   share/   the 9p device "share": a file "file" with "inside" in it, a directory
 *            "hidden" with a file "secret" in it, a link "link" to /etc, all of MACHINE_UID
 *   fixed/   the 9p device "fixed", read-only at the server
 */
#define MACHINE_UID 1234
#define MACHINE_MEMORY_MB 256

struct machine_world {
    char dir[64];
    pid_t qemu; /* 0: none */
};

/* NULL, or what is missing here: only root can be MACHINE_UID. */
const char *machine_world_lack(void);
/* Makes the directory with the disk and the initial file system; false: it can't. */
bool machine_world_make(struct machine_world *world, struct nacre_error *err);
/* Starts QEMU; ret_stream is the channel.  `append` is for the kernel. */
bool machine_world_boot(struct machine_world *world, const char *append,
                        struct nt_stream *ret_stream, struct nacre_error *err);
/* Waits for QEMU's end, for at most so long: true when it came. */
bool machine_world_ended(struct machine_world *world, unsigned within_ms);
/* Kills QEMU when it is there, and removes everything. */
void machine_world_clear(struct machine_world *world);

#endif
