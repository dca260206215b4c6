/* The directory of secrets: read by its guest, changed by nobody, gone with its run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "nacre/own.h"
#include "wasi_guest.h"

#define GUEST_SECRETS 6 /* after the three mounts */

static const struct nacre_secret_file files[] = {
    { "api-key", (const unsigned char *)"s3cr3t-value", 12 },
    { "empty", (const unsigned char *)"", 0 },
    { "..dotted", (const unsigned char *)"dots\0nul", 8 },
};

static int set_up(void **state)
{
    static struct guest guest;

    guest_prepare(&guest);
    guest.call.secret_files = files;
    guest.call.secret_file_count = NACRE_COUNT(files);
    guest_start(&guest);
    *state = &guest;
    return 0;
}

static int tear_down(void **state)
{
    guest_finish(*state);
    return 0;
}

static uint32_t open_key(struct guest *guest)
{
    uint32_t number = 0;

    assert_int_equal(guest_open(guest, GUEST_SECRETS, "api-key", 0, 0, READ, &number),
                     P1_SUCCESS);
    return number;
}

static int64_t seek(struct guest *guest, uint32_t number, int64_t offset, int whence)
{
    int error = CALL(guest, "fd_seek", number, offset, whence, GUEST_RESULT);

    return error == P1_SUCCESS ? (int64_t)guest_u64(guest, GUEST_RESULT) : -error;
}

/* ---- reading ---- */

static void secrets_are_a_preopen_of_their_own(void **state)
{
    struct guest *guest = *state;

    assert_int_equal(CALL(guest, "fd_prestat_get", GUEST_SECRETS, GUEST_BUFFER),
                     P1_SUCCESS);
    assert_int_equal(guest_u32(guest, GUEST_BUFFER + 4), strlen(NACRE_SECRET_DIR));
    assert_int_equal(
        CALL(guest, "fd_prestat_dir_name", GUEST_SECRETS, GUEST_BUFFER, 64), P1_SUCCESS);
    assert_memory_equal(guest->memory.base + GUEST_BUFFER, NACRE_SECRET_DIR,
                        strlen(NACRE_SECRET_DIR));
    assert_int_equal(CALL(guest, "fd_prestat_get", GUEST_SECRETS + 1, GUEST_BUFFER),
                     P1_BADF);
    assert_true(guest_reads(guest, GUEST_SECRETS, "api-key", "s3cr3t-value"));
    assert_true(guest_reads(guest, GUEST_SECRETS, "./api-key", "s3cr3t-value"));
    assert_true(guest_reads(guest, GUEST_SECRETS, ".//./..dotted", "dots"));
    assert_int_equal(guest->record.files_opened, 3);
    assert_int_equal(guest->record.bytes_read, 28);
}

static void each_open_has_a_position_of_its_own(void **state)
{
    struct guest *guest = *state;
    uint32_t one = open_key(guest), other = open_key(guest);

    assert_int_equal(guest_read(guest, one, 6), P1_SUCCESS);
    assert_memory_equal(guest->memory.base + GUEST_BUFFER, "s3cr3t", 6);
    assert_int_equal(guest_read(guest, other, 2), P1_SUCCESS);
    assert_memory_equal(guest->memory.base + GUEST_BUFFER, "s3", 2);
    assert_int_equal(guest_read(guest, one, 64), P1_SUCCESS);
    assert_int_equal(guest_u32(guest, GUEST_RESULT), 6);
    assert_memory_equal(guest->memory.base + GUEST_BUFFER, "-value", 6);
    assert_int_equal(guest_read(guest, one, 64), P1_SUCCESS);
    assert_int_equal(guest_u32(guest, GUEST_RESULT), 0);
}

static void positions_move_as_in_any_file(void **state)
{
    struct guest *guest = *state;
    uint32_t number = open_key(guest);
    struct p1_iovec iovec = { GUEST_BUFFER, 64 };

    assert_int_equal(seek(guest, number, -5, P1_WHENCE_END), 7);
    assert_int_equal(guest_read(guest, number, 64), P1_SUCCESS);
    assert_memory_equal(guest->memory.base + GUEST_BUFFER, "value", 5);
    assert_int_equal(CALL(guest, "fd_tell", number, GUEST_RESULT), P1_SUCCESS);
    assert_int_equal(guest_u64(guest, GUEST_RESULT), 12);
    assert_int_equal(seek(guest, number, -12, P1_WHENCE_CUR), 0);
    assert_int_equal(seek(guest, number, -1, P1_WHENCE_CUR), -P1_INVAL);
    assert_int_equal(seek(guest, number, INT64_MIN, P1_WHENCE_END), -P1_INVAL);
    assert_int_equal(seek(guest, number, 0, 3), -P1_INVAL);
    assert_int_equal(seek(guest, number, INT64_MAX, P1_WHENCE_SET), INT64_MAX);
    assert_int_equal(seek(guest, number, 1, P1_WHENCE_CUR), -P1_INVAL);
    assert_int_equal(seek(guest, number, INT64_MAX, P1_WHENCE_END), -P1_INVAL);
    /* Past the end there is nothing. */
    assert_int_equal(guest_read(guest, number, 64), P1_SUCCESS);
    assert_int_equal(guest_u32(guest, GUEST_RESULT), 0);
    memcpy(guest->memory.base + 0x20, &iovec, sizeof(iovec));
    assert_int_equal(CALL(guest, "fd_pread", number, 0x20, 1, 7, GUEST_RESULT),
                     P1_SUCCESS);
    assert_int_equal(guest_u32(guest, GUEST_RESULT), 5);
    assert_int_equal(CALL(guest, "fd_pread", number, 0x20, 1, 12, GUEST_RESULT),
                     P1_SUCCESS);
    assert_int_equal(guest_u32(guest, GUEST_RESULT), 0);
    assert_int_equal(CALL(guest, "fd_pread", number, 0x20, 1, -1, GUEST_RESULT),
                     P1_INVAL);
}

static void vectors_are_filled_in_order_and_checked(void **state)
{
    struct guest *guest = *state;
    uint32_t number = open_key(guest);
    const struct p1_iovec good[] = { { GUEST_BUFFER, 2 }, { GUEST_BUFFER + 100, 3 },
                                     { GUEST_BUFFER + 200, 100 } };
    const struct p1_iovec bad = { GUEST_MEMORY - 2, 3 };

    memcpy(guest->memory.base + 0x20, good, sizeof(good));
    assert_int_equal(CALL(guest, "fd_read", number, 0x20, 3, GUEST_RESULT), P1_SUCCESS);
    assert_int_equal(guest_u32(guest, GUEST_RESULT), 12);
    assert_memory_equal(guest->memory.base + GUEST_BUFFER, "s3", 2);
    assert_memory_equal(guest->memory.base + GUEST_BUFFER + 100, "cr3", 3);
    assert_memory_equal(guest->memory.base + GUEST_BUFFER + 200, "t-value", 7);
    assert_int_equal(guest->memory.base[GUEST_BUFFER + 207], 0xAA);
    assert_int_equal(seek(guest, number, 0, P1_WHENCE_SET), 0);
    memcpy(guest->memory.base + 0x20, &bad, sizeof(bad));
    assert_int_equal(CALL(guest, "fd_read", number, 0x20, 1, GUEST_RESULT), P1_FAULT);
    assert_int_equal(CALL(guest, "fd_read", number, 0x20, 1, GUEST_MEMORY - 3), P1_FAULT);
    assert_int_equal(CALL(guest, "fd_tell", number, GUEST_RESULT), P1_SUCCESS);
    assert_int_equal(guest_u64(guest, GUEST_RESULT), 0);
}

/* ---- asking ---- */

static void what_is_told_of_them_is_small_and_constant(void **state)
{
    struct guest *guest = *state;
    uint32_t number = open_key(guest);
    struct p1_filestat stat;
    struct p1_fdstat fdstat;

    assert_int_equal(guest_stat(guest, GUEST_SECRETS, "api-key", 0), P1_SUCCESS);
    memcpy(&stat, guest->memory.base + GUEST_BUFFER, sizeof(stat));
    assert_int_equal(stat.size, 12);
    assert_int_equal(stat.filetype, P1_FILETYPE_REGULAR_FILE);
    assert_int_equal(stat.mtim, 0);
    assert_int_equal(CALL(guest, "fd_filestat_get", number, GUEST_BUFFER), P1_SUCCESS);
    assert_memory_equal(guest->memory.base + GUEST_BUFFER, &stat, sizeof(stat));
    assert_int_equal(guest_stat(guest, GUEST_SECRETS, ".", 0), P1_SUCCESS);
    memcpy(&stat, guest->memory.base + GUEST_BUFFER, sizeof(stat));
    assert_int_equal(stat.filetype, P1_FILETYPE_DIRECTORY);
    assert_int_equal(CALL(guest, "fd_filestat_get", GUEST_SECRETS, GUEST_BUFFER),
                     P1_SUCCESS);
    assert_memory_equal(guest->memory.base + GUEST_BUFFER, &stat, sizeof(stat));
    assert_int_equal(CALL(guest, "fd_fdstat_get", number, GUEST_BUFFER), P1_SUCCESS);
    memcpy(&fdstat, guest->memory.base + GUEST_BUFFER, sizeof(fdstat));
    assert_int_equal(fdstat.filetype, P1_FILETYPE_REGULAR_FILE);
    assert_int_equal(fdstat.rights_base, P1_RIGHT_FD_READ);
    assert_int_equal(CALL(guest, "fd_fdstat_get", GUEST_SECRETS, GUEST_BUFFER),
                     P1_SUCCESS);
    memcpy(&fdstat, guest->memory.base + GUEST_BUFFER, sizeof(fdstat));
    assert_int_equal(fdstat.filetype, P1_FILETYPE_DIRECTORY);
    assert_int_equal(guest_readlink(guest, GUEST_SECRETS, "api-key"), P1_INVAL);
    assert_int_equal(guest_readlink(guest, GUEST_SECRETS, "other"), P1_NOENT);
}

/* Entry by entry, in a buffer that cuts each one's successor. */
static void a_listing_goes_on_from_any_cookie(void **state)
{
    static const char *const names[] = { ".", "..", "api-key", "empty", "..dotted" };
    struct guest *guest = *state;
    uint64_t cookie = 0;

    for (size_t i = 0; i < NACRE_COUNT(names); i++) {
        struct p1_dirent entry;
        size_t length = strlen(names[i]);

        assert_int_equal(CALL(guest, "fd_readdir", GUEST_SECRETS, GUEST_BUFFER, 34,
                              (int64_t)cookie, GUEST_RESULT),
                         P1_SUCCESS);
        assert_true(guest_u32(guest, GUEST_RESULT) >= sizeof(entry) + length);
        memcpy(&entry, guest->memory.base + GUEST_BUFFER, sizeof(entry));
        assert_int_equal(entry.name_length, length);
        assert_memory_equal(guest->memory.base + GUEST_BUFFER + sizeof(entry), names[i],
                            length);
        assert_int_equal(entry.filetype,
                         i < 2 ? P1_FILETYPE_DIRECTORY : P1_FILETYPE_REGULAR_FILE);
        cookie = entry.next;
    }
    for (size_t i = 0; i < 3; i++) {
        static const int64_t beyond[] = { 5, INT64_MAX, -1 };

        assert_int_equal(CALL(guest, "fd_readdir", GUEST_SECRETS, GUEST_BUFFER, 34,
                              beyond[i], GUEST_RESULT),
                         P1_SUCCESS);
        assert_int_equal(guest_u32(guest, GUEST_RESULT), 0);
    }
    assert_int_equal(CALL(guest, "fd_readdir", GUEST_SECRETS, GUEST_MEMORY - 1, 34, 0,
                          GUEST_RESULT),
                     P1_FAULT);
    assert_int_equal(CALL(guest, "fd_readdir", GUEST_SECRETS, GUEST_BUFFER, UINT32_MAX, 0,
                          GUEST_RESULT),
                     P1_FAULT);
}

/* ---- names that lead nowhere ---- */

static void paths_end_in_the_directory(void **state)
{
    static const struct {
        const char *path;
        int error;
    } rows[] = {
        { "other", P1_NOENT },       { "api-ke", P1_NOENT },     { "api-keyx", P1_NOENT },
        { "API-KEY", P1_NOENT },     { "api-key/", P1_NOTDIR },  { "api-key/x", P1_NOTDIR },
        { "api-key/.", P1_NOTDIR },  { "api-key/..", P1_NOTDIR }, { "..", P1_PERM },
        { "../secrets", P1_PERM },   { "./..", P1_PERM },        { "/api-key", P1_PERM },
        { "/run/secrets/api-key", P1_PERM },                     { "/", P1_PERM },
        { "other/..", P1_NOENT },    { "other/", P1_NOENT },
    };
    struct guest *guest = *state;
    uint32_t number;

    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        assert_int_equal(guest_stat(guest, GUEST_SECRETS, rows[i].path, 0),
                         rows[i].error);
        assert_int_equal(guest_open(guest, GUEST_SECRETS, rows[i].path, P1_LOOKUP_FOLLOW,
                                    0, READ, &number),
                         rows[i].error);
    }
    assert_int_equal(guest_denials(guest, "escape"), 12);
    assert_int_equal(guest->record.denials[0].mount, 3);
}

/* ---- nothing is changed ---- */

static void nothing_in_there_can_be_changed(void **state)
{
    struct guest *guest = *state;
    uint32_t number = open_key(guest), other;

    assert_int_equal(guest_open(guest, GUEST_SECRETS, "api-key", 0, 0, READ | WRITE,
                                &other),
                     P1_PERM);
    assert_int_equal(guest_open(guest, GUEST_SECRETS, "api-key", 0, P1_OFLAG_TRUNC, READ,
                                &other),
                     P1_PERM);
    assert_int_equal(guest_open(guest, GUEST_SECRETS, "new", 0, P1_OFLAG_CREAT, READ,
                                &other),
                     P1_PERM);
    assert_int_equal(guest_open(guest, GUEST_SECRETS, "api-key", 0,
                                P1_OFLAG_CREAT | P1_OFLAG_EXCL, READ, &other),
                     P1_EXIST);
    assert_int_equal(guest_open(guest, GUEST_SECRETS, "api-key", 0, P1_OFLAG_DIRECTORY,
                                READ, &other),
                     P1_NOTDIR);
    assert_int_equal(guest_open(guest, GUEST_SECRETS, "api-key", 0, 1u << 15, READ,
                                &other),
                     P1_INVAL);
    assert_int_equal(guest_write(guest, number, "x"), P1_BADF);
    assert_int_equal(guest_pwrite(guest, number, "x", 0), P1_BADF);
    assert_int_equal(CALL(guest, "fd_filestat_set_size", number, 0), P1_INVAL);
    assert_int_equal(CALL(guest, "fd_filestat_set_times", number, 0, 1, P1_FSTFLAG_MTIM),
                     P1_PERM);
    assert_int_equal(
        CALL(guest, "fd_filestat_set_times", GUEST_SECRETS, 0, 1, P1_FSTFLAG_MTIM),
        P1_PERM);
    assert_int_equal(CALL(guest, "fd_allocate", number, 0, 10), P1_NOTSUP);
    assert_int_equal(CALL(guest, "fd_fdstat_set_rights", number, READ | WRITE, 0),
                     P1_NOTCAPABLE);
    assert_int_equal(guest_mkdir(guest, GUEST_SECRETS, "d"), P1_PERM);
    assert_int_equal(guest_rmdir(guest, GUEST_SECRETS, "api-key"), P1_PERM);
    assert_int_equal(guest_unlink(guest, GUEST_SECRETS, "api-key"), P1_PERM);
    assert_int_equal(guest_symlink(guest, "x", GUEST_SECRETS, "y"), P1_PERM);
    assert_int_equal(guest_touch(guest, GUEST_SECRETS, "api-key"), P1_PERM);
    assert_int_equal(guest_rename(guest, GUEST_SECRETS, "api-key", GUEST_IN, "k"),
                     P1_PERM);
    assert_int_equal(guest_rename(guest, GUEST_IN, "file", GUEST_SECRETS, "k"), P1_PERM);
    assert_int_equal(guest_link(guest, GUEST_SECRETS, "api-key", GUEST_IN, "k"), P1_PERM);
    assert_int_equal(guest_link(guest, GUEST_IN, "file", GUEST_SECRETS, "k"), P1_PERM);
    assert_true(guest_denials(guest, "read-only") >= 10);
    assert_true(outside_holds(guest, "in/file", "inside"));
    assert_true(guest_reads(guest, GUEST_SECRETS, "api-key", "s3cr3t-value"));
}

static void harmless_calls_work_as_on_any_file(void **state)
{
    struct guest *guest = *state;
    uint32_t number = open_key(guest), directory;

    assert_int_equal(CALL(guest, "fd_sync", number), P1_SUCCESS);
    assert_int_equal(CALL(guest, "fd_datasync", number), P1_SUCCESS);
    assert_int_equal(CALL(guest, "fd_advise", number, 0, 0, 0), P1_SUCCESS);
    assert_int_equal(CALL(guest, "fd_fdstat_set_flags", number, P1_FDFLAG_APPEND),
                     P1_SUCCESS);
    assert_int_equal(CALL(guest, "fd_sync", GUEST_SECRETS), P1_BADF);
    assert_int_equal(CALL(guest, "fd_fdstat_set_flags", GUEST_SECRETS, 0), P1_BADF);
    assert_int_equal(guest_read(guest, GUEST_SECRETS, 8), P1_BADF);
    assert_int_equal(seek(guest, GUEST_SECRETS, 0, P1_WHENCE_CUR), -P1_BADF);
    assert_int_equal(guest_open(guest, GUEST_SECRETS, ".", 0, P1_OFLAG_DIRECTORY, 0,
                                &directory),
                     P1_SUCCESS);
    assert_true(guest_reads(guest, directory, "api-key", "s3cr3t-value"));
    assert_int_equal(CALL(guest, "fd_prestat_get", directory, GUEST_BUFFER), P1_BADF);
    assert_int_equal(CALL(guest, "fd_renumber", number, directory), P1_SUCCESS);
    assert_int_equal(guest_read(guest, directory, 2), P1_SUCCESS);
    assert_int_equal(guest_close(guest, number), P1_BADF);
    assert_int_equal(guest_close(guest, GUEST_SECRETS), P1_SUCCESS);
    assert_int_equal(guest_stat(guest, GUEST_SECRETS, "api-key", 0), P1_BADF);
}

/* ---- bounds ---- */

static void open_secrets_count_as_open_files(void **state)
{
    struct guest *guest = *state;
    uint32_t number = 0;

    for (uint64_t i = 0; i < guest->config.open_files_max; i++)
        number = open_key(guest);
    assert_int_equal(guest_open(guest, GUEST_SECRETS, "api-key", 0, 0, READ, &number),
                     P1_MFILE);
    assert_int_equal(guest_close(guest, number), P1_SUCCESS);
    (void)open_key(guest);
}

static void a_run_without_secrets_has_no_directory(void **state)
{
    struct guest *guest = *state;

    (void)open_key(guest);
    guest->call.secret_file_count = 0;
    guest_restart(guest);
    assert_int_equal(CALL(guest, "fd_prestat_get", GUEST_SECRETS, GUEST_BUFFER), P1_BADF);
    assert_int_equal(guest_stat(guest, GUEST_SECRETS, "api-key", 0), P1_BADF);
    assert_int_equal(CALL(guest, "fd_prestat_get", GUEST_OWN, GUEST_BUFFER), P1_SUCCESS);
    guest->call.secret_file_count = 1;
    guest_restart(guest);
    assert_true(guest_reads(guest, GUEST_SECRETS, "api-key", "s3cr3t-value"));
    assert_int_equal(guest_stat(guest, GUEST_SECRETS, "empty", 0), P1_NOENT);
}

static void waiting_for_a_secret_needs_no_waiting(void **state)
{
    struct guest *guest = *state;
    struct p1_subscription sub = { .userdata = 7, .tag = P1_EVENT_FD_READ };
    struct p1_event event;

    sub.u.file.fd = open_key(guest);
    memcpy(guest->memory.base + GUEST_BUFFER, &sub, sizeof(sub));
    assert_int_equal(CALL(guest, "poll_oneoff", GUEST_BUFFER, GUEST_BUFFER + 256, 1,
                          GUEST_RESULT),
                     P1_SUCCESS);
    memcpy(&event, guest->memory.base + GUEST_BUFFER + 256, sizeof(event));
    assert_int_equal(event.error, P1_SUCCESS);
    assert_int_equal(event.bytes, 12);
    sub.u.file.fd = GUEST_SECRETS;
    memcpy(guest->memory.base + GUEST_BUFFER, &sub, sizeof(sub));
    assert_int_equal(CALL(guest, "poll_oneoff", GUEST_BUFFER, GUEST_BUFFER + 256, 1,
                          GUEST_RESULT),
                     P1_BADF);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(secrets_are_a_preopen_of_their_own),
        TEST(each_open_has_a_position_of_its_own),
        TEST(positions_move_as_in_any_file),
        TEST(vectors_are_filled_in_order_and_checked),
        TEST(what_is_told_of_them_is_small_and_constant),
        TEST(a_listing_goes_on_from_any_cookie),
        TEST(paths_end_in_the_directory),
        TEST(nothing_in_there_can_be_changed),
        TEST(harmless_calls_work_as_on_any_file),
        TEST(open_secrets_count_as_open_files),
        TEST(a_run_without_secrets_has_no_directory),
        TEST(waiting_for_a_secret_needs_no_waiting),
    };

    return cmocka_run_group_tests_name("wasi_secrets", tests, NULL, NULL);
}
