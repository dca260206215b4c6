#ifndef NACRE_TEST_BOX_SCENE_H
#define NACRE_TEST_BOX_SCENE_H

/* A box, and at its other end a script.  After <cmocka.h>. */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fail_alloc.h"
#include "fake_init.h"
#include "nacre/clock.h"
#include "nt_box.h"

static struct fake_init fake;
static struct nacre_result result;
static struct nacre_error err;

static const char *const questions[] = { "file /a", "stat /b" };
static const struct fake_answer answers[] = { { "file /a", "one\n" }, { "stat /b", "" },
                                              { NULL, NULL } };
static struct init_config config = { .beat_ms_max = 5000,
                                     .commands_max = 8,
                                     .oom_file = "",
                                     .questions = questions,
                                     .question_count = 2 };

static inline struct nt_wait in_ms(uint64_t ms)
{
    return (struct nt_wait){ .deadline_ns = nacre_clock_ns() + ms * NACRE_NS_PER_MS };
}

static inline enum nacre_status open_box(void (*script)(struct fake_init *),
                                         uint64_t wait_ms, const _Atomic int *cancelled,
                                         struct nt_box **ret_box)
{
    struct nt_wait wait = in_ms(wait_ms);
    struct nt_stream stream;
    int fd;

    fake.script = script;
    fake.answers = answers;
    fd = fake_init_start(&fake);
    assert_true(fd >= 0);
    assert_int_equal(nt_stream_fd(fd, &stream, &err), NACRE_OK);
    wait.cancelled = cancelled;
    return nt_box_open(&stream, &config, wait, ret_box, &err);
}

static inline struct nt_box *opened(void (*script)(struct fake_init *), void *data)
{
    struct nt_box *box = NULL;

    fake.data = data;
    if (open_box(script, 5000, NULL, &box) != NACRE_OK)
        fail_msg("%s", err.text);
    return box;
}

static inline void closed(struct nt_box *box)
{
    nt_box_free(box);
    fake_init_join(&fake);
    nacre_buf_clear(&result.output);
    nacre_buf_clear(&result.errors);
    result = (struct nacre_result){ .outcome = NACRE_OUTCOME_NONE };
}

static const char *const words[] = { "tool", "word", NULL };
static const struct nacre_request no_input = { .input_fd = -1 };

static inline struct nt_command command_of(const struct nacre_request *request)
{
    return (struct nt_command){ .start = { .arguments = words,
                                           .directory = "/",
                                           .wall_ms_max = 20000 },
                                .output_bytes_max = 1 << 20,
                                .request = request };
}

static inline enum nacre_status run(struct nt_box *box, const struct nt_command *command)
{
    return nt_box_run(box, command, &result, &err);
}

static inline bool output_is(const struct nacre_buf *buf, const char *text)
{
    return buf->size == strlen(text) && (buf->size == 0 || !memcmp(buf->bytes, text,
                                                                   buf->size));
}

/* ---- scripts ---- */

/* Every command: a few words on both streams, and an end. */
static inline void say_and_exit(struct fake_init *self)
{
    const struct init_exit *exit = self->data;
    uint8_t id[FRAME_ID];

    (void)fake_init_report(self);
    while (fake_init_await_start(self, id, NULL)) {
        fake_init_send(self, FRAME_STARTED, 0, id, NULL, 0);
        fake_init_send(self, FRAME_DATA, 1, id, "out", 3);
        fake_init_send(self, FRAME_DATA, 2, id, "err", 3);
        fake_init_send(self, FRAME_DATA, 1, id, "put", 3);
        fake_init_send(self, FRAME_END, 1, id, NULL, 0);
        fake_init_send(self, FRAME_END, 2, id, NULL, 0);
        fake_init_exit(self, id, exit);
    }
}

/* Runs until it is killed, and obeys, or does not. */
static inline void running(struct fake_init *self)
{
    const struct init_exit exit = { INIT_HOW_KILLED, SIGKILL };
    const bool *obeys = self->data;
    uint8_t id[FRAME_ID];

    (void)fake_init_report(self);
    if (!fake_init_await_start(self, id, NULL))
        return;
    fake_init_send(self, FRAME_STARTED, 0, id, NULL, 0);
    if (fake_init_await_kill(self) && *obeys)
        fake_init_exit(self, id, &exit);
    fake_init_idle(self);
}

#endif
