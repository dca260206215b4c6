/* Private directories and the keys in them: made once, refused when not ours alone. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "nacre/key.h"
#include "nacre/own.h"

/* The test's own directory; every path below is relative to it. */
static char top[] = "/tmp/nacre-key-XXXXXX";

static int enter(void **state)
{
    (void)state;
    (void)umask(022);
    return mkdtemp(top) && chdir(top) == 0 ? 0 : -1;
}

static int leave(void **state)
{
    char command[64];

    (void)state;
    (void)snprintf(command, sizeof(command), "rm -rf %s", top);
    return chdir("/") < 0 || system(command) != 0;
}

static void write_file(const char *path, const void *bytes, size_t count, mode_t mode)
{
    NACRE_AUTO(nacre_fd_guard) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, count), count);
    assert_int_equal(fchmod(fd, mode), 0);
}

static mode_t mode_of(const char *path)
{
    struct stat st;

    assert_int_equal(lstat(path, &st), 0);
    return st.st_mode & 07777;
}

static void a_key_is_made_once_and_stays(void **state)
{
    uint8_t first[NACRE_KEY_BYTES], again[NACRE_KEY_BYTES], other[NACRE_KEY_BYTES];
    static const uint8_t zeros[NACRE_KEY_BYTES];
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_key_load("made/below/keys", "a.key", first, &err), NACRE_OK);
    assert_int_equal(nacre_key_load("made/below/keys/", "a.key", again, &err), NACRE_OK);
    assert_int_equal(nacre_key_load("made/below/keys", "b.key", other, &err), NACRE_OK);
    assert_memory_equal(first, again, sizeof(first));
    assert_memory_not_equal(first, other, sizeof(first));
    assert_memory_not_equal(first, zeros, sizeof(first));
    assert_int_equal(mode_of("made"), 0700);
    assert_int_equal(mode_of("made/below/keys"), 0700);
    assert_int_equal(mode_of("made/below/keys/a.key"), 0600);
    assert_int_equal(system("test \"$(ls -A made/below/keys | wc -l)\" = 2"), 0);
}

static void a_key_that_is_there_is_the_one_that_is_read(void **state)
{
    static const uint8_t bytes[NACRE_KEY_BYTES] = "0123456789abcdef0123456789abcdef";
    uint8_t key[NACRE_KEY_BYTES];
    struct nacre_error err;

    (void)state;
    assert_int_equal(mkdir("there", 0700), 0);
    write_file("there/k", bytes, sizeof(bytes), 0400);
    assert_int_equal(nacre_key_load("there", "k", key, &err), NACRE_OK);
    assert_memory_equal(key, bytes, sizeof(bytes));
}

/* Each prepares the directory `d` with the file `d/k`, one thing of it wrong. */
static const struct {
    const char *prepare, *says;
} refused[] = {
    { "mkdir -m 755 d", "d is open to other users (mode 0755)" },
    { "mkdir -m 710 d", "d is open to other users (mode 0710)" },
    { "mkdir -m 702 d", "chmod 700" },
    { "mkdir -m 700 real && ln -s real d", "d must be a directory" },
    { "touch d", "d must be a directory" },
    { "ln -s nowhere d", "d must be a directory" },
    { "mkdir -m 700 d && head -c 32 /dev/zero >d/k && chmod 640 d/k", "mode 0640" },
    { "mkdir -m 700 d && head -c 32 /dev/zero >d/k && chmod 604 d/k", "chmod 600" },
    { "mkdir -m 700 d && head -c 31 /dev/zero >d/k && chmod 600 d/k", "32 bytes" },
    { "mkdir -m 700 d && head -c 33 /dev/zero >d/k && chmod 600 d/k", "32 bytes" },
    { "mkdir -m 700 d && touch d/k && chmod 600 d/k", "32 bytes" },
    { "mkdir -m 700 d && mkdir -m 700 d/k", "is not a plain file" },
    { "mkdir -m 700 d && mkfifo -m 600 d/k", "is not a plain file" },
    { "mkdir -m 700 d && head -c 32 /dev/zero >e && chmod 600 e && ln -s ../e d/k",
      "is a link" },
    { "mkdir -m 700 d && ln -s ../nowhere d/k", "is a link" },
};

#define STATE "(stat -c '%a %s' d d/k; ls -A d) 2>/dev/null >"

static void what_others_may_have_touched_is_refused_and_left_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(refused); i++) {
        uint8_t key[NACRE_KEY_BYTES] = "canary";
        struct nacre_error err;
        enum nacre_status status;

        assert_int_equal(system(refused[i].prepare), 0);
        assert_int_equal(system(STATE "before || true"), 0);
        status = nacre_key_load("d", "k", key, &err);
        assert_int_equal(status, NACRE_ERR_USAGE);
        assert_int_equal(status, err.status);
        if (!strstr(err.text, refused[i].says))
            fail_msg("%s: \"%s\" does not say \"%s\"", refused[i].prepare, err.text,
                     refused[i].says);
        assert_string_equal((const char *)key, "canary");
        assert_int_equal(system(STATE "after || true"), 0);
        assert_int_equal(system("cmp before after && test ! -e nowhere"), 0);
        assert_int_equal(system("rm -rf d e real before after"), 0);
    }
}

static void a_directory_of_another_user_is_refused(void **state)
{
    uint8_t key[NACRE_KEY_BYTES];
    struct nacre_error err;

    (void)state;
    if (geteuid() != 0) {
        /* "/" is root's: the same judgement without the right to chown. */
        assert_int_equal(nacre_key_load("/", "nacre.key", key, &err), NACRE_ERR_USAGE);
        return;
    }
    assert_int_equal(mkdir("theirs", 0700), 0);
    assert_int_equal(chown("theirs", 65534, 65534), 0);
    assert_int_equal(nacre_key_load("theirs", "k", key, &err), NACRE_ERR_USAGE);
    assert_non_null(strstr(err.text, "belongs to user 65534"));
    assert_int_equal(access("theirs/k", F_OK), -1);

    assert_int_equal(chown("theirs", 0, 0), 0);
    assert_int_equal(nacre_key_load("theirs", "k", key, &err), NACRE_OK);
    assert_int_equal(chown("theirs/k", 65534, 65534), 0);
    assert_int_equal(nacre_key_load("theirs", "k", key, &err), NACRE_ERR_USAGE);
}

static void a_name_that_is_no_directory_is_refused(void **state)
{
    char long_path[5000];
    struct nacre_error err;
    int fd = -7;

    (void)state;
    memset(long_path, 'a', sizeof(long_path) - 1);
    long_path[sizeof(long_path) - 1] = '\0';
    assert_int_equal(nacre_private_dir_open("", &fd, &err), NACRE_ERR_USAGE);
    assert_int_equal(nacre_private_dir_open(long_path, &fd, &err), NACRE_ERR_USAGE);
    assert_int_equal(nacre_private_dir_open("/proc/self/none", &fd, &err), NACRE_ERR_IO);
    assert_int_equal(mkdir("linked", 0700), 0);
    assert_int_equal(symlink("linked", "link"), 0);
    assert_int_equal(nacre_private_dir_open("link//", &fd, &err), NACRE_ERR_USAGE);
    assert_int_equal(fd, -7);
    assert_int_equal(nacre_private_dir_open("linked//", &fd, &err), NACRE_OK);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    (void)close(fd);
}

#define PROCESSES 8

static void processes_that_make_it_at_once_get_one_key(void **state)
{
    uint8_t key[NACRE_KEY_BYTES];
    int start[2], results[2];
    struct nacre_error err;

    (void)state;
    assert_int_equal(pipe(start), 0);
    assert_int_equal(pipe(results), 0);
    for (int i = 0; i < PROCESSES; i++) {
        pid_t child = fork();

        assert_true(child >= 0);
        if (child == 0) {
            char byte;

            (void)close(start[1]);
            (void)!read(start[0], &byte, 1); /* EOF starts all of them */
            if (nacre_key_load("race/keys", "k", key, &err) != NACRE_OK)
                memset(key, 0, sizeof(key));
            _exit(write(results[1], key, sizeof(key)) != sizeof(key));
        }
    }
    (void)close(start[0]);
    (void)close(start[1]);
    for (int i = 0; i < PROCESSES; i++)
        assert_true(wait(NULL) > 0);
    assert_int_equal(nacre_key_load("race/keys", "k", key, &err), NACRE_OK);
    for (int i = 0; i < PROCESSES; i++) {
        uint8_t got[NACRE_KEY_BYTES];

        assert_int_equal(read(results[0], got, sizeof(got)), sizeof(got));
        assert_memory_equal(got, key, sizeof(got));
    }
    (void)close(results[0]);
    (void)close(results[1]);
    assert_int_equal(system("test \"$(ls -A race/keys)\" = k"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_made_once_and_stays),
        cmocka_unit_test(a_key_that_is_there_is_the_one_that_is_read),
        cmocka_unit_test(what_others_may_have_touched_is_refused_and_left_alone),
        cmocka_unit_test(a_directory_of_another_user_is_refused),
        cmocka_unit_test(a_name_that_is_no_directory_is_refused),
        cmocka_unit_test(processes_that_make_it_at_once_get_one_key),
    };

    return cmocka_run_group_tests(tests, enter, leave);
}
