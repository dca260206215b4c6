#ifndef NACRE_WALLS_H
#define NACRE_WALLS_H

#include "nacre/plan.h"

#define NOT_IN_ROOT "not in the sandbox's root"

/* A line about containers that an executor would take and not keep. */
struct unkept {
    const char *rule, *begins; /* of an entry; "": any */
    const char *why;
};

/*
 * What differs from level to level, and with gVisor from container to container: the
 * words for each line of a policy and what enforces it.  Private to host/plan; the
 * sections read a row and know no level.
 */
struct walls {
    uint64_t features; /* what an executor of this level can be asked for */
    uint64_t always;   /* of those: what every plan requires */

    const char *level, *jail; /* the level's line: what it is, and what makes it that */
    const char *runtime;

    const char *network; /* nothing is reachable */
    const char *door;    /* the one way out, where something is */
    const char *secret_files;
    const char *command; /* what judges a command, or why there is none */

    /* files */
    const char *deny, *no_files; /* mode deny: what, and by which wall */
    const char *full, *tree;     /* mode full likewise */
    const char *mount, *private_mount, *denied;
    const char *unreached; /* a denied name that no mount reaches; NULL: as `denied` */
    const char *sockets; /* what of the host's is in a granted directory beside files */
    bool covers_root; /* denied names in the sandbox's own parts are covered too */

    /* limits: the unit with what it counts, and the wall */
    const char *memory_unit, *memory;
    const char *memory_default_unit, *memory_default; /* where no line asks for it; of
                                                         the unit, NULL: the same */
    const char *cpu, *cpu_more; /* up to an ordinary share, and beyond it */
    const char *cpuset, *disk, *disk_of_session; /* where there may be one */
    const char *processes_unit, *processes;
    const char *open_files_unit, *open_files;
    uint64_t memory_mb_min, open_files_min; /* below it no sandbox can be made; 0: none */
    const char *time_unit, *time;
    const char *output;
    const char *scratch;
    bool scratch_in_parts; /* each private directory has its even part, not a common sum */
    bool scratch_files_uncounted;

    /* Lines of `container:` that are refused, and what to do about it; may be NULL. */
    const struct unkept *unkept;
    size_t unkept_count;
    const char *unkept_fix;
};

const struct walls *nacre_walls_of(enum nacre_level level, enum nacre_runtime runtime);

/* Not WebAssembly: commands run there. */
bool nacre_level_is_native(enum nacre_level level);

/* A sandbox of an image's files: a container, or a machine. */
bool nacre_level_has_image(enum nacre_level level);

/* At or below /proc or /sys. */
bool nacre_path_is_kernels(const char *path);

/* What a sandbox has though no policy names it. */
struct builtin {
    unsigned modes; /* a bit for each mode of the files that it is there in */
    const char *guest; /* NULL: everything that is not listed before */
    bool read, write;
    const char *what, *mechanism;
    const char *const *names; /* the only ones in it, NULL-terminated; NULL: any */
};
/* The one after `last`, NULL: the first, of the policy's level and mode; NULL at the
 * end. */
const struct builtin *nacre_builtin_next(const struct nacre_policy *policy,
                                         const struct builtin *last);
/* Does it hold anything at, below or above `guest`?  A made /etc has few files. */
bool nacre_builtin_holds(const struct builtin *part, const char *guest);
/* The one that `guest` (absolute, normalised) lies in, or NULL. */
const struct builtin *nacre_builtin_at(const struct nacre_policy *policy,
                                       const char *guest);

#endif
