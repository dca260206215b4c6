#include "wt_result.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

uint64_t wt_result_output(const struct nacre_wasi_record *record, int stream, uint64_t bytes_max)
{
    uint64_t used = atomic_load_explicit(&record->output_used[stream], memory_order_acquire);

    return used < bytes_max ? used : bytes_max;
}

static void copy_text(char *ret_text, size_t size, const char *from, size_t from_size)
{
    size_t length = strnlen(from, from_size < size ? from_size : size - 1);

    memcpy(ret_text, from, length);
    ret_text[length] = '\0';
}

static void copy_denials(const struct nacre_wasi_record *record, const struct nacre_plan *plan,
                         struct nacre_result *result)
{
    uint32_t count = record->denial_count;

    if (count > NACRE_DENIALS_MAX)
        count = NACRE_DENIALS_MAX;
    for (uint32_t i = 0; i < count; i++) {
        struct nacre_wasi_denial seen = record->denials[i];
        struct nacre_denial denial = { 0 };
        char path[sizeof(seen.path)];

        copy_text(denial.code, sizeof(denial.code), seen.code, sizeof(seen.code));
        copy_text(path, sizeof(path), seen.path, sizeof(seen.path));
        (void)snprintf(denial.rule, sizeof(denial.rule), "capabilities.filesystem");
        if (seen.mount < plan->mount_count) {
            const char *guest = plan->mounts[seen.mount].guest;

            denial.place = plan->mounts[seen.mount].place;
            (void)snprintf(denial.path, sizeof(denial.path), "%.120s%s%.130s", guest,
                           path[0] && strcmp(guest, "/") != 0 ? "/" : "", path);
        }
        (void)snprintf(denial.text, sizeof(denial.text), "%s%s%s", denial.code,
                       denial.path[0] ? ": " : "", denial.path);
        nacre_result_deny(result, &denial);
    }
    if (record->denials_seen > result->denials_seen)
        result->denials_seen = record->denials_seen;
}

static enum nacre_status copy_output(const struct nacre_wasi_record *record,
                                     const unsigned char *const output[2], uint64_t bytes_max,
                                     struct nacre_result *result, struct nacre_error *err)
{
    struct nacre_buf *streams[2] = { &result->output, &result->errors };

    for (int stream = 0; stream < 2; stream++) {
        uint64_t there = wt_result_output(record, stream, bytes_max);
        enum nacre_status status;

        *streams[stream] = (struct nacre_buf)NACRE_BUF(bytes_max);
        status = nacre_buf_add(streams[stream], output[stream], there, err);
        if (status != NACRE_OK)
            return status;
    }
    return NACRE_OK;
}

/* A reply that no honest worker gives is a worker that was taken over. */
enum nacre_status wt_result_reply(const struct wt_reply *reply, struct nacre_result *result,
                                  struct nacre_error *err)
{
    uint32_t status = reply->status, outcome = reply->outcome, values = reply->values_size;

    copy_text(result->reason, sizeof(result->reason), reply->reason, sizeof(reply->reason));
    result->usage.fuel = reply->fuel;
    result->usage.fuel_exact = reply->fuel_exact != 0;
    result->usage.memory_bytes_peak = reply->memory_bytes_peak;
    result->usage.memory_refused = reply->memory_refused != 0;
    result->usage.cpu_ns = reply->cpu_ns;
    if (status == NACRE_ERR_NOT_RUNNABLE)
        return nacre_fail(err, NACRE_ERR_NOT_RUNNABLE, "%.500s", result->reason);
    if (status == NACRE_ERR_IO || status == NACRE_ERR_MEMORY)
        return nacre_fail(err, NACRE_ERR_BACKEND, "%.500s", result->reason);
    if (status != NACRE_OK || outcome == NACRE_OUTCOME_NONE || outcome >= NACRE_OUTCOME_DENIED ||
        values > WT_VALUES_MAX) {
        result->outcome = NACRE_OUTCOME_KILLED;
        result->signal = SIGKILL;
        (void)snprintf(result->reason, sizeof(result->reason), "the worker's reply made no sense");
        return NACRE_OK;
    }
    result->outcome = outcome;
    result->exit_status = reply->exit_status;
    result->values = (struct nacre_buf)NACRE_BUF(WT_VALUES_MAX);
    return values > 0 ? nacre_buf_add(&result->values, reply->values, values, err) : NACRE_OK;
}

enum nacre_status wt_result_record(const struct nacre_wasi_record *record,
                                   const unsigned char *const output[2], uint64_t bytes_max,
                                   const struct nacre_plan *plan,
                                   const struct nacre_request *request,
                                   struct nacre_result *result, struct nacre_error *err)
{
    result->usage.bytes_read = record->bytes_read;
    result->usage.bytes_written = record->bytes_written;
    result->usage.files_opened = record->files_opened;
    result->output_cut = atomic_load(&record->ending) == NACRE_WASI_OUTPUT_LIMIT;
    copy_denials(record, plan, result);
    return request->stream_only ? NACRE_OK : copy_output(record, output, bytes_max, result, err);
}
