/* What a machine is told to be made of: whole and right, or refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "fail_alloc.h"
#include "machine.h"
#include "nacre/own.h"

static struct machine_mount found_mounts[MACHINE_MOUNTS_MAX];

static const struct machine_mount some[] = {
    { .kind = MACHINE_MOUNT_SHARE, .target = "/work", .text = "tag", .writable = true },
    { .kind = MACHINE_MOUNT_TMPFS, .target = "/tmp", .text = "", .no_exec = true,
      .bytes = 4096, .inodes = 9, .mode = 07777 },
    { .kind = MACHINE_MOUNT_COVER, .target = "/work/x", .text = "" },
    { .kind = MACHINE_MOUNT_FILE, .target = "/etc/hosts", .text = "a\nb\n" },
};

static struct init_machine a_machine(void)
{
    return (struct init_machine){
        .uid = 1000, .gid = 100, .capabilities_kept = 5, .hostname = "nacre",
        .writable_root = true, .layer_bytes = 1, .memory_bytes_max = 2,
        .processes_max = 3, .unix_ms = 4, .mounts = some,
        .mount_count = NACRE_COUNT(some),
    };
}

struct packed {
    uint8_t bytes[1024];
    size_t used;
};

static struct packed packed_of(const struct init_machine *machine)
{
    struct packed packed = { .used = 0 };
    struct pack pack = { .bytes = packed.bytes, .size = sizeof(packed.bytes) };

    assert_true(init_machine_pack(&pack, machine));
    packed.used = pack.used;
    return packed;
}

/* From a copy of exactly that size, so that a sanitizer sees a byte too many read. */
static bool reads(const uint8_t *bytes, size_t size, struct init_machine *ret_machine)
{
    NACRE_AUTO(nacre_heap_guard) uint8_t *copy = malloc(size + (size == 0));
    struct unpack unpack = { .bytes = copy, .size = size };

    assert_non_null(copy);
    memcpy(copy, bytes, size);
    return init_machine_unpack(&unpack, found_mounts, ret_machine);
}

static void a_machine_is_read_as_it_was_written(void **state)
{
    const struct init_machine machine = a_machine();
    struct packed packed = packed_of(&machine), again;
    struct unpack unpack = { .bytes = packed.bytes, .size = packed.used };
    struct init_machine found;

    (void)state;
    assert_true(init_machine_unpack(&unpack, found_mounts, &found));
    assert_int_equal(found.uid, 1000);
    assert_int_equal(found.mount_count, NACRE_COUNT(some));
    assert_string_equal(found.mounts[3].text, "a\nb\n");
    again = packed_of(&found);
    assert_int_equal(again.used, packed.used);
    assert_memory_equal(again.bytes, packed.bytes, packed.used);
}

static void every_truncation_and_every_longer_one_is_refused(void **state)
{
    const struct init_machine machine = a_machine();
    struct packed packed = packed_of(&machine);
    struct init_machine found;

    (void)state;
    for (size_t size = 0; size < packed.used; size++)
        assert_false(reads(packed.bytes, size, &found));
    assert_true(reads(packed.bytes, packed.used, &found));
    assert_false(reads(packed.bytes, packed.used + 1, &found));
}

static void packing_fails_where_there_is_no_room(void **state)
{
    const struct init_machine machine = a_machine();
    size_t whole = packed_of(&machine).used;

    (void)state;
    for (size_t size = 0; size < whole; size++) {
        uint8_t bytes[sizeof(struct packed)];
        struct pack pack = { .bytes = bytes, .size = size };

        assert_false(init_machine_pack(&pack, &machine));
    }
}

static void what_is_no_mount_is_refused(void **state)
{
    static char longest[MACHINE_TARGET_MAX + 1];
    struct machine_mount rows[] = {
        { .kind = MACHINE_MOUNT_NONE, .target = "/a", .text = "" },
        { .kind = MACHINE_MOUNT_COUNT, .target = "/a", .text = "" },
        { .kind = UINT64_MAX, .target = "/a", .text = "" },
        { .kind = MACHINE_MOUNT_COVER, .target = "a", .text = "" },
        { .kind = MACHINE_MOUNT_COVER, .target = "", .text = "" },
        { .kind = MACHINE_MOUNT_COVER, .target = "/", .text = "" },
        { .kind = MACHINE_MOUNT_COVER, .target = longest, .text = "" },
        { .kind = MACHINE_MOUNT_TMPFS, .target = "/a", .text = "", .mode = 010000 },
    };

    (void)state;
    memset(longest, 'a', sizeof(longest) - 1);
    longest[0] = '/';
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct init_machine machine = a_machine(), found;
        uint8_t bytes[MACHINE_TARGET_MAX + 1024];
        struct pack pack = { .bytes = bytes, .size = sizeof(bytes) };

        machine.mounts = &rows[i];
        machine.mount_count = 1;
        assert_true(init_machine_pack(&pack, &machine));
        if (reads(bytes, pack.used, &found))
            fail_msg("row %zu was read", i);
    }
}

static void numbers_out_of_range_are_refused(void **state)
{
    static const struct {
        size_t at; /* of a number in the message of a machine without mounts */
        uint8_t value;
    } rows[] = {
        { 4, 1 },  /* uid: beyond 32 bits */
        { 12, 1 }, /* gid */
    };
    struct init_machine machine = a_machine(), found;
    struct packed packed;

    (void)state;
    machine.mount_count = 0;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        packed = packed_of(&machine);
        packed.bytes[rows[i].at] = rows[i].value;
        assert_false(reads(packed.bytes, packed.used, &found));
    }
    machine.uid = UINT32_MAX; /* means "leave it" to setresuid() */
    packed = packed_of(&machine);
    assert_false(reads(packed.bytes, packed.used, &found));
    machine = a_machine();
    machine.mount_count = 0;
    packed = packed_of(&machine);
    packed.bytes[packed.used - 8] = 1; /* mounts that are not there */
    assert_false(reads(packed.bytes, packed.used, &found));
    packed.bytes[packed.used - 7] = 0xff;
    assert_false(reads(packed.bytes, packed.used, &found));
}

static void more_mounts_than_there_is_room_for_are_refused(void **state)
{
    static struct machine_mount many[MACHINE_MOUNTS_MAX + 1];
    static uint8_t bytes[MACHINE_BYTES_MAX];
    struct pack pack = { .bytes = bytes, .size = sizeof(bytes) };
    struct init_machine machine = a_machine(), found;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(many); i++)
        many[i] = some[2];
    machine.mounts = many;
    machine.mount_count = MACHINE_MOUNTS_MAX;
    assert_true(init_machine_pack(&pack, &machine));
    assert_true(reads(bytes, pack.used, &found));
    pack = (struct pack){ .bytes = bytes, .size = sizeof(bytes) };
    machine.mount_count = MACHINE_MOUNTS_MAX + 1;
    assert_false(init_machine_pack(&pack, &machine));
    assert_false(reads(bytes, pack.used, &found));
}

static void every_kind_has_words(void **state)
{
    (void)state;
    for (uint64_t kind = MACHINE_MOUNT_NONE + 1; kind < MACHINE_MOUNT_COUNT; kind++)
        assert_string_not_equal(machine_mount_words(kind),
                                machine_mount_words(MACHINE_MOUNT_NONE));
    assert_string_equal(machine_mount_words(UINT64_MAX),
                        machine_mount_words(MACHINE_MOUNT_NONE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_is_read_as_it_was_written),
        cmocka_unit_test(every_truncation_and_every_longer_one_is_refused),
        cmocka_unit_test(packing_fails_where_there_is_no_room),
        cmocka_unit_test(what_is_no_mount_is_refused),
        cmocka_unit_test(numbers_out_of_range_are_refused),
        cmocka_unit_test(more_mounts_than_there_is_room_for_are_refused),
        cmocka_unit_test(every_kind_has_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
