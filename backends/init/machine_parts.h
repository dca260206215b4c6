#ifndef NACRE_INIT_MACHINE_PARTS_H
#define NACRE_INIT_MACHINE_PARTS_H

#include "launch_ops.h"
#include "machine.h"

/*
 * A virtual machine's first process, until it is init (machine.h of the channel has the
 * contract).  It is root of its own kernel and alone there: what it reads comes from its
 * owner, from its kernel and from the image's disk, whose links may lead anywhere and are
 * never followed out of the sandbox's root.
 *
 * Everything that fails ends the machine by launch_fail().
 */

/* `nacre-init machine`: returns the status to leave with. */
int machine_main(void);

/* ---- in this order ---- */

/* The kernel's own file systems at /proc, /sys and /dev, and the modules. */
void machine_devices_begin(void);
/* The channel: fds 0 and 1.  Failures are told there from now on. */
void machine_devices_channel(void);

/* Reads MACHINE from the channel, and not a byte of what follows it. */
const struct init_machine *machine_order_read(void);

/* The time of day, before anything is made that bears one. */
void machine_user_clock(const struct init_machine *order);

struct machine_making {
    const struct init_machine *order;
    int root_fd;  /* of the sandbox; not the process's root before machine_root_enter() */
    int files_fd; /* of a tmpfs that no name leads to: covers and files lie there */
    int cover_dir_fd, cover_file_fd;
    unsigned file_count;
};

/* The image with the layer above it, and the kernel's file systems as guests see them. */
void machine_root_make(struct machine_making *making);
/* The owner's mounts. */
void machine_attach_all(struct machine_making *making);
/* The group of all that runs here, this process included: its parent can't be written to
 * by whom it is going to be. */
void machine_group_enter(struct machine_making *making);
/* What the kernel as a whole allows. */
void machine_user_settle(const struct init_machine *order);
/* Nothing of the initial file system is left. */
void machine_root_enter(struct machine_making *making);
/* Gives up root. */
void machine_user_become(const struct init_machine *order);

/* ---- what several of them use ---- */

/* A file system that is attached nowhere; options are key and value by turns, to NULL; a
 * NULL for a value is left out.  `words` say what for.  CLOEXEC. */
int machine_fs(const char *type, unsigned attributes, const char *words, const char *what,
               const char *const *options);
/* A mount of `fd`'s file or directory alone. */
int machine_bind(int fd, uint64_t attributes, const char *what);
/* On top of what is at `path`, below the root; a directory that is missing is made. */
void machine_attach_at(const struct machine_making *making, const char *path, int tree);
/* Hides `path` (below the root) when it is there. */
void machine_cover(const struct machine_making *making, const char *path);

#endif
