#ifndef NACRE_INIT_EXEC_H
#define NACRE_INIT_EXEC_H

#include "walls.h"

/* All that a command is made from; lies in memory that fork copies. */
struct exec_plan {
    const struct init_start *start;
    const struct walls *walls;
    const struct init_mask *masks;
    size_t mask_count;
    uint64_t processes_ours;
};

/* Why a command was not executed. */
struct exec_refusal {
    uint32_t refusal; /* enum init_refusal */
    int32_t error;    /* errno */
    uint32_t mask;    /* which one fell off */
    char text[256];   /* cut, if need be */
};

void exec_refusal_set(struct exec_refusal *ret_refusal, enum init_refusal refusal,
                      int error, const char *text);

/* Puts up the walls and executes the command, whose stdin, stdout and stderr are fds 0,
 * 1 and 2.  Returns only with a refusal: then leave, nothing of the guest has run. */
void exec_command(const struct exec_plan *plan, struct exec_refusal *ret_refusal);

/* The cover is still the one that it was, and still closed to all. */
bool exec_mask_holds(const struct init_mask *mask);

#endif
