/*
 * Any bytes at all, as a stream that comes in pieces and as each of the messages: what
 * is read lies inside what came, and is the same again when it is written and read.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "machine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct frame_reader reader;
static struct init_room room, second_room;
static struct machine_mount mounts[MACHINE_MOUNTS_MAX];

static void cut_into_frames(const uint8_t *data, size_t size)
{
    size_t step = size > 0 ? 1 + data[0] % 64u : 1;
    struct frame frame;
    int found = 0;

    frame_reader_init(&reader);
    for (size_t at = 0; at < size && found >= 0;) {
        size_t count = size - at < step ? size - at : step, space;
        uint8_t *to = frame_reader_room(&reader, &space);

        assert(space >= count);
        memcpy(to, data + at, count);
        frame_reader_filled(&reader, count);
        at += count;
        while ((found = frame_reader_next(&reader, &frame)) == 1) {
            uint8_t header[FRAME_HEADER];

            assert(frame_type_name(frame.type) && frame.lane < FRAME_LANES);
            assert(frame.size <= FRAME_PAYLOAD_MAX);
            assert(frame.payload >= reader.bytes + FRAME_HEADER &&
                   frame.payload + frame.size <= reader.bytes + reader.used);
            frame_header(header, &frame);
            assert(memcmp(header, frame.payload - FRAME_HEADER, FRAME_HEADER) == 0);
        }
    }
    assert(found >= 0 || frame_reader_next(&reader, &frame) < 0);
}

/* What was packed again must be what came, byte for byte. */
static void same_again(const uint8_t *data, size_t size, struct pack *pack, bool done)
{
    assert(done && pack->used == size && memcmp(pack->bytes, data, size) == 0);
}

static void read_messages(const uint8_t *data, size_t size, uint8_t *again)
{
    struct unpack unpack = { .bytes = data, .size = size };
    struct pack pack = { .bytes = again, .size = size };
    struct init_config config;
    struct init_start start;
    struct init_exit exit;
    struct init_answer answer;
    struct init_machine machine;

    if (init_config_unpack(&unpack, &room, &config))
        same_again(data, size, &pack, init_config_pack(&pack, &config));
    unpack = (struct unpack){ .bytes = data, .size = size };
    pack = (struct pack){ .bytes = again, .size = size };
    if (init_start_unpack(&unpack, &second_room, &start))
        same_again(data, size, &pack, init_start_pack(&pack, &start));
    unpack = (struct unpack){ .bytes = data, .size = size };
    pack = (struct pack){ .bytes = again, .size = size };
    if (init_exit_unpack(&unpack, &exit))
        same_again(data, size, &pack, init_exit_pack(&pack, &exit));
    unpack = (struct unpack){ .bytes = data, .size = size };
    pack = (struct pack){ .bytes = again, .size = size };
    if (init_machine_unpack(&unpack, mounts, &machine))
        same_again(data, size, &pack, init_machine_pack(&pack, &machine));
    unpack = (struct unpack){ .bytes = data, .size = size };
    while (unpack.used < size && init_answer_unpack(&unpack, &answer))
        assert((const uint8_t *)answer.text + answer.count == data + unpack.used &&
               memchr(answer.question, '\0', size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *again = malloc(size + 1);

    if (!again)
        return 0;
    cut_into_frames(data, size);
    read_messages(data, size, again);
    free(again);
    return 0;
}
