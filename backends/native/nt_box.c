/* Trusts its caller; of init it believes what nt_frames.c let through. */
#include "nt_box.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/eventfd.h>

#include "nacre/clock.h"
#include "nt_doorway.h"
#include "nt_private.h"

#define OUT_BYTES_MAX ((size_t)256 << 20) /* many commands' words at once */
#define BEATS 5 /* so many until init misses them */
#define READS_MAX 16 /* by a beat: other boxes wait for theirs */

void nt_run_poke(struct nt_run *run)
{
    if (!run->poked)
        (void)eventfd_write(run->wake_fd, 1);
    run->poked = true;
}

void nt_box_break(struct nt_box *box, const char *format, ...)
{
    va_list args;

    if (atomic_load(&box->spent))
        return;
    va_start(args, format);
    (void)vsnprintf(box->why, sizeof(box->why), format, args);
    va_end(args);
    atomic_store(&box->spent, true);
    for (struct nt_run *run = box->runs; run; run = run->next)
        nt_run_poke(run);
}

void nt_box_lost(struct nt_box *box)
{
    /* Whether the command had begun can't be told: it may have killed who tells it. */
    box->died |= box->runs && !atomic_load(&box->spent);
    nt_box_break(box, "the sandbox's init is gone: it died or was killed, or its engine "
                      "was; run the command again");
}

bool nt_box_died(const struct nt_box *box)
{
    return box->died;
}

static void clear_answers(struct nt_box *box)
{
    for (size_t i = 0; i < box->answer_count; i++) {
        free(box->answers[i].question);
        free(box->answers[i].text);
    }
    free(box->answers);
}

void nt_box_free(struct nt_box *box)
{
    if (!box)
        return;
    assert(!box->runs && !box->leader);
    box->stream.ops->close(box->stream.stream);
    clear_answers(box);
    nt_doorway_free(box->doorway);
    nacre_buf_clear(&box->out);
    nacre_buf_clear(&box->report);
    (void)pthread_mutex_destroy(&box->lock);
    free(box);
}

/* Who reads or polls has an end of file at once; the fd itself stays theirs. */
void nt_box_shut(struct nt_box *box)
{
    (void)shutdown(box->stream.ops->poll_fd(box->stream.stream), SHUT_RDWR);
}

/* ---- opening ---- */

static size_t text_bytes(const char *text)
{
    return sizeof(uint64_t) + strlen(text) + 1;
}

static enum nacre_status send_config(struct nt_box *box, const struct init_config *config,
                                     struct nacre_error *err)
{
    size_t size = 16 * sizeof(uint64_t) + config->filter_bytes +
                  text_bytes(config->oom_file) +
                  text_bytes(config->forks_file ? config->forks_file : "");
    NACRE_AUTO(nacre_heap_guard) uint8_t *bytes = NULL;
    struct pack pack;

    for (size_t i = 0; i < config->mask_count; i++)
        size += text_bytes(config->masks[i].path) + 2 * sizeof(uint64_t);
    for (size_t i = 0; i < config->name_count; i++)
        size += text_bytes(config->names[i]);
    for (size_t i = 0; i < config->question_count; i++)
        size += text_bytes(config->questions[i]);
    if (size > CONFIG_BYTES_MAX || config->mask_count > CONFIG_LIST_MAX ||
        config->question_count > CONFIG_LIST_MAX || config->name_count > CONFIG_LIST_MAX)
        return nacre_fail(err, NACRE_ERR_TOO_BIG,
                          "the sandbox's configuration: over %zu bytes or %d names",
                          CONFIG_BYTES_MAX, CONFIG_LIST_MAX);
    bytes = malloc(size);
    if (!bytes)
        return nacre_fail(err, NACRE_ERR_MEMORY, "the sandbox's configuration");
    pack = (struct pack){ .bytes = bytes, .size = size };
    if (!init_config_pack(&pack, config))
        return nacre_fail(err, NACRE_ERR_BACKEND, "the sandbox's configuration");
    nt_wire_send_message(box, FRAME_CONFIG, NULL, bytes, pack.used);
    return NACRE_OK;
}

static enum nacre_status send_machine(struct nt_box *box,
                                      const struct init_machine *machine,
                                      struct nacre_error *err)
{
    NACRE_AUTO(nacre_heap_guard) uint8_t *bytes = malloc(MACHINE_BYTES_MAX);
    struct pack pack = { .bytes = bytes, .size = MACHINE_BYTES_MAX };

    if (!bytes)
        return nacre_fail(err, NACRE_ERR_MEMORY, "what the machine is made of");
    if (!init_machine_pack(&pack, machine))
        return nacre_fail(err, NACRE_ERR_TOO_BIG,
                          "what the machine is made of: over %zu bytes or %d mounts",
                          MACHINE_BYTES_MAX, MACHINE_MOUNTS_MAX);
    nt_wire_send_message(box, FRAME_MACHINE, NULL, bytes, pack.used);
    return NACRE_OK;
}

static enum nacre_status spent(const struct nt_box *box, enum nacre_status status,
                               struct nacre_error *err)
{
    errno = 0; /* the sentence says it all */
    return nacre_fail(err, status, "%s", box->why);
}

static enum nacre_status await_report(struct nt_box *box, const struct nt_wait *wait,
                                      struct nacre_error *err)
{
    while (!box->reported) {
        struct pollfd ready = { .fd = box->stream.ops->poll_fd(box->stream.stream),
                                .events = POLLIN };
        struct timespec left = nacre_clock_until(nt_wait_next_ns(wait));

        /* Before the report there is nothing that could have had effects. */
        if (atomic_load(&box->spent))
            return spent(box, box->failed ? NACRE_ERR_UNAVAILABLE : NACRE_ERR_IO, err);
        if (nt_wait_is_cancelled(wait))
            return nacre_fail(err, NACRE_ERR_TIMEOUT, "cancelled");
        if (nt_wait_is_over(wait))
            return nacre_fail(err, NACRE_ERR_TIMEOUT,
                              "the sandbox was not ready in time: init has not reported");
        nt_wire_beat(box, nacre_clock_ns());
        nt_wire_flush(box);
        if (nt_wire_read(box))
            continue;
        if (nt_wire_backlog(box) > 0)
            ready.events |= POLLOUT;
        if (!atomic_load(&box->spent))
            (void)ppoll(&ready, 1, &left, NULL);
    }
    return NACRE_OK;
}

/* Every question, in its order, and nothing else. */
static enum nacre_status keep_answers(struct nt_box *box,
                                      const struct init_config *config,
                                      struct nacre_error *err)
{
    struct unpack unpack = { .bytes = (const uint8_t *)box->report.bytes,
                             .size = box->report.size };
    struct init_answer answer;

    box->answers = calloc(config->question_count + 1, sizeof(*box->answers));
    if (!box->answers)
        return nacre_fail(err, NACRE_ERR_MEMORY, "init's report");
    for (size_t i = 0; i < config->question_count; i++) {
        struct nt_answer *kept = &box->answers[i];

        errno = 0;
        if (!init_answer_unpack(&unpack, &answer) ||
            strcmp(answer.question, config->questions[i]) != 0)
            return nacre_fail(err, NACRE_ERR_IO,
                              "init's report does not answer what it was asked: "
                              "question %zu of %zu",
                              i + 1, config->question_count);
        kept->question = strdup(answer.question);
        kept->text = malloc(answer.count + 1);
        box->answer_count++;
        if (!kept->question || !kept->text)
            return nacre_fail(err, NACRE_ERR_MEMORY, "init's report");
        memcpy(kept->text, answer.text, answer.count);
        kept->text[answer.count] = '\0';
        kept->count = answer.count;
    }
    errno = 0;
    if (!unpack_whole(&unpack))
        return nacre_fail(err, NACRE_ERR_IO,
                          "init's report says more than it was asked");
    nacre_buf_clear(&box->report);
    return NACRE_OK;
}

static struct nt_box *box_new(struct nt_stream *stream, const struct init_config *config)
{
    struct nt_box *box = malloc(sizeof(*box));

    if (!box)
        return NULL;
    memset(box, 0, offsetof(struct nt_box, reader));
    frame_reader_init(&box->reader);
    (void)pthread_mutex_init(&box->lock, NULL);
    box->stream = *stream;
    box->out.size_max = OUT_BYTES_MAX;
    box->report.size_max = REPORT_BYTES_MAX;
    box->beat_every_ns = config->beat_ms_max * NACRE_NS_PER_MS / BEATS;
    if (box->beat_every_ns > NACRE_NS_PER_S)
        box->beat_every_ns = NACRE_NS_PER_S;
    box->beat_next_ns = nacre_clock_ns() + box->beat_every_ns;
    return box;
}

enum nacre_status nt_box_open(struct nt_stream *stream, const struct init_config *config,
                              struct nt_wait wait, struct nt_box **ret_box,
                              struct nacre_error *err)
{
    return nt_box_open_machine(stream, NULL, config, wait, ret_box, err);
}

enum nacre_status nt_box_open_machine(struct nt_stream *stream,
                                      const struct init_machine *machine,
                                      const struct init_config *config,
                                      struct nt_wait wait, struct nt_box **ret_box,
                                      struct nacre_error *err)
{
    NACRE_AUTO(nt_box_guard) struct nt_box *box = box_new(stream, config);
    enum nacre_status status = NACRE_OK;

    if (!box)
        stream->ops->close(stream->stream);
    *stream = (struct nt_stream){ NULL, NULL };
    if (!box)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a sandbox's channel");
    if (config->carries && !(box->doorway = nt_doorway_new(true)))
        return nacre_fail(err, NACRE_ERR_MEMORY, "a sandbox's doorway");
    if (machine)
        status = send_machine(box, machine, err);
    if (status == NACRE_OK)
        status = send_config(box, config, err);
    if (status == NACRE_OK)
        status = await_report(box, &wait, err);
    if (status == NACRE_OK)
        status = keep_answers(box, config, err);
    if (status != NACRE_OK)
        return status;
    *ret_box = nt_box_take(&box);
    return NACRE_OK;
}

const char *nt_box_answer(const struct nt_box *box, const char *question,
                          size_t *ret_count)
{
    for (size_t i = 0; i < box->answer_count; i++)
        if (strcmp(box->answers[i].question, question) == 0) {
            *ret_count = box->answers[i].count;
            return box->answers[i].text;
        }
    return NULL;
}

bool nt_box_is_spent(const struct nt_box *box)
{
    return atomic_load(&box->spent);
}

bool nt_box_beat(struct nt_box *box)
{
    (void)pthread_mutex_lock(&box->lock);
    box->beat_next_ns = 0;
    nt_wire_beat(box, nacre_clock_ns());
    for (int i = 0; i < READS_MAX && !box->leader && nt_wire_read(box); i++)
        continue;
    (void)pthread_mutex_unlock(&box->lock);
    return !atomic_load(&box->spent);
}
