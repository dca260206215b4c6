/*
 * What a guest wrote, and what is told of it, is hostile until it has been here.
 *
 * Executors cut output at max_output_bytes where it arises, in the worker or in the
 * owner of a sandbox, so that a guest can't fill the host's memory: the scan sees what
 * was kept.  A secret that lies across the cut is not missed for that: where output was
 * cut, its end counts as found if it is the beginning of a finding.
 */
#include "leaks.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leak_files.h"
#include "nacre/secrets.h"

struct lane {
    struct run_leaks *leaks;
    int number; /* 1 or 2 */
    struct nacre_leak_stream *stream;
};

struct run_leaks {
    const struct nacre_leaks *scanner;
    struct nacre_leaks *own; /* with the run's values; NULL: the scanner is shared */
    const struct nacre_plan *plan;
    const struct nacre_request *request; /* the caller's */
    const char *const *protected_paths;
    struct timespec begun;               /* by the clock of files */
    struct lane lanes[2];                /* of on_output; streams are NULL without one */
    size_t output_bytes_max;
    struct nacre_leak_counts counts;
    struct nacre_error failure; /* of a lane: nothing more is let through */
};

/* ---- output as it comes ---- */

static void show(void *data, const char *bytes, size_t count)
{
    const struct lane *lane = data;
    const struct nacre_request *request = lane->leaks->request;

    request->on_output(request->on_output_data, lane->number, bytes, count);
}

static void add(struct lane *lane, const char *bytes, size_t count, bool at_end)
{
    struct run_leaks *leaks = lane->leaks;

    if (leaks->failure.status == NACRE_OK)
        (void)!nacre_leak_stream_add(lane->stream, bytes, count, at_end, show, lane,
                                     &leaks->failure);
}

static void on_output(void *data, int stream, const char *bytes, size_t count)
{
    struct run_leaks *leaks = data;

    add(&leaks->lanes[stream == 2], bytes, count, false);
}

/* ---- beginning ---- */

/* Patterns alone are the same for every run: made once, and for the life of the
 * process.  To make them takes longer than many a run. */
static enum nacre_status share_scanner(uint32_t pattern_count,
                                       const struct nacre_leaks **ret_scanner,
                                       struct nacre_error *err)
{
    static struct nacre_leaks *_Atomic shared[NACRE_LEAK_PATTERNS + 1];
    NACRE_AUTO(nacre_leaks_guard) struct nacre_leaks *made = NULL;
    struct nacre_leaks *there;

    if (pattern_count > NACRE_LEAK_PATTERNS)
        return nacre_leaks_new(NULL, 0, pattern_count, &made, err);
    there = atomic_load(&shared[pattern_count]);
    if (!there && nacre_leaks_new(NULL, 0, pattern_count, &made, err) != NACRE_OK)
        return err->status;
    if (!there && atomic_compare_exchange_strong(&shared[pattern_count], &there, made))
        there = nacre_leaks_take(&made);
    *ret_scanner = there;
    return NACRE_OK;
}

static enum nacre_status make_scanner(const struct nacre_secret_set *granted,
                                      uint32_t pattern_count,
                                      struct nacre_leaks **ret_scanner,
                                      struct nacre_error *err)
{
    uint32_t count = granted->count, used = 0;
    NACRE_AUTO(nacre_heap_guard) struct nacre_leak_value *values =
        calloc(count + 1u, sizeof(*values));

    if (!values)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a leak scan");
    for (uint32_t i = 0; i < count; i++) {
        const struct nacre_secret *secret = &granted->items[i];

        if (secret->value)
            values[used++] = (struct nacre_leak_value){
                .name = secret->name, .bytes = secret->value, .count = secret->count
            };
    }
    return nacre_leaks_new(values, used, pattern_count, ret_scanner, err);
}

static bool has_secrets(const struct nacre_request *request)
{
    return request->granted && request->granted->count > 0;
}

static enum nacre_status get_scanner(struct run_leaks *leaks, uint32_t pattern_count,
                                     struct nacre_error *err)
{
    enum nacre_status status;

    if (!has_secrets(leaks->request))
        return share_scanner(pattern_count, &leaks->scanner, err);
    status = make_scanner(leaks->request->granted, pattern_count, &leaks->own, err);
    leaks->scanner = leaks->own;
    return status;
}

enum nacre_status run_leaks_begin(const struct nacre_plan *plan,
                                  const struct nacre_request *request,
                                  const char *const *protected_paths,
                                  struct nacre_request *ret_request,
                                  struct run_leaks **ret_leaks, struct nacre_error *err)
{
    NACRE_AUTO(run_leaks_guard) struct run_leaks *leaks = NULL;
    enum nacre_status status;

    *ret_request = *request;
    if (!plan->leak_scan && !has_secrets(request)) {
        if (request->scan_files)
            return nacre_fail(err, NACRE_ERR_USAGE,
                              "there is nothing to look for in files: the policy has no "
                              "leak_detection, and the run no secrets");
        *ret_leaks = NULL;
        return NACRE_OK;
    }
    leaks = calloc(1, sizeof(*leaks));
    if (!leaks)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a leak scan");
    leaks->plan = plan;
    leaks->request = request;
    leaks->protected_paths = protected_paths;
    (void)clock_gettime(CLOCK_REALTIME_COARSE, &leaks->begun);
    leaks->output_bytes_max = plan->limits.output_bytes_max < NACRE_BUF_LIMIT_MAX
                                  ? (size_t)plan->limits.output_bytes_max
                                  : NACRE_BUF_LIMIT_MAX;
    status = get_scanner(leaks, plan->leak_scan ? plan->leak_patterns : 0, err);
    for (int i = 0; i < 2 && request->on_output && status == NACRE_OK; i++) {
        leaks->lanes[i] = (struct lane){ .leaks = leaks, .number = i + 1 };
        status = nacre_leak_stream_new(leaks->scanner, &leaks->lanes[i].stream, err);
    }
    if (status != NACRE_OK)
        return status;
    if (request->on_output) {
        ret_request->on_output = on_output;
        ret_request->on_output_data = leaks;
    }
    *ret_leaks = run_leaks_take(&leaks);
    return NACRE_OK;
}

void run_leaks_free(struct run_leaks *leaks)
{
    if (!leaks)
        return;
    for (size_t i = 0; i < NACRE_COUNT(leaks->lanes); i++)
        nacre_leak_stream_free(leaks->lanes[i].stream);
    nacre_leaks_free(leaks->own);
    free(leaks);
}

/* ---- what is left at the end ---- */

/* A result's own buffer, or a text of fixed size: what does not fit is cut. */
struct clean {
    struct nacre_buf bytes;
    bool was_cut;
    enum nacre_status status;
    struct nacre_error *err;
};

static void add_clean(void *data, const char *bytes, size_t count)
{
    struct clean *clean = data;
    size_t room = clean->bytes.size_max - clean->bytes.size;

    if (count > room) {
        count = room;
        clean->was_cut = true;
    }
    if (clean->status == NACRE_OK)
        clean->status = nacre_buf_add(&clean->bytes, bytes, count, clean->err);
}

static void add_counts(struct nacre_leak_counts *sum,
                       const struct nacre_leak_counts *counts)
{
    sum->values += counts->values;
    sum->blocked += counts->blocked;
    sum->redacted += counts->redacted;
    sum->warned += counts->warned;
}

static enum nacre_status scan(const struct run_leaks *leaks, const char *bytes,
                              size_t count, bool is_cut, struct clean *clean,
                              struct nacre_leak_counts *counts, struct nacre_error *err)
{
    NACRE_AUTO(nacre_leak_stream_guard) struct nacre_leak_stream *stream = NULL;
    enum nacre_status status = nacre_leak_stream_new(leaks->scanner, &stream, err);

    if (status != NACRE_OK)
        return status;
    if (is_cut)
        nacre_leak_stream_cut(stream);
    clean->err = err;
    status = nacre_leak_stream_add(stream, bytes, count, true, add_clean, clean, err);
    if (status == NACRE_OK)
        status = clean->status;
    add_counts(counts, nacre_leak_stream_counts(stream));
    return status;
}

/* Where the caller has seen the same bytes come, they were counted then. */
static enum nacre_status clean_output(struct run_leaks *leaks, struct nacre_buf *output,
                                      struct nacre_result *result,
                                      struct nacre_error *err)
{
    struct nacre_leak_counts again = { 0 };
    struct clean clean = { .bytes = NACRE_BUF(leaks->output_bytes_max) };
    enum nacre_status status;

    if (output->size == 0)
        return NACRE_OK;
    status = scan(leaks, output->bytes, output->size, result->output_cut, &clean,
                  leaks->request->on_output ? &again : &leaks->counts, err);
    explicit_bzero(output->bytes, output->size);
    nacre_buf_clear(output);
    if (status != NACRE_OK) {
        nacre_buf_clear(&clean.bytes);
        return status;
    }
    *output = clean.bytes;
    result->output_cut |= clean.was_cut;
    return NACRE_OK;
}

/* A text that fills its room was perhaps longer.  One that can't be scanned is none. */
static void clean_text(struct run_leaks *leaks, char *text, size_t size)
{
    size_t count = strlen(text);
    struct clean clean = { .bytes = NACRE_BUF(size - 1) };
    struct nacre_error err;

    if (count == 0)
        return;
    if (leaks->scanner && scan(leaks, text, count, count == size - 1, &clean,
                               &leaks->counts, &err) == NACRE_OK)
        (void)snprintf(text, size, "%s", clean.bytes.bytes ? clean.bytes.bytes : "");
    else
        (void)snprintf(text, size, "(could not be scanned for secrets)");
    nacre_buf_clear(&clean.bytes);
}

static void clean_texts(struct run_leaks *leaks, struct nacre_result *result)
{
    clean_text(leaks, result->reason, sizeof(result->reason));
    for (uint32_t i = 0; i < result->denial_count; i++) {
        struct nacre_denial *denial = &result->denials[i];

        clean_text(leaks, denial->path, sizeof(denial->path));
        clean_text(leaks, denial->text, sizeof(denial->text));
        clean_text(leaks, denial->fix, sizeof(denial->fix));
    }
    /* A name that was asked for can be a message as well. */
    for (uint32_t i = 0; i < result->egress_count; i++)
        clean_text(leaks, result->egress[i].host, sizeof(result->egress[i].host));
}

static enum nacre_status clean_result(struct run_leaks *leaks,
                                      struct nacre_result *result,
                                      struct nacre_error *err)
{
    enum nacre_status status = clean_output(leaks, &result->output, result, err);

    if (status == NACRE_OK)
        status = clean_output(leaks, &result->errors, result, err);
    if (status == NACRE_OK)
        status = clean_output(leaks, &result->values, result, err);
    clean_texts(leaks, result);
    return status;
}

static void add_tally(const struct run_leaks *leaks, struct nacre_result *result)
{
    struct nacre_leak_tally *tally = &result->leaks;

    tally->values += leaks->counts.values;
    tally->blocked += leaks->counts.blocked;
    tally->redacted += leaks->counts.redacted;
    tally->warned += leaks->counts.warned;
    result->leak |= tally->values > 0 || tally->blocked > 0;
}

static void end_lanes(struct run_leaks *leaks, bool is_cut)
{
    for (size_t i = 0; i < NACRE_COUNT(leaks->lanes); i++) {
        struct lane *lane = &leaks->lanes[i];

        if (!lane->stream)
            continue;
        if (is_cut)
            nacre_leak_stream_cut(lane->stream);
        add(lane, NULL, 0, true);
        add_counts(&leaks->counts, nacre_leak_stream_counts(lane->stream));
    }
}

enum nacre_status run_leaks_end(struct run_leaks *leaks, enum nacre_status status,
                                struct nacre_result *result, struct nacre_error *err)
{
    enum nacre_status scanned;

    if (!leaks)
        return status;
    end_lanes(leaks, status != NACRE_OK || result->output_cut);
    if (status != NACRE_OK)
        clean_text(leaks, err->text, sizeof(err->text));
    if (leaks->request->scan_files)
        run_leak_files(leaks->scanner, leaks->plan, leaks->protected_paths, leaks->begun,
                       result, &leaks->counts);
    scanned = clean_result(leaks, result, status == NACRE_OK ? err : &leaks->failure);
    add_tally(leaks, result);
    if (status != NACRE_OK)
        return status;
    if (scanned == NACRE_OK && leaks->failure.status != NACRE_OK) {
        *err = leaks->failure;
        scanned = err->status;
    }
    if (scanned == NACRE_OK)
        return NACRE_OK;
    nacre_buf_clear(&result->output);
    nacre_buf_clear(&result->errors);
    nacre_buf_clear(&result->values);
    return nacre_fail_context(err, "the run ended, but can't be scanned for secrets");
}

void run_leaks_refused(const struct nacre_policy *policy,
                       const struct nacre_request *request, struct nacre_result *result,
                       struct nacre_error *failure)
{
    bool is_scanned = policy->secrets.leak_detection.on;
    struct run_leaks leaks = { .request = request };
    struct nacre_error err;

    if (!is_scanned && !has_secrets(request))
        return;
    /* Without a scanner no text is kept. */
    if (get_scanner(&leaks, is_scanned ? (uint32_t)policy->secrets.leak_patterns.value : 0,
                    &err) != NACRE_OK)
        leaks.scanner = NULL;
    clean_texts(&leaks, result);
    if (failure)
        clean_text(&leaks, failure->text, sizeof(failure->text));
    add_tally(&leaks, result);
    nacre_leaks_free(leaks.own);
}

/* ---- a command, for the record ---- */

#define COMMAND_BYTES_MAX ((size_t)4 << 20)

static bool add_word(struct nacre_buf *text, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_./:=,@%+-";
    struct nacre_error err;
    bool good = text->size == 0 || nacre_buf_add(text, " ", 1, &err) == NACRE_OK;

    if (word[0] && word[strspn(word, plain)] == '\0')
        return good && nacre_buf_add(text, word, strlen(word), &err) == NACRE_OK;
    good = good && nacre_buf_add(text, "'", 1, &err) == NACRE_OK;
    for (; good && *word; word++)
        good = (*word == '\'' ? nacre_buf_add(text, "'\\''", 4, &err)
                              : nacre_buf_add(text, word, 1, &err)) == NACRE_OK;
    return good && nacre_buf_add(text, "'", 1, &err) == NACRE_OK;
}

static bool add_command(struct nacre_buf *text, const struct nacre_tool *tool)
{
    struct nacre_error err;
    bool good = true;

    if (tool->kind == NACRE_TOOL_SHELL)
        return nacre_buf_add(text, tool->argv[2], strlen(tool->argv[2]), &err) ==
               NACRE_OK;
    for (size_t i = 0; tool->argv && tool->argv[i] && good; i++)
        good = add_word(text, tool->argv[i]);
    return good;
}

void run_leaks_command(const struct nacre_tool *tool,
                       const struct nacre_request *request, struct nacre_buf *ret_text)
{
    static const char unknown[] = "(could not be searched for secrets)";
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf text = NACRE_BUF(COMMAND_BYTES_MAX);
    struct clean clean = { .bytes = NACRE_BUF(COMMAND_BYTES_MAX) };
    struct run_leaks leaks = { .request = request };
    struct nacre_error err;

    if (add_command(&text, tool) &&
        get_scanner(&leaks, NACRE_LEAK_PATTERNS, &err) == NACRE_OK &&
        scan(&leaks, text.bytes, text.size, false, &clean, &leaks.counts, &err) ==
            NACRE_OK)
        (void)!nacre_buf_add(ret_text, clean.bytes.bytes, clean.bytes.size, &err);
    else
        (void)!nacre_buf_add(ret_text, unknown, strlen(unknown), &err);
    nacre_buf_clear(&clean.bytes);
    nacre_leaks_free(leaks.own);
}
