#ifndef NACRE_APPROVALS_STORE_H
#define NACRE_APPROVALS_STORE_H

#include "nacre/approval.h"
#include "nacre/key.h"

/*
 * Requests and their answers, in the private directory STATE_DIR/approvals:
 *
 *     ID.request   what is asked, as JSON, for the person
 *     ID.answer    a sealed yes or no, bound to the call that the person was shown
 *
 * Both are whole when they have their name.  Neither is believed: what an answer binds is
 * compared with the call that is about to run, in the asker's own memory.
 */
#define APPROVAL_PURPOSE_ANSWER "nacre approval answer 1"
#define APPROVAL_PURPOSE_TOKEN "nacre approval token 1"
#define APPROVAL_KEY "approval.key"
#define APPROVALS_MAX 256

/* What is approved: all of the ask but its reason, its caller and its token. */
struct nacre_digest approval_call(const struct nacre_approval_ask *ask);

/* A yes or no, sealed. */
struct approval_answer {
    bool approve;
    uint8_t nonce[16];
    uint64_t expires_ms;
    uint32_t uid; /* of the person */
    struct nacre_digest call;
};
#define APPROVAL_ANSWER_BYTES (1 + 1 + 16 + 8 + 4 + NACRE_DIGEST_BYTES)

void approval_answer_seal(const uint8_t key[NACRE_KEY_BYTES], const char *purpose,
                          const struct approval_answer *answer,
                          char ret_token[NACRE_APPROVAL_TOKEN]);
bool approval_answer_open(const uint8_t key[NACRE_KEY_BYTES], const char *purpose,
                          const char *token, struct approval_answer *ret_answer);

NACRE_MUST_CHECK enum nacre_status approval_dir_open(const char *state_dir, int *ret_fd,
                                                     struct nacre_error *err);

/* Writes a request and gives it an id; removes what has long expired.  NACRE_ERR_TOO_BIG:
 * too many wait already. */
NACRE_MUST_CHECK enum nacre_status
approval_write(int dir_fd, const struct nacre_approval_ask *ask, uint64_t expires_ms,
               char ret_id[NACRE_APPROVAL_ID], struct nacre_error *err);

/* The answer to `id`: NACRE_ERR_NOT_FOUND while there is none.  One that is not sealed
 * with the key is a no. */
NACRE_MUST_CHECK enum nacre_status
approval_read_answer(int dir_fd, const uint8_t key[NACRE_KEY_BYTES], const char *id,
                     struct approval_answer *ret_answer, struct nacre_error *err);

/* A request for this call that waits or has its answer; "" when there is none. */
NACRE_MUST_CHECK enum nacre_status approval_find(int dir_fd, const struct nacre_digest *call,
                                                 char ret_id[NACRE_APPROVAL_ID],
                                                 struct nacre_error *err);

void approval_remove(int dir_fd, const char *id);

#endif
