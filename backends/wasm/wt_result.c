#include "wt_result.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "nacre/text.h"

uint64_t wt_result_output(const struct nacre_wasi_record *record, int stream,
                          uint64_t bytes_max)
{
    uint64_t used =
        atomic_load_explicit(&record->output_used[stream], memory_order_acquire);

    return used < bytes_max ? used : bytes_max;
}

/* Fit to print, line by line: only a backtrace's ends of lines are left as they are. */
static void copy_text(char *ret_text, size_t size, const char *from, size_t from_size)
{
    char copy[2048]; /* which nobody changes while it is read */
    size_t length = strnlen(from, from_size < sizeof(copy) ? from_size : sizeof(copy));
    size_t used = 0, start = 0;

    memcpy(copy, from, length);
    for (size_t i = 0; i <= length && used + 1 < size; i++) {
        if (i < length && copy[i] != '\n')
            continue;
        (void)nacre_text_show(ret_text + used, size - used, copy + start, i - start);
        used += strlen(ret_text + used);
        if (i < length && used + 1 < size)
            ret_text[used++] = '\n';
        start = i + 1;
    }
    ret_text[used] = '\0';
}

/* The policy's line on the network, or the default in its place. */
static struct nacre_place network_place(const struct nacre_plan *plan)
{
    static const char rule[] = "capabilities.network";

    for (uint32_t i = 0; i < plan->decision_count; i++)
        if (strncmp(plan->decisions[i].rule, rule, sizeof(rule) - 1) == 0)
            return plan->decisions[i].place;
    return (struct nacre_place){ 0 };
}

/* A request to `host` that was not made, because there is no network at all. */
static void deny_network(const char *host, const struct nacre_plan *plan,
                         struct nacre_denial *denial)
{
    denial->place = network_place(plan);
    (void)snprintf(denial->path, sizeof(denial->path), "%.255s", host);
    (void)snprintf(denial->rule, sizeof(denial->rule), "capabilities.network.mode");
    (void)snprintf(denial->text, sizeof(denial->text), "%s%s%s", denial->code,
                   host[0] ? ": " : "", host);
    (void)snprintf(denial->fix, sizeof(denial->fix),
                   "mode: allowlist, and the host on allowed_hosts");
}

static void copy_denials(const struct nacre_wasi_record *record,
                         const struct nacre_plan *plan, struct nacre_result *result)
{
    uint32_t count = record->denial_count;

    if (count > NACRE_DENIALS_MAX)
        count = NACRE_DENIALS_MAX;
    for (uint32_t i = 0; i < count; i++) {
        struct nacre_wasi_denial seen = record->denials[i];
        struct nacre_denial denial = { 0 };
        char path[sizeof(seen.path)];

        (void)nacre_text_show(denial.code, sizeof(denial.code), seen.code,
                              strnlen(seen.code, sizeof(seen.code)));
        (void)nacre_text_show(path, sizeof(path), seen.path,
                              strnlen(seen.path, sizeof(seen.path)));
        (void)snprintf(denial.rule, sizeof(denial.rule), "capabilities.filesystem");
        if (seen.mount < plan->mount_count) {
            const char *guest = plan->mounts[seen.mount].guest;

            denial.place = plan->mounts[seen.mount].place;
            (void)snprintf(denial.path, sizeof(denial.path), "%.120s%s%.130s", guest,
                           path[0] && strcmp(guest, "/") != 0 ? "/" : "", path);
        }
        (void)snprintf(denial.text, sizeof(denial.text), "%s%s%s", denial.code,
                       denial.path[0] ? ": " : "", denial.path);
        if (strcmp(denial.code, "no-network") == 0)
            deny_network(path, plan, &denial);
        else if (seen.mount == plan->mount_count) /* no line of the policy changes that */
            (void)snprintf(denial.text, sizeof(denial.text), "%s: %s/%s", denial.code,
                           NACRE_SECRET_DIR, path);
        nacre_result_deny(result, &denial);
    }
    if (record->denials_seen > result->denials_seen)
        result->denials_seen = record->denials_seen;
}

static enum nacre_status copy_output(const struct nacre_wasi_record *record,
                                     const unsigned char *const output[2],
                                     uint64_t bytes_max, struct nacre_result *result,
                                     struct nacre_error *err)
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

/* Is it what wt_values_print() writes: numbers, and "nan" or "inf" as words? */
static bool is_values(const char *json, size_t count)
{
    if (count < 2 || json[0] != '[' || json[count - 1] != ']')
        return false;
    for (size_t i = 1; i < count - 1; i++)
        if (json[i] == '\0' || !strchr("0123456789+-.e,\"naif", json[i]))
            return false;
    return true;
}

static void killed(struct nacre_result *result)
{
    result->outcome = NACRE_OUTCOME_KILLED;
    result->signal = SIGKILL;
}

/*
 * A reply that no honest worker gives is a worker that was taken over.  One that says it
 * could not begin may be honest, but nobody can tell, and a guest must not be able to
 * make nacre say that nacre failed: both end as KILLED, with what is known in the reason.
 */
enum nacre_status wt_result_reply(const struct wt_reply *reply,
                                  struct nacre_result *result, struct nacre_error *err)
{
    uint32_t status = reply->status, outcome = reply->outcome, size = reply->values_size;
    char values[WT_VALUES_MAX], text[sizeof(result->reason)];

    copy_text(result->reason, sizeof(result->reason), reply->reason,
              sizeof(reply->reason));
    result->usage.fuel = reply->fuel;
    result->usage.fuel_exact = reply->fuel_exact != 0;
    result->usage.memory_bytes_peak = reply->memory_bytes_peak;
    result->usage.memory_refused = reply->memory_refused != 0;
    result->usage.cpu_ns = reply->cpu_ns;
    if (status == NACRE_ERR_NOT_RUNNABLE)
        return nacre_fail(err, NACRE_ERR_NOT_RUNNABLE, "%.500s", result->reason);
    if (status == NACRE_ERR_IO || status == NACRE_ERR_MEMORY) {
        killed(result);
        (void)snprintf(text, sizeof(text), "the worker could not begin: %.2000s",
                       result->reason);
        memcpy(result->reason, text, sizeof(text));
        return NACRE_OK;
    }
    if (size <= sizeof(values))
        memcpy(values, reply->values, size);
    if (status != NACRE_OK || outcome == NACRE_OUTCOME_NONE ||
        outcome >= NACRE_OUTCOME_KILLED || size > sizeof(values) ||
        (size > 0 && !is_values(values, size))) {
        killed(result);
        (void)snprintf(result->reason, sizeof(result->reason),
                       "the worker's reply made no sense");
        return NACRE_OK;
    }
    result->outcome = outcome;
    result->exit_status = reply->exit_status;
    result->values = (struct nacre_buf)NACRE_BUF(WT_VALUES_MAX);
    return size > 0 ? nacre_buf_add(&result->values, values, size, err) : NACRE_OK;
}

enum nacre_status wt_result_record(const struct nacre_wasi_record *record,
                                   const unsigned char *const output[2],
                                   uint64_t bytes_max, const struct nacre_plan *plan,
                                   const struct nacre_request *request,
                                   struct nacre_result *result, struct nacre_error *err)
{
    result->usage.bytes_read = record->bytes_read;
    result->usage.bytes_written = record->bytes_written;
    result->usage.files_opened = record->files_opened;
    result->output_cut = atomic_load(&record->ending) == NACRE_WASI_OUTPUT_LIMIT;
    copy_denials(record, plan, result);
    return request->stream_only ? NACRE_OK
                                : copy_output(record, output, bytes_max, result, err);
}
