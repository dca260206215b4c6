/*
 * The channel's codec.  What the other end may send is anything: each malformed header
 * and message is refused and stays refused, wherever the stream is cut.
 */
#include <linux/filter.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config.h"
#include "fail_alloc.h"
#include "nacre/own.h"

static struct frame_reader reader;
static struct init_room room;

static size_t put_frame(uint8_t *ret_bytes, uint8_t type, uint8_t lane, uint8_t mark,
                        const void *payload, size_t size)
{
    struct frame frame = { .type = type, .lane = lane, .size = (uint32_t)size };

    memset(frame.id, mark, FRAME_ID);
    frame_header(ret_bytes, &frame);
    if (size > 0)
        memcpy(ret_bytes + FRAME_HEADER, payload, size);
    return FRAME_HEADER + size;
}

static void feed(const uint8_t *bytes, size_t count)
{
    size_t space;
    uint8_t *at = frame_reader_room(&reader, &space);

    assert_true(count <= space);
    memcpy(at, bytes, count);
    frame_reader_filled(&reader, count);
}

/* ---- frames ---- */

static void frames_come_out_as_they_went_in_wherever_the_stream_is_cut(void **state)
{
    uint8_t bytes[512];
    struct frame frame;
    size_t size = 0;

    (void)state;
    size += put_frame(bytes + size, FRAME_DATA, 2, 0xab, "hello", 5);
    size += put_frame(bytes + size, FRAME_BEAT, 0, 0, NULL, 0);
    size += put_frame(bytes + size, FRAME_REPORT, 1, 0x11, "x", 1);
    for (size_t cut = 0; cut <= size; cut++) {
        unsigned seen = 0;

        frame_reader_init(&reader);
        for (int part = 0; part < 2; part++) {
            feed(part == 0 ? bytes : bytes + cut, part == 0 ? cut : size - cut);
            while (frame_reader_next(&reader, &frame) == 1) {
                static const uint8_t types[] = { FRAME_DATA, FRAME_BEAT, FRAME_REPORT };
                static const uint8_t lanes[] = { 2, 0, 1 }, marks[] = { 0xab, 0, 0x11 };
                static const uint32_t sizes[] = { 5, 0, 1 };

                assert_true(seen < 3);
                assert_int_equal(frame.type, types[seen]);
                assert_int_equal(frame.lane, lanes[seen]);
                assert_int_equal(frame.id[0], marks[seen]);
                assert_int_equal(frame.id[FRAME_ID - 1], marks[seen]);
                assert_int_equal(frame.size, sizes[seen]);
                if (seen == 0)
                    assert_memory_equal(frame.payload, "hello", 5);
                seen++;
            }
        }
        assert_int_equal(seen, 3);
    }
}

static void the_largest_frames_fit_byte_by_byte_without_end(void **state)
{
    NACRE_AUTO(nacre_heap_guard) uint8_t *bytes =
        calloc(1, FRAME_HEADER + FRAME_PAYLOAD_MAX);
    struct frame frame;
    size_t total = put_frame(bytes, FRAME_DATA, 1, 7, bytes, 0) + FRAME_PAYLOAD_MAX;

    (void)state;
    memset(bytes + FRAME_HEADER, 'z', FRAME_PAYLOAD_MAX);
    bytes[6] = FRAME_PAYLOAD_MAX >> 16; /* the size's third byte */
    frame_reader_init(&reader);
    for (int round = 0; round < 9; round++)
        for (size_t at = 0; at < total;) {
            size_t step = at + 997 < total ? 997 : total - at, space;

            assert_int_equal(frame_reader_next(&reader, &frame), 0);
            (void)frame_reader_room(&reader, &space);
            assert_true(space >= step);
            feed(bytes + at, step);
            at += step;
            if (at == total) {
                assert_int_equal(frame_reader_next(&reader, &frame), 1);
                assert_int_equal(frame.size, FRAME_PAYLOAD_MAX);
                assert_int_equal(frame.payload[FRAME_PAYLOAD_MAX - 1], 'z');
            }
        }
}

/* Also when the reader has moved the half of it that was there. */
static void a_payload_that_is_wiped_is_nowhere_in_the_reader(void **state)
{
    static const char secret[] = "of-a-secret";
    static uint8_t bytes[FRAME_HEADER + FRAME_PAYLOAD_MAX], other[sizeof(bytes)];
    struct frame frame;
    size_t moved = 0;

    (void)state;
    for (size_t at = FRAME_HEADER; at + sizeof(secret) < sizeof(bytes); at += 512)
        memcpy(bytes + at, secret, sizeof(secret));
    (void)put_frame(bytes, FRAME_START, 1, 7, NULL, 0);
    (void)put_frame(other, FRAME_DATA, 0, 7, NULL, 0);
    bytes[6] = other[6] = FRAME_PAYLOAD_MAX >> 16; /* the size's third byte */
    frame_reader_init(&reader);
    for (size_t cut = 1; cut < sizeof(bytes); cut += 4999) {
        size_t taken;

        for (int i = 0; i < 3; i++)
            feed(other, sizeof(other));
        feed(bytes, cut);
        for (int i = 0; i < 3; i++)
            assert_int_equal(frame_reader_next(&reader, &frame), 1);
        assert_int_equal(frame_reader_next(&reader, &frame), 0);
        taken = reader.taken;
        feed(bytes + cut, sizeof(bytes) - cut);
        moved += reader.taken < taken;
        assert_int_equal(frame_reader_next(&reader, &frame), 1);
        assert_int_equal(frame.type, FRAME_START);
        assert_memory_equal(frame.payload, secret, sizeof(secret));
        frame_reader_wipe(&reader, &frame);
        assert_null(memmem(reader.bytes, sizeof(reader.bytes), secret, sizeof(secret)));
    }
    assert_true(moved > 10);
}

static void a_malformed_header_breaks_the_stream_for_good(void **state)
{
    static const struct {
        const char *what;
        size_t at;
        uint8_t value;
    } rows[] = {
        { "version 0", 0, 0 },           { "the next version", 0, FRAME_VERSION + 1 },
        { "version 255", 0, 255 },       { "type 0", 1, FRAME_NONE },
        { "between the types", 1, 9 },   { "below init's types", 1, 31 },
        { "above init's types", 1, 38 }, { "below the lanes' types", 1, 63 },
        { "above all types", 1, 68 },    { "type 255", 1, 255 },
        { "lane 3", 2, FRAME_LANES },    { "lane 255", 2, 255 },
        { "padding", 3, 1 },             { "size one too large", 6, 1 },
        { "size of 16 MiB", 7, 1 },      { "size of 4 GiB", 7, 255 },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        uint8_t bytes[FRAME_HEADER + 1], good[FRAME_HEADER];
        struct frame frame;

        (void)put_frame(bytes, FRAME_DATA, 0, 1, "a", 1);
        bytes[rows[i].at] = rows[i].value;
        frame_reader_init(&reader);
        feed(bytes, sizeof(bytes));
        if (frame_reader_next(&reader, &frame) != -1)
            fail_msg("accepted: %s", rows[i].what);
        /* Nothing that follows is believed. */
        feed(good, put_frame(good, FRAME_BEAT, 0, 0, NULL, 0));
        assert_int_equal(frame_reader_next(&reader, &frame), -1);
    }
}

/* Who reads no more than that leaves what follows in the stream. */
static void what_is_missing_is_never_more_than_the_frame_at_hand(void **state)
{
    uint8_t bytes[512];
    struct frame frame;
    size_t first = put_frame(bytes, FRAME_MACHINE, 1, 0, "hello", 5), at = 0, missing;

    (void)state;
    (void)put_frame(bytes + first, FRAME_BEAT, 0, 0, NULL, 0);
    frame_reader_init(&reader);
    assert_int_equal(frame_reader_missing(&reader), FRAME_HEADER);
    while (frame_reader_next(&reader, &frame) == 0) {
        missing = frame_reader_missing(&reader);
        assert_true(missing > 0 && at + missing <= first);
        missing = missing > 7 ? 7 : missing; /* what came may be less */
        feed(bytes + at, missing);
        at += missing;
    }
    assert_int_equal(at, first);
    assert_int_equal(frame.type, FRAME_MACHINE);
    assert_int_equal(frame_reader_missing(&reader), FRAME_HEADER);
    /* A size that no frame has asks for no more than its header. */
    memset(bytes, 0xff, FRAME_HEADER);
    feed(bytes, FRAME_HEADER);
    assert_int_equal(frame_reader_missing(&reader), 0);
    assert_int_equal(frame_reader_next(&reader, &frame), -1);
}

static void every_type_has_a_name_and_nothing_else_has(void **state)
{
    unsigned named = 0;

    (void)state;
    for (unsigned type = 0; type < 256; type++)
        named += frame_type_name((uint8_t)type) != NULL;
#define X(id, value) assert_string_equal(frame_type_name(value), #id), named--;
    FRAME_TYPE_MAP(X)
#undef X
    assert_int_equal(named, 0);
}

/* ---- packing ---- */

static void packing_what_does_not_fit_fails_at_every_size(void **state)
{
    static const char *const texts[] = { "a", "", "longer", NULL };
    uint8_t bytes[256];
    struct pack whole = { .bytes = bytes, .size = sizeof(bytes) };

    (void)state;
    pack_u64(&whole, UINT64_MAX);
    pack_texts(&whole, texts);
    pack_bytes(&whole, NULL, 0);
    assert_false(whole.failed);
    for (size_t size = 0; size < whole.used; size++) {
        NACRE_AUTO(nacre_heap_guard) uint8_t *small = malloc(size + 1);
        struct pack pack = { .bytes = small, .size = size };

        pack_u64(&pack, UINT64_MAX);
        pack_texts(&pack, texts);
        pack_bytes(&pack, NULL, 0);
        assert_true(pack.failed);
        assert_true(pack.used <= size);
    }
}

static void reading_past_the_end_fails_and_stays_failed(void **state)
{
    static const uint8_t bytes[] = { 3, 0, 0, 0, 0, 0, 0, 0, 'a', 'b', '\0' };
    struct unpack unpack = { .bytes = bytes, .size = sizeof(bytes) };

    (void)state;
    assert_string_equal(unpack_text(&unpack), "ab");
    assert_true(unpack_whole(&unpack));
    assert_int_equal(unpack_u64(&unpack), 0);
    assert_false(unpack_whole(&unpack));
    assert_null(unpack_text(&unpack));
    for (size_t size = 0; size < sizeof(bytes); size++) {
        NACRE_AUTO(nacre_heap_guard) uint8_t *part = malloc(size + 1);
        struct unpack cut = { .bytes = part, .size = size };

        memcpy(part, bytes, size);
        assert_null(unpack_text(&cut));
        assert_false(unpack_whole(&cut));
    }
}

static void texts_with_a_zero_inside_or_none_at_the_end_are_refused(void **state)
{
    static const uint8_t rows[][11] = {
        { 0, 0, 0, 0, 0, 0, 0, 0 },
        { 3, 0, 0, 0, 0, 0, 0, 0, 'a', 'b', 'c' },
        { 3, 0, 0, 0, 0, 0, 0, 0, 'a', 0, 0 },
        { 3, 0, 0, 0, 0, 0, 0, 0, 0, 'b', 0 },
        { 4, 0, 0, 0, 0, 0, 0, 0, 'a', 'b', 0 },
        { 255, 255, 255, 255, 255, 255, 255, 255, 'a', 'b', 0 },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct unpack unpack = { .bytes = rows[i], .size = sizeof(rows[i]) };

        assert_null(unpack_text(&unpack));
        assert_true(unpack.failed);
    }
}

static void a_list_longer_than_its_room_is_refused(void **state)
{
    static const char *const texts[] = { "a", "b", "c", NULL };
    const char *found[4];
    uint8_t bytes[128];
    struct pack pack = { .bytes = bytes, .size = sizeof(bytes) };
    struct unpack unpack = { .bytes = bytes };

    (void)state;
    pack_texts(&pack, texts);
    unpack.size = pack.used;
    assert_int_equal(unpack_texts(&unpack, found, 3), 3);
    assert_string_equal(found[2], "c");
    assert_null(found[3]);
    unpack = (struct unpack){ .bytes = bytes, .size = pack.used };
    assert_int_equal(unpack_texts(&unpack, found, 2), 0);
    assert_true(unpack.failed);
    assert_null(found[0]);
}

/* ---- messages ---- */

static const struct sock_filter filter[2] = { { 6, 0, 0, 0x7fff0000 }, { 6, 0, 0, 1 } };
static const struct init_mask masks[] = { { "/a", 1, 2 }, { "/b", 0, 0 } };
static const char *const names[] = { "a.test", "*.b.test", NULL };
static const char *const questions[] = { "file /x", "stat /y", NULL };
static const struct init_config a_config = {
    .beat_ms_max = 5000, .commands_max = CONFIG_COMMANDS_MAX, .capabilities_kept = 5,
    .weighed_apart = true, .landlock_none = true, .oom_file = "/oom", .filter = filter,
    .filter_bytes = sizeof(filter), .masks = masks, .mask_count = 2,
    .carries = true, .names = names, .name_count = 2, .questions = questions,
    .question_count = 2,
};
static const char *const arguments[] = { "echo", "x y", NULL };
static const char *const environment[] = { "A=1", NULL };
static const struct init_file files[] = { { "key", "v\0", 2 }, { "a.b-c_D9", "", 0 } };
static const struct init_start a_start = {
    .arguments = arguments, .environment = environment, .directory = "/",
    .wall_ms_max = 1, .open_files_max = 2, .processes_max = 3, .file_bytes_max = 4,
    .input = true, .files = files, .file_count = 2, .certificates = "PEM",
};
static const struct init_exit an_exit = { INIT_HOW_KILLED, 9, 1, 2, 3, 4, 5 };
static const struct init_answer an_answer = { "file /x", "said", 4 };

struct packed {
    uint8_t bytes[1024];
    size_t used;
};

enum kind { CONFIG, START, EXIT, ANSWER, KINDS };

static struct packed packed_of(enum kind kind)
{
    struct packed packed = { .used = 0 };
    struct pack pack = { .bytes = packed.bytes, .size = sizeof(packed.bytes) };
    bool done = kind == CONFIG  ? init_config_pack(&pack, &a_config)
                : kind == START ? init_start_pack(&pack, &a_start)
                : kind == EXIT  ? init_exit_pack(&pack, &an_exit)
                                : init_answer_pack(&pack, &an_answer);

    assert_true(done);
    packed.used = pack.used;
    return packed;
}

static bool reads(enum kind kind, const uint8_t *bytes, size_t size)
{
    struct unpack unpack = { .bytes = bytes, .size = size };
    struct init_config config;
    struct init_start start;
    struct init_exit exit;
    struct init_answer answer;

    return kind == CONFIG  ? init_config_unpack(&unpack, &room, &config)
           : kind == START ? init_start_unpack(&unpack, &room, &start)
           : kind == EXIT  ? init_exit_unpack(&unpack, &exit)
                           : init_answer_unpack(&unpack, &answer) &&
                                 unpack_whole(&unpack);
}

static void a_configuration_is_read_as_it_was_written(void **state)
{
    struct packed packed = packed_of(CONFIG);
    struct unpack unpack = { .bytes = packed.bytes, .size = packed.used };
    struct init_config config;

    (void)state;
    assert_true(init_config_unpack(&unpack, &room, &config));
    assert_int_equal(config.beat_ms_max, 5000);
    assert_int_equal(config.commands_max, CONFIG_COMMANDS_MAX);
    assert_int_equal(config.capabilities_kept, 5);
    assert_true(config.weighed_apart);
    assert_true(config.landlock_none);
    assert_string_equal(config.oom_file, "/oom");
    assert_int_equal(config.filter_bytes, sizeof(filter));
    assert_memory_equal(config.filter, filter, sizeof(filter));
    assert_int_equal(config.mask_count, 2);
    assert_string_equal(config.masks[0].path, "/a");
    assert_int_equal(config.masks[0].inode, 2);
    assert_string_equal(config.masks[1].path, "/b");
    assert_true(config.carries);
    assert_int_equal(config.name_count, 2);
    assert_string_equal(config.names[1], "*.b.test");
    assert_null(config.names[2]);
    assert_int_equal(config.question_count, 2);
    assert_string_equal(config.questions[1], "stat /y");
}

static void a_command_is_read_as_it_was_written(void **state)
{
    struct packed packed = packed_of(START);
    struct unpack unpack = { .bytes = packed.bytes, .size = packed.used };
    struct init_start start;

    (void)state;
    assert_true(init_start_unpack(&unpack, &room, &start));
    assert_string_equal(start.arguments[1], "x y");
    assert_null(start.arguments[2]);
    assert_string_equal(start.environment[0], "A=1");
    assert_null(start.environment[1]);
    assert_string_equal(start.directory, "/");
    assert_int_equal(start.wall_ms_max, 1);
    assert_int_equal(start.open_files_max, 2);
    assert_int_equal(start.processes_max, 3);
    assert_int_equal(start.file_bytes_max, 4);
    assert_true(start.input);
    assert_int_equal(start.file_count, 2);
    assert_string_equal(start.files[0].name, "key");
    assert_int_equal(start.files[0].count, 2);
    assert_memory_equal(start.files[0].bytes, "v\0", 2);
    assert_int_equal(start.files[1].count, 0);
    assert_string_equal(start.certificates, "PEM");
}

static void a_file_with_no_plain_name_is_refused(void **state)
{
    static const char *const bad[] = { "", ".", "..", ".x", "a/b", "/", "a b", "a\n" };
    char longest[START_FILE_NAME_MAX + 1] = { 0 };
    uint8_t bytes[512];

    (void)state;
    memset(longest, 'x', START_FILE_NAME_MAX - 1);
    assert_true(init_file_name_is_good(longest));
    longest[START_FILE_NAME_MAX - 1] = 'x';
    assert_false(init_file_name_is_good(longest));
    for (size_t i = 0; i < NACRE_COUNT(bad); i++) {
        const struct init_file file = { bad[i], "x", 1 };
        struct init_start start = a_start;
        struct pack pack = { .bytes = bytes, .size = sizeof(bytes) };

        start.files = &file;
        start.file_count = 1;
        assert_true(init_start_pack(&pack, &start));
        if (reads(START, bytes, pack.used))
            fail_msg("accepted: '%s'", bad[i]);
    }
}

static void an_end_and_an_answer_are_read_as_they_were_written(void **state)
{
    struct packed packed = packed_of(EXIT);
    struct unpack unpack = { .bytes = packed.bytes, .size = packed.used };
    struct init_exit exit;
    struct init_answer answer;

    (void)state;
    assert_true(init_exit_unpack(&unpack, &exit));
    assert_memory_equal(&exit, &an_exit, sizeof(exit));
    packed = packed_of(ANSWER);
    unpack = (struct unpack){ .bytes = packed.bytes, .size = packed.used };
    assert_true(init_answer_unpack(&unpack, &answer));
    assert_string_equal(answer.question, "file /x");
    assert_int_equal(answer.count, 4);
    assert_memory_equal(answer.text, "said", 4);
}

static void a_message_that_is_cut_or_goes_on_is_refused(void **state)
{
    (void)state;
    for (enum kind kind = 0; kind < KINDS; kind++) {
        struct packed packed = packed_of(kind);

        assert_true(reads(kind, packed.bytes, packed.used));
        for (size_t size = 0; size < packed.used; size++) {
            NACRE_AUTO(nacre_heap_guard) uint8_t *part = malloc(size + 1);

            memcpy(part, packed.bytes, size);
            assert_false(reads(kind, part, size));
        }
        packed.bytes[packed.used] = 0;
        assert_false(reads(kind, packed.bytes, packed.used + 1));
    }
}

static void numbers_that_are_no_limits_are_refused(void **state)
{
    static const struct {
        const char *what;
        struct init_config config;
    } configs[] = {
        { "no beat", { .commands_max = 1 } },
        { "a beat past all time", { .beat_ms_max = UINT64_MAX, .commands_max = 1 } },
        { "no command", { .beat_ms_max = 1 } },
        { "too many", { .beat_ms_max = 1, .commands_max = CONFIG_COMMANDS_MAX + 1 } },
        { "half an instruction",
          { .beat_ms_max = 1, .commands_max = 1, .filter = filter, .filter_bytes = 12 } },
        { "one command, and two at once",
          { .beat_ms_max = 1, .commands_max = 2, .once = true } },
    };
    static const struct {
        const char *what;
        struct init_start start;
    } starts[] = {
        { "no program", { .wall_ms_max = 1 } },
        { "no deadline", { .arguments = arguments } },
        { "a deadline past all time",
          { .arguments = arguments, .wall_ms_max = UINT64_MAX } },
    };
    uint8_t bytes[256];

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(configs); i++) {
        struct init_config config = configs[i].config;
        struct pack pack = { .bytes = bytes, .size = sizeof(bytes) };

        config.oom_file = "";
        assert_true(init_config_pack(&pack, &config));
        if (reads(CONFIG, bytes, pack.used))
            fail_msg("accepted: %s", configs[i].what);
    }
    for (size_t i = 0; i < NACRE_COUNT(starts); i++) {
        struct init_start start = starts[i].start;
        struct pack pack = { .bytes = bytes, .size = sizeof(bytes) };

        start.directory = "/";
        assert_true(init_start_pack(&pack, &start));
        if (reads(START, bytes, pack.used))
            fail_msg("accepted: %s", starts[i].what);
    }
    for (unsigned how = 0; how < 8; how++) {
        struct init_exit exit = { .how = how, .status = how == 7 ? 256 : 0 };
        struct pack pack = { .bytes = bytes, .size = sizeof(bytes) };

        assert_true(init_exit_pack(&pack, &exit));
        assert_int_equal(reads(EXIT, bytes, pack.used),
                         how >= INIT_HOW_EXITED && how <= INIT_HOW_KILLED);
    }
}

static void longer_lists_than_there_is_room_for_are_refused(void **state)
{
    static uint8_t bytes[1 << 20];
    static const char *many[CONFIG_LIST_MAX + 2];

    (void)state;
    for (size_t count = CONFIG_LIST_MAX; count <= CONFIG_LIST_MAX + 1; count++) {
        struct init_start start = a_start;
        struct init_config config = a_config;
        struct pack pack = { .bytes = bytes, .size = sizeof(bytes) };
        bool fits = count == CONFIG_LIST_MAX;

        for (size_t i = 0; i < count; i++)
            many[i] = "x";
        start.arguments = many;
        start.environment = many;
        assert_true(init_start_pack(&pack, &start));
        assert_int_equal(reads(START, bytes, pack.used), fits);

        pack = (struct pack){ .bytes = bytes, .size = sizeof(bytes) };
        config.questions = many;
        config.question_count = count;
        assert_true(init_config_pack(&pack, &config));
        assert_int_equal(reads(CONFIG, bytes, pack.used), fits);
    }
}

static void nothing_is_allocated(void **state)
{
    struct packed packed;

    (void)state;
    fail_alloc_after(0);
    for (enum kind kind = 0; kind < KINDS; kind++) {
        packed = packed_of(kind);
        assert_true(reads(kind, packed.bytes, packed.used));
    }
    assert_false(fail_alloc_fired());
    fail_alloc_after(-1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_come_out_as_they_went_in_wherever_the_stream_is_cut),
        cmocka_unit_test(the_largest_frames_fit_byte_by_byte_without_end),
        cmocka_unit_test(a_payload_that_is_wiped_is_nowhere_in_the_reader),
        cmocka_unit_test(a_malformed_header_breaks_the_stream_for_good),
        cmocka_unit_test(what_is_missing_is_never_more_than_the_frame_at_hand),
        cmocka_unit_test(every_type_has_a_name_and_nothing_else_has),
        cmocka_unit_test(packing_what_does_not_fit_fails_at_every_size),
        cmocka_unit_test(reading_past_the_end_fails_and_stays_failed),
        cmocka_unit_test(texts_with_a_zero_inside_or_none_at_the_end_are_refused),
        cmocka_unit_test(a_list_longer_than_its_room_is_refused),
        cmocka_unit_test(a_configuration_is_read_as_it_was_written),
        cmocka_unit_test(a_command_is_read_as_it_was_written),
        cmocka_unit_test(a_file_with_no_plain_name_is_refused),
        cmocka_unit_test(an_end_and_an_answer_are_read_as_they_were_written),
        cmocka_unit_test(a_message_that_is_cut_or_goes_on_is_refused),
        cmocka_unit_test(numbers_that_are_no_limits_are_refused),
        cmocka_unit_test(longer_lists_than_there_is_room_for_are_refused),
        cmocka_unit_test(nothing_is_allocated),
    };

    return cmocka_run_group_tests_name("channel", tests, NULL, NULL);
}
