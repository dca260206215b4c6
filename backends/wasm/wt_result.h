#ifndef WT_RESULT_H
#define WT_RESULT_H

#include "nacre/plan.h"
#include "nacre/result.h"
#include "nacre_wasi.h"
#include "wt_call.h"

/*
 * From what a worker left to what a caller gets.  The worker may have been taken over
 * by its guest: each number is read once and checked, each text is cut and terminated.
 */

/* How much of a stream is there: never more than its buffer, whatever is claimed. */
uint64_t wt_result_output(const struct nacre_wasi_record *record, int stream,
                          uint64_t bytes_max);

/*
 * How it ended.  NACRE_ERR_NOT_RUNNABLE when the guest was never entered.  A reply
 * that no honest worker gives, or that blames the host, becomes the outcome KILLED.
 */
NACRE_MUST_CHECK enum nacre_status wt_result_reply(const struct wt_reply *reply,
                                                   struct nacre_result *result,
                                                   struct nacre_error *err);

/* What it did: output, counters, denials.  Holds also for a worker that was killed. */
NACRE_MUST_CHECK enum nacre_status wt_result_record(
    const struct nacre_wasi_record *record, const unsigned char *const output[2],
    uint64_t bytes_max, const struct nacre_plan *plan,
    const struct nacre_request *request, struct nacre_result *result,
    struct nacre_error *err);

#endif
