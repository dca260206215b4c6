#ifndef NACRE_AUDIT_LOG_H
#define NACRE_AUDIT_LOG_H

#include <pthread.h>

#include "checkpoint.h"
#include "line.h"
#include "nacre/audit.h"
#include "nacre/text.h"
#include "record.h"

/*
 * In a page of its own that a forked child sees as zeros: workers are forked from
 * this process, and a guest that breaks out into one must not find the key there.
 */
struct audit_secret {
    uint8_t key[NACRE_KEY_BYTES];
    struct nacre_hasher keyed; /* for digests of arguments */
    bool present;              /* false in a forked child */
};

struct nacre_audit {
    char shown[NACRE_SHOWN], checkpoints_shown[NACRE_SHOWN]; /* their paths, to print */
    char newest_path[NACRE_PATH_MAX], newest_shown[NACRE_SHOWN];
    int fd;
    int checkpoints_fd; /* locked shared for as long as the log is open */
    struct audit_secret *secret;
    pthread_mutex_t mutex; /* guards all below, and the lock on `fd` */
    struct audit_checkpoint head; /* the log as this handle left it */
    uint64_t vouched_count;       /* records that a checkpoint covers */
    uint64_t open_runs;           /* begun by this handle, and not ended */
    bool knows_all; /* every other run up to `head` has ended: it had the log alone when
                     * it opened it, and nobody else has written since */
};

#define AUDIT_LOCK_MS 5000

/* flock() with a bounded wait; `how` is LOCK_EX or LOCK_SH.  NACRE_ERR_UNAVAILABLE. */
NACRE_MUST_CHECK enum nacre_status audit_file_lock(int fd, int how, uint64_t wait_ms,
                                                   const char *shown,
                                                   struct nacre_error *err);
void audit_file_unlock(int fd);

/* Under the lock from here on. */

/* Learn the log's head as others have left it, and how many torn bytes lie behind. */
NACRE_MUST_CHECK enum nacre_status audit_log_refresh(struct nacre_audit *audit,
                                                     uint64_t *ret_torn_count,
                                                     struct nacre_error *err);

/* Cuts off the torn end, if there is one, and appends a "recovered" record. */
NACRE_MUST_CHECK enum nacre_status audit_log_recover(struct nacre_audit *audit,
                                                     const struct audit_damage *damage,
                                                     struct nacre_error *err);

enum audit_stand { AUDIT_STANDS, AUDIT_CUT, AUDIT_DIFFERS };

/* Does the log, as just refreshed, begin with what `checkpoint` vouches for?  Looks at
 * the last of those records only: its link stands for the ones before. */
NACRE_MUST_CHECK enum nacre_status
audit_log_compare(const struct nacre_audit *audit,
                  const struct audit_checkpoint *checkpoint, enum audit_stand *ret_stand,
                  struct nacre_error *err);

/* NACRE_ERR_IO when the newest checkpoint vouches for more, or for another log. */
NACRE_MUST_CHECK enum nacre_status audit_log_checkpoint(struct nacre_audit *audit,
                                                        struct nacre_error *err);

#endif
