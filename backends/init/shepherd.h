#ifndef NACRE_INIT_SHEPHERD_H
#define NACRE_INIT_SHEPHERD_H

#include <sys/types.h>

#include "exec.h"

/*
 * A process between init and one command.  Whatever the command starts, and however it
 * detaches itself, falls back to the shepherd, which kills and reaps it when the command
 * has ended: so that what belongs to one command is never taken for another's.  A kernel
 * without subreapers (gVisor of 2022) gives them to init instead: there commands run one
 * at a time.
 *
 * It is not dumpable and blocks every signal, but a guest has its uid and can still kill
 * or stop it; its socket is then at its end without a last word.
 */

/* By a SEQPACKET socket: orders of init, ... */
struct shepherd_order {
    int32_t signal; /* to the command's process group; 0: end it and all it started */
};

/* ... and the shepherd's words. */
enum shepherd_kind {
    SHEPHERD_NONE,
    SHEPHERD_STARTED,
    SHEPHERD_REFUSED, /* the last word */
    SHEPHERD_ENDED,   /* the last word; nothing of the command lives */
    SHEPHERD_BEATEN,  /* the last word: not all could be killed in time */
};
struct shepherd_word {
    uint32_t kind;
    int32_t wait_status;  /* of the command itself */
    uint32_t was_ordered; /* it lived when the order to end it came */
    uint32_t left_behind;
    uint32_t is_no_reaper; /* its command's orphans are init's, who has to end them */
    uint64_t user_us, system_us, memory_bytes_peak;
    struct exec_refusal refusal;
};

/* How long it tries to kill everything. */
#define SHEPHERD_KILL_MS 700

/* The life of a shepherd.  `input` may be -1: the command's stdin is /dev/null then. */
struct shepherd_fds {
    int socket, input, output, errors;
};
_Noreturn void shepherd_main(const struct exec_plan *plan,
                             const struct shepherd_fds *fds);

/* In the child that becomes the command: executes it, or tells `executing` why not. */
_Noreturn void shepherd_be_command(const struct exec_plan *plan,
                                   const struct shepherd_fds *fds, int executing);

/* What all the children that were waited for have used. */
void shepherd_account(struct shepherd_word *word);

#endif
