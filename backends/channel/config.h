#ifndef NACRE_CHANNEL_CONFIG_H
#define NACRE_CHANNEL_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "frame.h"
#include "pack.h"

/*
 * The messages of the channel that are more than a number.  A message longer than a
 * frame is sent in several frames of its type; the last one has lane 1.  The parts of
 * one message follow each other: none of another message of that type comes between.
 */
#define CONFIG_BYTES_MAX ((size_t)4 << 20)
#define REPORT_BYTES_MAX ((size_t)4 << 20)
#define START_BYTES_MAX ((size_t)4 << 20)
#define CONFIG_LIST_MAX 8192
#define CONFIG_COMMANDS_MAX 64
#define CONFIG_FILTER_MAX 4096 /* instructions; the kernel takes no more */

/* A name that must stay covered: judged before each command.  `device` and `inode` are
 * the cover's as seen in the sandbox; both 0: what was there when init got the
 * configuration. */
struct init_mask {
    const char *path;
    uint64_t device, inode;
};

/*
 * What init is told once, before any command.
 *
 * Questions are answered by a process under the walls of a command: "file PATH" by what
 * the file says (at most 256 KiB; /proc/self is that process), "stat PATH" by
 * "device inode mode uid gid fstype flags bytes inodes" (decimal, mode octal, flags of
 * statvfs, sizes of the filesystem), "list PATH" by the names in the directory, a line
 * each, or any of them by "error NAME" (ENOENT ...).  "limits" is answered as
 * /proc/self/limits would be and "privileges" by the lines NoNewPrivs and CapAmb of
 * /proc/self/status, both by asking the kernel itself: not every kernel has them in those
 * files.
 */
struct init_config {
    uint64_t beat_ms_max; /* without a BEAT for so long every command is killed; a START
                             counts as one; never 0 */
    uint64_t commands_max; /* at once: 1 to CONFIG_COMMANDS_MAX */
    bool once; /* for one command and no second: init leaves by itself when that has ended
                  or was refused; commands_max is 1 then */
    uint64_t capabilities_kept; /* of those that init has, by number: bit 1 << CAP_...;
                                   a command has no other */
    bool weighed_apart; /* the kernel shares out processors to the sandbox as a whole, so
                           that a command's priority counts for nothing outside: it gets
                           the lowest, and init is not kept waiting by thousands */
    bool landlock_none;   /* no second wall: the engine's container has none */
    const char *oom_file; /* where the kernel counts kills for memory; "" for none:
                             memory.events (v2) or memory.oom_control (v1) */
    const char *forks_file; /* where it counts forks that it refused: pids.events; "" or
                               NULL for none */
    const void *filter;   /* struct sock_filter[]: a second seccomp program; or empty */
    size_t filter_bytes;
    const struct init_mask *masks;
    size_t mask_count;
    bool carries; /* init listens at the doorway (doorway.h) itself, and carries what
                     comes over the channel */
    const char *const *names; /* what the doorway's name server answers for: "name",
                                 "*.name" (any depth below) or "*"; in lower case */
    size_t name_count;        /* 0: there is no such server */
    const char *const *questions;
    size_t question_count;
};

/* The report: answers to all the questions in their order, one after the other until
 * the message ends. */
#define ANSWER_BYTES_MAX ((size_t)256 << 10)
struct init_answer {
    const char *question;
    const char *text; /* not terminated */
    size_t count; /* an answer may be cut: then it has exactly the ceiling's length */
};

/* A file that is there for one command: below START_FILES_DIR, of mode 0400, written
 * before the command is executed and gone when the last one with files has ended. */
#define START_FILES_DIR "/run/secrets"
#define START_CERTIFICATES_DIR "/run/nacre"
#define START_CERTIFICATES START_CERTIFICATES_DIR "/ca.pem"
#define START_FILES_MAX 64
#define START_FILE_NAME_MAX 128 /* with the terminator */
struct init_file {
    const char *name; /* of letters, digits, '_', '-' and '.', which it does not begin
                         with */
    const void *bytes;
    size_t count;
};

/* One command.  Everything that a command is allowed is in here or in the walls. */
struct init_start {
    const char *const *arguments; /* NULL-terminated; the first is the program's path, or
                                     a name, looked up in PATH of `environment` */
    const char *const *environment;
    const char *directory;
    uint64_t wall_ms_max; /* init kills it then; the owner holds a second watch.  Not 0 */
    uint64_t open_files_max, processes_max, file_bytes_max; /* rlimits; 0: leave it */
    bool input; /* lane 0 will carry bytes; else stdin is /dev/null */
    const struct init_file *files;
    size_t file_count;
    const char *certificates; /* for START_CERTIFICATES; "": leave it */
};

enum init_refusal {
    INIT_REFUSAL_NONE,
    INIT_REFUSAL_MASK,     /* text: the name that is not covered any more */
    INIT_REFUSAL_EXEC,     /* errno: ENOENT, EACCES, ...; text: the program */
    INIT_REFUSAL_DIRECTORY, /* text: the directory */
    INIT_REFUSAL_WALL,     /* a wall could not be put up: nothing was executed; text:
                              which one */
    INIT_REFUSAL_FULL,     /* more than commands_max, or no process could be made */
};

/* How a command ended: u64 each, in this order. */
struct init_exit {
    uint64_t how;    /* enum init_how */
    uint64_t status; /* exit status, or signal */
    uint64_t user_us, system_us, memory_bytes_peak; /* of it and all it started */
    uint64_t oom_kills; /* that the kernel counted while it ran */
    uint64_t forks_refused; /* likewise, for the limit on processes */
    uint64_t left_behind; /* processes that outlived it and were killed */
};
enum init_how {
    INIT_HOW_NONE,
    INIT_HOW_EXITED,
    INIT_HOW_SIGNALLED,  /* by the guest itself or by the kernel */
    INIT_HOW_TIMED_OUT,  /* wall_ms_max */
    INIT_HOW_KILLED,     /* KILL, SHUTDOWN, or no BEAT */
};

/* Packing fails (false) when `pack` is too small; reading when the message is not whole
 * and right.  What is read points into the message; lists into `room`. */
bool init_file_name_is_good(const char *name);
bool init_config_pack(struct pack *pack, const struct init_config *config);
bool init_start_pack(struct pack *pack, const struct init_start *start);
bool init_exit_pack(struct pack *pack, const struct init_exit *exit);
bool init_answer_pack(struct pack *pack, const struct init_answer *answer);

struct init_room {
    const char *texts[2 * CONFIG_LIST_MAX + 2];
    struct init_mask masks[CONFIG_LIST_MAX];
    struct init_file files[START_FILES_MAX];
};
bool init_config_unpack(struct unpack *unpack, struct init_room *room,
                        struct init_config *ret_config);
bool init_start_unpack(struct unpack *unpack, struct init_room *room,
                       struct init_start *ret_start);
bool init_exit_unpack(struct unpack *unpack, struct init_exit *ret_exit);
/* The next one; the message is whole when unpack_whole() says so after the last. */
bool init_answer_unpack(struct unpack *unpack, struct init_answer *ret_answer);

#endif
