#ifndef NACRE_AUDIT_RECORD_H
#define NACRE_AUDIT_RECORD_H

#include "line.h"
#include "nacre/audit.h"
#include "nacre/key.h"

/* What a record says, without its number and its link. */

/* A hash that has swallowed a secret: the start of every digest of arguments.  As
 * secret as the key itself. */
struct nacre_hasher audit_record_hasher(const uint8_t key[NACRE_KEY_BYTES]);

void audit_record_begin(struct audit_line *line, const struct nacre_hasher *keyed,
                        struct nacre_audit_run *run);
void audit_record_end(struct audit_line *line, const struct nacre_hasher *keyed,
                      const struct nacre_audit_run *run,
                      const struct nacre_result *result,
                      const struct nacre_error *failure);

/* More than begin in what of the log is looked at for them. */
#define AUDIT_UNENDED_MAX 64

/* What open found and set right.  Zeroed: nothing. */
struct audit_damage {
    uint64_t torn_count;       /* bytes of an unfinished line */
    uint64_t records_missing;  /* vouched for by a checkpoint, and gone */
    bool checkpoints_missing;  /* there are records, and no checkpoint holds */
    bool head_differs;         /* the last checkpoint vouches for another last line */
    bool rewritten;            /* the newest checkpoint vouches for another beginning */
    bool newest_missing;       /* there are checkpoints, and no newest one holds */
    bool alone;                /* nobody else had the log open: `unended` is known */
    uint64_t unended;          /* runs of the last records that never ended */
    char unended_ids[AUDIT_UNENDED_MAX][NACRE_RUN_ID]; /* as many as fit */
};

/* `torn` is the beginning of the unfinished line: all of it or AUDIT_TORN_MAX bytes. */
#define AUDIT_TORN_MAX 512
/* The end of a run whose owner is gone: told by who found it, and by its begin record. */
void audit_record_lost(struct audit_line *line, const char *run_id);
void audit_record_recovered(struct audit_line *line, const struct audit_damage *damage,
                            const char *torn);

#endif
