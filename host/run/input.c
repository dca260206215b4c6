/*
 * The input scan as a part of a run.  Words and stdin are hostile, and stdin may be slow
 * or endless: it is read into a sealed memfd, bounded in size and time, and that copy is
 * both what is scanned and what the guest reads.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guard.h"
#include "nacre/clock.h"
#include "nacre/own.h"

#define SLICE_MS 100
#define PIECE_BYTES ((size_t)64 << 10)
#define WORDS_BYTES_MAX ((size_t)4 << 20) /* of all arguments together */

void nacre_guard_clear(struct nacre_guard *guard)
{
    nacre_fd_guard(&guard->input_fd);
    guard->input_fd = -1;
}

enum nacre_status nacre_guard_deny(const struct nacre_policy *policy, const char *code,
                                   struct nacre_denial *denial,
                                   struct nacre_result *result, struct nacre_error *err)
{
    (void)snprintf(denial->code, sizeof(denial->code), "%s", code);
    nacre_result_deny(result, denial);
    if (denial->place.line > 0)
        return nacre_fail_at(err, NACRE_ERR_DENIED, policy->source, denial->place.line,
                             denial->place.column, "%.500s", denial->text);
    return nacre_fail(err, NACRE_ERR_DENIED, "%.500s", denial->text);
}

/* What can't be scanned is not let in unscanned. */
static enum nacre_status deny_stdin(const struct nacre_policy *policy, const char *text,
                                    const char *fix, struct nacre_result *result,
                                    struct nacre_error *err)
{
    struct nacre_denial denial = { .rule = NACRE_GUARD_RULE_SCAN,
                                   .place = policy->input.mode_place };

    (void)snprintf(denial.text, sizeof(denial.text), "%s", text);
    (void)snprintf(denial.fix, sizeof(denial.fix), "%s", fix);
    return nacre_guard_deny(policy, "input-unscanned", &denial, result, err);
}

/* ---- words ---- */

static enum nacre_status add_words(struct nacre_buf *words, const char *const *list,
                                   struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;

    for (size_t i = 0; list && list[i] && status == NACRE_OK; i++) {
        if (words->size > 0)
            status = nacre_buf_add(words, " ", 1, err);
        if (status == NACRE_OK)
            status = nacre_buf_add(words, list[i], strlen(list[i]), err);
    }
    return status;
}

/* One text with blanks between, so that a phrase may not hide in several words. */
static enum nacre_status scan_words(const struct nacre_tool *tool,
                                    const struct nacre_request *request,
                                    struct nacre_input_scan *scan,
                                    struct nacre_error *err)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf words = NACRE_BUF(WORDS_BYTES_MAX);
    enum nacre_status status =
        add_words(&words, (const char *const *)tool->argv, err);

    if (status == NACRE_OK)
        status = add_words(&words, request->arguments, err);
    if (status != NACRE_OK)
        return nacre_fail_context(err, "the arguments can't be scanned");
    return nacre_input_scan_add(scan, "arguments", words.bytes ? words.bytes : "",
                                words.size, err);
}

/* ---- stdin ---- */

/* One piece from `from`, waited for until the deadline; 0: its end. */
static ssize_t read_piece(const struct nacre_engine *engine,
                          const struct nacre_request *request, uint64_t deadline_ns,
                          void *ret_bytes, size_t size)
{
    for (;;) {
        struct pollfd ready = { .fd = request->input_fd, .events = POLLIN };
        ssize_t got;

        if (atomic_load(&engine->cancelled) ||
            (request->cancelled && atomic_load(request->cancelled))) {
            errno = ECANCELED;
            return -1;
        }
        if (nacre_clock_ns() >= deadline_ns) {
            errno = ETIMEDOUT;
            return -1;
        }
        if (poll(&ready, 1, SLICE_MS) <= 0)
            continue;
        got = read(request->input_fd, ret_bytes, size);
        if (got >= 0 || (errno != EINTR && errno != EAGAIN))
            return got;
    }
}

static bool write_all(int fd, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t put = write(fd, bytes, count);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return false;
        bytes += put;
        count -= (size_t)put;
    }
    return true;
}

/* NACRE_ERR_TIMEOUT, NACRE_ERR_TOO_BIG: the caller's to tell. */
static enum nacre_status copy_stdin(const struct nacre_engine *engine,
                                    const struct nacre_request *request,
                                    uint64_t deadline_ns, int to, size_t *ret_count,
                                    struct nacre_error *err)
{
    NACRE_AUTO(nacre_heap_guard) char *piece = malloc(PIECE_BYTES);
    size_t count = 0;

    if (!piece)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for stdin");
    for (;;) {
        ssize_t got = read_piece(engine, request, deadline_ns, piece, PIECE_BYTES);

        if (got < 0 && errno == ETIMEDOUT)
            return nacre_fail(err, NACRE_ERR_TIMEOUT, "stdin did not end in time");
        if (got < 0)
            return nacre_fail(err, NACRE_ERR_IO, "stdin can't be read");
        if (got == 0)
            break;
        if ((size_t)got > NACRE_INPUT_BYTES_MAX - count)
            return nacre_fail(err, NACRE_ERR_TOO_BIG, "stdin is too large");
        if (!write_all(to, piece, (size_t)got))
            return nacre_fail(err, NACRE_ERR_IO, "stdin can't be kept");
        count += (size_t)got;
    }
    if (lseek(to, 0, SEEK_SET) < 0 ||
        fcntl(to, F_ADD_SEALS,
              F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "stdin can't be sealed");
    *ret_count = count;
    return NACRE_OK;
}

static enum nacre_status scan_copy(int fd, size_t count, struct nacre_input_scan *scan,
                                   struct nacre_error *err)
{
    enum nacre_status status;
    void *bytes;

    if (count == 0)
        return NACRE_OK;
    bytes = mmap(NULL, count, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return nacre_fail(err, NACRE_ERR_IO, "stdin can't be scanned");
    status = nacre_input_scan_add(scan, "stdin", bytes, count, err);
    (void)munmap(bytes, count);
    return status;
}

static enum nacre_status scan_stdin(const struct nacre_engine *engine,
                                    const struct nacre_policy *policy,
                                    const struct nacre_request *request,
                                    struct nacre_guard *guard,
                                    struct nacre_input_scan *scan,
                                    struct nacre_result *result, struct nacre_error *err)
{
    uint64_t wall_ms = policy->limits.timeout_ms.value;
    enum nacre_status status;
    size_t count = 0;

    if (request->input)
        return nacre_input_scan_add(scan, "stdin", request->input, request->input_bytes,
                                    err);
    if (request->input_fd < 0)
        return NACRE_OK;
    if (isatty(request->input_fd)) {
        result->input.stdin_unscanned = true;
        return policy->input.mode == NACRE_INPUT_STRICT
                   ? deny_stdin(policy, "stdin is a terminal, and can't be scanned "
                                        "before the tool starts",
                                "give the input as a file: --stdin FILE", result, err)
                   : NACRE_OK;
    }
    if (request->timeout_ms > 0 && request->timeout_ms < wall_ms)
        wall_ms = request->timeout_ms;
    guard->input_fd = memfd_create("nacre-stdin", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (guard->input_fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "no memory file for stdin");
    status = copy_stdin(engine, request, nacre_clock_ns() + wall_ms * NACRE_NS_PER_MS,
                        guard->input_fd, &count, err);
    if (status == NACRE_ERR_TIMEOUT)
        return deny_stdin(policy, "stdin has not ended within the run's time; it is "
                                  "scanned whole before the tool starts",
                          "close stdin, or give it as a file: --stdin FILE", result, err);
    if (status == NACRE_ERR_TOO_BIG)
        return deny_stdin(policy, "stdin is larger than what is scanned, 64 MiB",
                          "put it into a file that the policy mounts", result, err);
    if (status == NACRE_OK)
        status = scan_copy(guard->input_fd, count, scan, err);
    guard->request.input_fd = guard->input_fd;
    return status;
}

/* ---- the verdict ---- */

static enum nacre_status judge(const struct nacre_policy *policy,
                               const struct nacre_input_scan *scan,
                               struct nacre_result *result, struct nacre_error *err)
{
    enum nacre_input_class class = nacre_input_scan_class(scan, policy->input.mode);
    enum nacre_input_action action = nacre_input_action(policy, class);
    bool attack = class == NACRE_INPUT_CLASS_ATTACK;
    struct nacre_place said =
        attack ? policy->input.attack_place : policy->input.suspect_place;
    const struct nacre_input_hit *worst = nacre_input_scan_worst(scan);
    struct nacre_denial denial = { .place = said };
    bool is_stdin;

    result->input.class = class;
    result->input.score = scan->score;
    result->input.hits = scan->hit_count;
    result->input.warned = action == NACRE_ON_INPUT_WARN;
    (void)snprintf(result->input.rule, sizeof(result->input.rule), "%s",
                   worst ? worst->rule : "");
    (void)snprintf(result->input.where, sizeof(result->input.where), "%s",
                   worst ? worst->where : "");
    if (action != NACRE_ON_INPUT_BLOCK)
        return NACRE_OK;
    is_stdin = strcmp(worst->where, "stdin") == 0;
    if (said.line == 0)
        denial.place = policy->input.mode_place;
    (void)snprintf(denial.rule, sizeof(denial.rule), "%s",
                   said.line == 0 ? NACRE_GUARD_RULE_SCAN
                   : attack       ? NACRE_GUARD_RULE_ATTACK
                                  : NACRE_GUARD_RULE_SUSPECT);
    (void)snprintf(denial.text, sizeof(denial.text),
                   "%s %s: %s (a score of %u, %u rule%s found)",
                   is_stdin ? "stdin" : "the arguments",
                   attack ? is_stdin ? "looks like an attack" : "look like an attack"
                          : is_stdin ? "is suspect" : "are suspect",
                   worst->rule, scan->score, scan->hit_count,
                   scan->hit_count == 1 ? "" : "s");
    (void)snprintf(denial.fix, sizeof(denial.fix),
                   "see nacre input-scan for what was found; to let it pass, set "
                   "%s: warn",
                   attack ? NACRE_ANNOTATION_ATTACK : NACRE_ANNOTATION_SUSPECT);
    return nacre_guard_deny(policy, attack ? "input-attack" : "input-suspect", &denial,
                            result, err);
}

enum nacre_status nacre_guard_input(const struct nacre_engine *engine,
                                    const struct nacre_policy *policy,
                                    const struct nacre_tool *tool,
                                    const struct nacre_request *request,
                                    struct nacre_guard *guard,
                                    struct nacre_result *result, struct nacre_error *err)
{
    struct nacre_input_scan scan = { 0 };
    enum nacre_status status;

    guard->request = *request;
    if (request->input && (policy->level != NACRE_LEVEL_WASM ||
                           request->input_bytes > NACRE_REQUEST_INPUT_MAX))
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "input as bytes is for modules and for at most %zu KiB: give it "
                          "by an fd",
                          NACRE_REQUEST_INPUT_MAX >> 10);
    if (policy->input.mode != NACRE_INPUT_ON && policy->input.mode != NACRE_INPUT_STRICT)
        return NACRE_OK;
    status = scan_words(tool, request, &scan, err);
    if (status == NACRE_OK)
        status = scan_stdin(engine, policy, request, guard, &scan, result, err);
    return status == NACRE_OK ? judge(policy, &scan, result, err) : status;
}
