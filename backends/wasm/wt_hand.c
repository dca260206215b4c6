#include "wt_hand.h"

#include <string.h>
#include <sys/mman.h>

static void put_secret_files(struct wt_cursor *cursor,
                             const struct nacre_request *request)
{
    for (uint32_t i = 0; i < request->secret_file_count; i++) {
        const struct nacre_secret_file *file = &request->secret_files[i];

        if (file->count > WT_TEXT_BYTES) {
            cursor->failed = true;
            return;
        }
        wt_put_text(cursor, file->name);
        wt_put_number(cursor, (uint32_t)file->count);
        wt_put_bytes(cursor, file->bytes, file->count);
    }
}

static void put_input(struct wt_cursor *cursor, const struct nacre_request *request)
{
    if (!request->input)
        return;
    if (request->input_bytes > NACRE_REQUEST_INPUT_MAX) {
        cursor->failed = true;
        return;
    }
    wt_put_number(cursor, (uint32_t)request->input_bytes);
    wt_put_bytes(cursor, request->input, request->input_bytes);
}

static bool has_input_fd(const struct nacre_request *request)
{
    return request->input_fd >= 0 && !request->input;
}

enum nacre_status wt_hand_write(struct wt_share *share, uint32_t text_start,
                                const struct nacre_plan *plan,
                                const struct nacre_tool *tool,
                                const struct nacre_request *request, uint64_t deadline_ns,
                                size_t *wipe, struct nacre_error *err)
{
    struct wt_cursor cursor = { share->text + text_start,
                                share->text + sizeof(share->text), false };
    uint32_t arguments = 1, environment = 0;

    wt_put_text(&cursor, tool->name);
    for (; request->arguments && request->arguments[arguments - 1]; arguments++)
        wt_put_text(&cursor, request->arguments[arguments - 1]);
    for (; request->environment && request->environment[environment]; environment++)
        wt_put_text(&cursor, request->environment[environment]);
    if (request->invoke)
        wt_put_text(&cursor, request->invoke);
    put_secret_files(&cursor, request);
    put_input(&cursor, request);
    /* Variables may hold the values of what was granted.  No more than that is locked:
     * the vault has to have its part of what may be. */
    if ((request->granted || request->secret_file_count > 0) &&
        (size_t)(cursor.at - share->text) > *wipe) {
        *wipe = (size_t)(cursor.at - share->text);
        (void)mlock(share->text, *wipe);
    }
    if (cursor.failed || arguments + environment > WT_TEXT_COUNT_MAX ||
        request->secret_file_count > WT_SECRET_FILES_MAX)
        return nacre_fail(err, NACRE_ERR_TOO_BIG,
                          "arguments, environment, input and secret files are over %zu "
                          "bytes, %d texts or %d files",
                          WT_TEXT_BYTES, WT_TEXT_COUNT_MAX, WT_SECRET_FILES_MAX);
    share->text_start = text_start;
    share->argument_count = arguments;
    share->environment_count = environment;
    share->secret_file_count = request->secret_file_count;
    share->has_invoke = request->invoke != NULL;
    share->has_input = has_input_fd(request);
    share->has_input_bytes = request->input != NULL;
    share->has_trace = request->trace_fd > 0;
    share->terminals = request->terminals;
    share->is_streamed = request->on_output != NULL;
    share->deadline_ns = deadline_ns;
    share->fuel_max = plan->limits.fuel_max;
    memset(&share->record, 0, offsetof(struct nacre_wasi_record, denials));
    share->reply.outcome = NACRE_OUTCOME_NONE;
    atomic_store(&share->begun, 0);
    return NACRE_OK;
}

bool wt_hand_fds(int control, const struct nacre_request *request)
{
    const struct wt_message message = { .request = WT_REQUEST_NONE };
    int fds[2];
    uint32_t count = 0;

    if (has_input_fd(request))
        fds[count++] = request->input_fd;
    if (request->trace_fd > 0)
        fds[count++] = request->trace_fd;
    return count == 0 || wt_send(control, &message, fds, count);
}
