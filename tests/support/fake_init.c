#include "fake_init.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MESSAGE_MAX ((size_t)1 << 20)

static void *play(void *data)
{
    struct fake_init *fake = data;

    fake->script(fake);
    fake_init_hang_up(fake);
    return NULL;
}

int fake_init_start(struct fake_init *fake)
{
    int ends[2];

    frame_reader_init(&fake->reader);
    fake->kills = 0;
    fake->beats = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return -1;
    fake->fd = ends[1];
    if (pthread_create(&fake->thread, NULL, play, fake) != 0)
        return -1;
    return ends[0];
}

void fake_init_join(struct fake_init *fake)
{
    (void)pthread_join(fake->thread, NULL);
}

void fake_init_hang_up(struct fake_init *fake)
{
    if (fake->fd >= 0)
        (void)close(fake->fd);
    fake->fd = -1;
}

static bool next(struct fake_init *fake, struct frame *ret_frame)
{
    for (;;) {
        int got = frame_reader_next(&fake->reader, ret_frame);
        size_t room;
        uint8_t *at;
        ssize_t count;

        if (got != 0)
            return got == 1;
        at = frame_reader_room(&fake->reader, &room);
        count = read(fake->fd, at, room);
        if (count <= 0)
            return false;
        frame_reader_filled(&fake->reader, (size_t)count);
    }
}

bool fake_init_next(struct fake_init *fake, struct frame *ret_frame)
{
    while (next(fake, ret_frame)) {
        if (ret_frame->type != FRAME_KILL && ret_frame->type != FRAME_BEAT)
            return true;
        fake->kills += ret_frame->type == FRAME_KILL;
        fake->beats += ret_frame->type == FRAME_BEAT;
    }
    return false;
}

bool fake_init_await(struct fake_init *fake, enum frame_type type,
                     struct frame *ret_frame)
{
    while (fake_init_next(fake, ret_frame))
        if (ret_frame->type == type)
            return true;
    return false;
}

bool fake_init_await_kill(struct fake_init *fake)
{
    struct frame frame;

    while (next(fake, &frame)) {
        fake->beats += frame.type == FRAME_BEAT;
        fake->kills += frame.type == FRAME_KILL;
        if (frame.type == FRAME_KILL)
            return true;
    }
    return false;
}

void fake_init_write(struct fake_init *fake, const void *bytes, size_t count)
{
    const uint8_t *at = bytes;

    while (count > 0) {
        ssize_t sent = send(fake->fd, at, count, MSG_NOSIGNAL);

        if (sent <= 0)
            return;
        at += sent;
        count -= (size_t)sent;
    }
}

void fake_init_send(struct fake_init *fake, enum frame_type type, uint8_t lane,
                    const uint8_t *id, const void *payload, size_t count)
{
    struct frame frame = { .type = (uint8_t)type, .lane = lane, .size = (uint32_t)count };
    uint8_t header[FRAME_HEADER];

    if (id)
        memcpy(frame.id, id, FRAME_ID);
    frame_header(header, &frame);
    fake_init_write(fake, header, sizeof(header));
    fake_init_write(fake, payload, count);
}

void fake_init_send_u64(struct fake_init *fake, enum frame_type type, uint8_t lane,
                        const uint8_t *id, uint64_t number)
{
    uint8_t bytes[8];
    struct pack pack = { .bytes = bytes, .size = sizeof(bytes) };

    pack_u64(&pack, number);
    fake_init_send(fake, type, lane, id, bytes, pack.used);
}

/* A message that came in several frames; its id. */
static bool whole(struct fake_init *fake, enum frame_type type, uint8_t *bytes,
                  size_t *ret_count, uint8_t ret_id[FRAME_ID])
{
    struct frame frame;
    size_t used = 0;

    do {
        if (!fake_init_await(fake, type, &frame) || frame.size > MESSAGE_MAX - used)
            return false;
        memcpy(bytes + used, frame.payload, frame.size);
        used += frame.size;
    } while (frame.lane != 1);
    *ret_count = used;
    memcpy(ret_id, frame.id, FRAME_ID);
    return true;
}

static const char *answer_to(const struct fake_init *fake, const char *question)
{
    for (size_t i = 0; fake->answers && fake->answers[i].question; i++)
        if (strcmp(fake->answers[i].question, question) == 0)
            return fake->answers[i].text;
    return "";
}

bool fake_init_report(struct fake_init *fake)
{
    static uint8_t message[MESSAGE_MAX], report[MESSAGE_MAX];
    static struct init_room room;
    struct pack pack = { .bytes = report, .size = sizeof(report) };
    struct init_config config;
    uint8_t id[FRAME_ID];
    size_t count;

    if (!whole(fake, FRAME_CONFIG, message, &count, id) ||
        !init_config_unpack(&(struct unpack){ .bytes = message, .size = count }, &room,
                            &config))
        return false;
    for (size_t i = 0; i < config.question_count; i++) {
        const char *text = answer_to(fake, config.questions[i]);
        const struct init_answer answer = { config.questions[i], text, strlen(text) };

        (void)init_answer_pack(&pack, &answer);
    }
    fake_init_send(fake, FRAME_REPORT, 1, NULL, report, pack.used);
    return true;
}

bool fake_init_await_start(struct fake_init *fake, uint8_t ret_id[FRAME_ID],
                           bool *ret_input)
{
    static uint8_t message[MESSAGE_MAX];
    static struct init_room room;
    struct init_start start;
    size_t count;

    if (!whole(fake, FRAME_START, message, &count, ret_id) ||
        !init_start_unpack(&(struct unpack){ .bytes = message, .size = count }, &room,
                           &start))
        return false;
    if (ret_input)
        *ret_input = start.input;
    return true;
}

void fake_init_exit(struct fake_init *fake, const uint8_t *id,
                    const struct init_exit *exit)
{
    uint8_t bytes[64];
    struct pack pack = { .bytes = bytes, .size = sizeof(bytes) };

    (void)init_exit_pack(&pack, exit);
    fake_init_send(fake, FRAME_EXIT, 0, id, bytes, pack.used);
}

static void send_text(struct fake_init *fake, enum frame_type type, const uint8_t *id,
                      const uint64_t *numbers, size_t count, const char *text)
{
    uint8_t bytes[4096];
    struct pack pack = { .bytes = bytes, .size = sizeof(bytes) };

    for (size_t i = 0; i < count; i++)
        pack_u64(&pack, numbers[i]);
    pack_text(&pack, text);
    fake_init_send(fake, type, 0, id, bytes, pack.used);
}

void fake_init_refuse(struct fake_init *fake, const uint8_t *id, uint64_t refusal,
                      uint64_t number, const char *text)
{
    send_text(fake, FRAME_REFUSED, id, (const uint64_t[]){ refusal, number }, 2, text);
}

void fake_init_fail(struct fake_init *fake, const char *text)
{
    send_text(fake, FRAME_FAILED, NULL, NULL, 0, text);
}

void fake_init_idle(struct fake_init *fake)
{
    struct frame frame;

    while (fake_init_next(fake, &frame))
        ;
}
