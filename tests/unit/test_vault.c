#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <linux/keyctl.h>
#include <sys/syscall.h>

#include "fail_alloc.h"
#include "in_child.h"
#include "nacre/buf.h"
#include "nacre/secrets.h"
#include "scene.h"

#define NO_KEYRING 66
#define VALUE "s3cr3t-value-of-alpha"

/* Power is never cut here, and thousands of writes are made. */
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    return fd < 0 ? -1 : 0;
}

static struct nacre_error err;
static const char *const any[] = { "any", NULL };
static const char *const example[] = { "api.example.com", NULL };

static struct nacre_vault *opened(void)
{
    struct nacre_vault *vault = NULL;

    if (nacre_vault_open("state", "keys", &vault, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    return vault;
}

static void set(const char *name, const char *value)
{
    NACRE_AUTO(nacre_vault_guard) struct nacre_vault *vault = opened();

    if (nacre_vault_set(vault, name, value, strlen(value), &err) != NACRE_OK ||
        nacre_vault_grant(vault, name, example, any, false, &err) != NACRE_OK)
        fail_msg("%s", err.text);
}

static const struct nacre_secret_asker asker = { .policy = "p", .tool = "t", .agent = "a",
                                                 .session = "s", .run_id = "run-1" };

static struct nacre_secret_set *collected(const char *name)
{
    NACRE_AUTO(nacre_vault_guard) struct nacre_vault *vault = opened();
    struct nacre_secret_set *got = NULL;

    if (nacre_secrets_collect(vault, &asker, (const char *[]){ name, NULL }, NULL, 0,
                              &got, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    return got;
}

static bool holds(const char *name, const char *value)
{
    NACRE_AUTO(nacre_secret_set_guard) struct nacre_secret_set *got = collected(name);

    return got->count == 1 && got->items[0].count == strlen(value) &&
           memcmp(got->items[0].value, value, strlen(value)) == 0;
}

/* Is it refused whole, whatever one tries? */
static bool is_refused(enum nacre_status status)
{
    struct nacre_vault *vault = NULL;

    return nacre_vault_open("state", "keys", &vault, &err) == status && !vault;
}

static void slurp(const char *path, struct nacre_buf *ret_buf)
{
    NACRE_AUTO(nacre_fd_guard) int fd = open(path, O_RDONLY | O_CLOEXEC);

    *ret_buf = (struct nacre_buf)NACRE_BUF(1 << 20);
    assert_true(fd >= 0);
    assert_int_equal(nacre_buf_read(ret_buf, fd, &err), NACRE_OK);
}

static void spill(const char *path, const char *bytes, size_t count)
{
    NACRE_AUTO(nacre_fd_guard) int fd =
        open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, count), count);
}

/* ---- what it is for ---- */

static void a_vault_that_is_not_there_is_empty_and_stays_so(void **state)
{
    NACRE_AUTO(nacre_vault_guard) struct nacre_vault *vault = opened();

    (void)state;
    assert_int_equal(nacre_vault_remove(vault, "alpha", &err), NACRE_ERR_NOT_FOUND);
    assert_int_equal(nacre_vault_rotate(vault, &err), NACRE_ERR_NOT_FOUND);
    assert_false(scene_has("state/vault"));
    assert_int_equal(system("test -z \"$(ls keys)\""), 0);
}

static void a_value_comes_back_as_it_was_set(void **state)
{
    (void)state;
    set("alpha", VALUE);
    set("beta", "other");
    assert_true(holds("alpha", VALUE));
    assert_true(holds("beta", "other"));
    set("alpha", "new-value");
    assert_true(holds("alpha", "new-value"));
    assert_true(holds("beta", "other"));
}

static void no_file_holds_a_value_or_a_name_of_its_variable(void **state)
{
    (void)state;
    set("alpha", VALUE);
    assert_true(holds("alpha", VALUE));
    assert_int_not_equal(system("grep -raq s3cr3t-value ."), 0);
    scene_shell("test $(stat -c %a state/vault) = 600");
    scene_shell("test \"$(stat -c %a keys/vault-*.key)\" = 600");
}

static void see(void *data, const struct nacre_secret_info *info)
{
    char *text = data;
    size_t used = strlen(text);

    (void)snprintf(text + used, 256 - used, "%s %d %s %s;", info->name,
                   (int)info->version, info->hosts[0] ? info->hosts[0] : "-",
                   info->grants[0] ? info->grants[0] : "-");
}

static void a_list_tells_names_versions_hosts_and_grants_in_order(void **state)
{
    NACRE_AUTO(nacre_vault_guard) struct nacre_vault *vault = opened();
    char text[256] = "";

    (void)state;
    assert_int_equal(nacre_vault_set(vault, "zeta", "1", 1, &err), NACRE_OK);
    assert_int_equal(nacre_vault_set(vault, "beta", "1", 1, &err), NACRE_OK);
    assert_int_equal(nacre_vault_set(vault, "beta", "2", 1, &err), NACRE_OK);
    assert_int_equal(nacre_vault_grant(vault, "beta", example, any, false, &err),
                     NACRE_OK);
    assert_int_equal(nacre_vault_list(vault, see, text, &err), NACRE_OK);
    assert_string_equal(text, "beta 3 api.example.com any;zeta 1 - -;");
}

static void a_value_comes_with_its_hosts_and_grants_in_one_write(void **state)
{
    static const char *const bad[] = { "any", "everybody", NULL };
    static const char *const more[] = { "policy:p", NULL };
    NACRE_AUTO(nacre_vault_guard) struct nacre_vault *vault = opened();
    char text[256] = "";

    (void)state;
    assert_int_equal(nacre_vault_put(vault, "beta", "1", 1, example, bad, &err),
                     NACRE_ERR_USAGE);
    assert_int_equal(nacre_vault_put(vault, "beta", "1", 1, bad + 2, bad + 1, &err),
                     NACRE_ERR_USAGE);
    assert_false(scene_has("state/vault"));
    assert_int_equal(nacre_vault_put(vault, "beta", "1", 1, example, any, &err),
                     NACRE_OK);
    assert_int_equal(nacre_vault_put(vault, "beta", "2", 1, NULL, more, &err), NACRE_OK);
    assert_int_equal(nacre_vault_list(vault, see, text, &err), NACRE_OK);
    assert_string_equal(text, "beta 2 api.example.com any;");
}

static void words_that_are_no_names_values_or_grants_are_refused(void **state)
{
    static const char *const names[] = { "", "-a", ".", "..", ".a", "a b", "a/b", "a\n",
                                         "a=b", "\xc3\xa4",
                                         " "
                                         "a1234567890123456789012345678901"
                                         "2345678901234567890123456789012345" };
    static const char *const grants[] = { "", "policy", "policy:", "session:x", "ANY",
                                          "any ", "agent:a\nb", "tool:\xff" };
    NACRE_AUTO(nacre_vault_guard) struct nacre_vault *vault = opened();
    char big[NACRE_SECRET_BYTES_MAX + 1] = "";

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(names); i++)
        assert_int_equal(nacre_vault_set(vault, names[i], "value", 5, &err),
                         NACRE_ERR_USAGE);
    assert_int_equal(nacre_vault_set(vault, "a", "", 0, &err), NACRE_ERR_USAGE);
    assert_int_equal(nacre_vault_set(vault, "a", big, sizeof(big), &err),
                     NACRE_ERR_TOO_BIG);
    assert_false(scene_has("state/vault"));
    assert_int_equal(nacre_vault_set(vault, "a", big, sizeof(big) - 1, &err), NACRE_OK);
    for (size_t i = 0; i < NACRE_COUNT(grants); i++)
        assert_int_equal(nacre_vault_grant(vault, "a", NULL,
                                           (const char *[]){ grants[i], NULL }, false,
                                           &err), NACRE_ERR_USAGE);
}

static void grants_add_up_or_replace(void **state)
{
    static const char *const first[] = { "policy:p", "tool:t", NULL };
    static const char *const second[] = { "agent:a", "tool:t", NULL };
    static const char *const none[] = { NULL };
    NACRE_AUTO(nacre_vault_guard) struct nacre_vault *vault = opened();
    struct nacre_secret_set *got = NULL;
    const char *const names[] = { "alpha", NULL };

    (void)state;
    assert_int_equal(nacre_vault_set(vault, "alpha", VALUE, 5, &err), NACRE_OK);
    assert_int_equal(nacre_secrets_collect(vault, &asker, names, NULL, 0, &got, &err),
                     NACRE_ERR_DENIED);
    assert_int_equal(nacre_vault_grant(vault, "alpha", example, first, false, &err),
                     NACRE_OK);
    assert_int_equal(nacre_vault_grant(vault, "alpha", NULL, second, false, &err),
                     NACRE_OK);
    assert_int_equal(nacre_secrets_collect(vault, &asker, names, NULL, 0, &got, &err),
                     NACRE_OK);
    assert_string_equal(got->items[0].hosts[0], "api.example.com");
    nacre_secret_set_free(got);
    assert_int_equal(nacre_vault_grant(vault, "alpha", none, none, true, &err), NACRE_OK);
    assert_int_equal(nacre_secrets_collect(vault, &asker, names, NULL, 0, &got, &err),
                     NACRE_ERR_DENIED);
}

static void a_grant_means_exactly_whom_it_names(void **state)
{
    static const struct {
        const char *grant;
        struct nacre_secret_asker asker;
        bool granted;
    } rows[] = {
        { "policy:p", { .policy = "p" }, true },
        { "policy:p", { .policy = "p2" }, false },
        { "policy:p", { .policy = "P" }, false },
        { "policy:p", { .tool = "p" }, false },
        { "policy:p", { .agent = "p", .session = "p" }, false },
        { "policy:p", { .policy = NULL }, false },
        { "agent:a", { .agent = "a" }, true },
        { "agent:a", { .agent = "ab" }, false },
        { "tool:t", { .tool = "t" }, true },
        { "tool:t", { .tool = "" }, false },
        { "any", { .tool = NULL }, true },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        NACRE_AUTO(nacre_vault_guard) struct nacre_vault *vault = opened();
        NACRE_AUTO(nacre_secret_set_guard) struct nacre_secret_set *got = NULL;
        const char *const grants[] = { rows[i].grant, NULL };

        assert_int_equal(nacre_vault_set(vault, "alpha", VALUE, 5, &err), NACRE_OK);
        assert_int_equal(nacre_vault_grant(vault, "alpha", NULL, grants, true, &err),
                         NACRE_OK);
        assert_int_equal(nacre_secrets_collect(vault, &rows[i].asker,
                                               (const char *[]){ "alpha", NULL }, NULL, 0,
                                               &got, &err),
                         rows[i].granted ? NACRE_OK : NACRE_ERR_DENIED);
    }
}

/* ---- what is refused ---- */

static void every_flipped_bit_is_refused(void **state)
{
    struct nacre_buf buf;

    (void)state;
    set("alpha", VALUE);
    set("beta", "b");
    slurp("state/vault", &buf);
    for (size_t i = 0; i < 8 * buf.size; i++) {
        buf.bytes[i / 8] ^= (char)(1 << i % 8);
        spill("state/vault", buf.bytes, buf.size);
        if (!is_refused(NACRE_ERR_PARSE))
            fail_msg("bit %zu", i);
        buf.bytes[i / 8] ^= (char)(1 << i % 8);
    }
    spill("state/vault", buf.bytes, buf.size);
    assert_true(holds("alpha", VALUE));
    nacre_buf_clear(&buf);
}

static void every_cut_is_refused_and_so_is_more(void **state)
{
    struct nacre_buf buf;

    (void)state;
    set("alpha", VALUE);
    slurp("state/vault", &buf);
    for (size_t i = 0; i < buf.size; i++) {
        spill("state/vault", buf.bytes, i);
        if (!is_refused(NACRE_ERR_PARSE))
            fail_msg("cut at %zu", i);
    }
    spill("state/vault", buf.bytes, buf.size + 1); /* its terminator */
    assert_true(is_refused(NACRE_ERR_PARSE));
    spill("state/vault", buf.bytes, buf.size);
    assert_true(holds("alpha", VALUE));
    nacre_buf_clear(&buf);
}

static void an_older_vault_is_refused_until_it_is_accepted(void **state)
{
    (void)state;
    set("alpha", VALUE);
    scene_shell("cp -p state/vault old");
    set("alpha", "revoked the old one");
    scene_shell("cp -p old state/vault");
    assert_true(is_refused(NACRE_ERR_PARSE));
    assert_non_null(strstr(err.text, "rolled back"));
    assert_int_equal(nacre_vault_accept("state", "keys", &err), NACRE_OK);
    assert_true(holds("alpha", VALUE));
}

static void a_vault_that_is_gone_is_missed(void **state)
{
    (void)state;
    set("alpha", VALUE);
    scene_shell("mv state/vault away");
    assert_true(is_refused(NACRE_ERR_PARSE));
    scene_shell("mv away state/vault");
    assert_true(holds("alpha", VALUE));
    scene_shell("rm state/vault");
    assert_int_equal(nacre_vault_accept("state", "keys", &err), NACRE_OK);
    nacre_vault_free(opened());
}

static void a_record_that_is_gone_or_altered_is_missed(void **state)
{
    struct nacre_buf buf;

    (void)state;
    set("alpha", VALUE);
    scene_shell("mv keys/vault-*.newest newest");
    assert_true(is_refused(NACRE_ERR_PARSE));
    assert_int_equal(nacre_vault_accept("state", "keys", &err), NACRE_OK);
    assert_true(holds("alpha", VALUE));
    scene_shell("cp -p keys/vault-*.newest newest; ln -s \"$(ls keys/*.newest)\" there");
    slurp("newest", &buf);
    for (size_t i = 0; i < buf.size; i++) {
        buf.bytes[i] ^= 4;
        spill("there", buf.bytes, buf.size);
        if (!is_refused(NACRE_ERR_PARSE))
            fail_msg("byte %zu", i);
        buf.bytes[i] ^= 4;
    }
    spill("there", buf.bytes, buf.size - 1);
    assert_true(is_refused(NACRE_ERR_PARSE));
    spill("there", buf.bytes, buf.size);
    assert_true(holds("alpha", VALUE));
    nacre_buf_clear(&buf);
}

/* A directory in the way of the file that is made first: also root's write fails. */
static void a_write_that_fails_in_either_directory_changed_nothing(void **state)
{
    static const char *const ways[][2] = {
        { "mkdir \"keys/.$(cd keys && ls *.newest).new\"", "keys" },
        { "mkdir state/.vault.new", "state" },
    };
    NACRE_AUTO(nacre_vault_guard) struct nacre_vault *vault = NULL;

    (void)state;
    set("alpha", VALUE);
    vault = opened();
    for (size_t i = 0; i < NACRE_COUNT(ways); i++) {
        scene_shell(ways[i][0]);
        assert_int_equal(nacre_vault_set(vault, "alpha", "another", 7, &err),
                         NACRE_ERR_IO);
        assert_memory_equal(err.text, ways[i][1], strlen(ways[i][1]));
        /* Read while it is still in the way. */
        assert_true(holds("alpha", VALUE));
        scene_shell("rmdir keys/.*.new state/.*.new 2>/dev/null; "
                    "test -z \"$(ls -d keys/.*.new state/.*.new 2>/dev/null)\"");
        assert_true(holds("alpha", VALUE));
    }
    set("alpha", "another");
    assert_true(holds("alpha", "another"));
}

/* The same key, the same name: only the vault's id tells them apart. */
static void an_entry_of_another_vault_or_another_name_is_refused(void **state)
{
    (void)state;
    assert_int_equal(setenv("NACRE_VAULT_KEY", "00112233445566778899aabbccddeeff"
                                               "00112233445566778899aabbccddeeff", 1), 0);
    set("alpha", VALUE);
    scene_shell("cp -p state/vault first; cp -p keys/*.newest newest");
    scene_shell("rm state/vault keys/*.newest");
    set("alpha", "another value in here");
    /* Its entries, below the other's head. */
    scene_shell("n=$(stat -c %s first); test $n = $(stat -c %s state/vault);"
                "head -c 148 first >mixed; tail -c +149 state/vault >>mixed;"
                "test $(stat -c %s mixed) = $n; cp mixed state/vault");
    assert_true(is_refused(NACRE_ERR_PARSE));
    scene_shell("cp first state/vault");
    assert_true(is_refused(NACRE_ERR_PARSE)); /* the record is of the second */
    scene_shell("cp newest \"$(ls keys/*.newest)\"");
    assert_true(holds("alpha", VALUE));
    assert_int_equal(unsetenv("NACRE_VAULT_KEY"), 0);
}

static void another_key_is_told_from_damage(void **state)
{
    (void)state;
    set("alpha", VALUE);
    scene_shell("mv keys/vault-*.key key");
    assert_true(is_refused(NACRE_ERR_PARSE));
    assert_non_null(strstr(err.text, "another key"));
    assert_int_equal(system("ls keys/*.key >/dev/null 2>&1") == 0, false);
    assert_int_equal(setenv("NACRE_VAULT_KEY", "zz", 1), 0);
    assert_true(is_refused(NACRE_ERR_USAGE));
    assert_int_equal(unsetenv("NACRE_VAULT_KEY"), 0);
}

static void files_that_others_may_touch_are_refused(void **state)
{
    static const char *const commands[][2] = {
        { "chmod 640 state/vault", "chmod 600 state/vault" },
        { "chmod 602 state/vault", "chmod 600 state/vault" },
        { "chmod 750 state", "chmod 700 state" },
        { "chmod 701 keys", "chmod 700 keys" },
        { "chmod 644 keys/*.newest", "chmod 600 keys/*.newest" },
        { "chmod 644 keys/*.key", "chmod 600 keys/*.key" },
        { "mv state/vault real; ln -s ../real state/vault",
          "rm state/vault; mv real state/vault" },
        { "mv state/vault real; mkfifo -m 600 state/vault",
          "rm state/vault; mv real state/vault" },
        { "mv state real; ln -s real state", "rm state; mv real state" },
    };

    (void)state;
    set("alpha", VALUE);
    for (size_t i = 0; i < NACRE_COUNT(commands); i++) {
        scene_shell(commands[i][0]);
        if (!is_refused(NACRE_ERR_USAGE))
            fail_msg("%s: %s", commands[i][0], err.text);
        scene_shell(commands[i][1]);
        assert_true(holds("alpha", VALUE));
    }
}

/* ---- keys ---- */

static void rotation_seals_everything_anew_and_the_old_key_opens_nothing(void **state)
{
    NACRE_AUTO(nacre_vault_guard) struct nacre_vault *vault = NULL;

    (void)state;
    set("alpha", VALUE);
    set("beta", "b");
    scene_shell("cp -p state/vault old; cp -p \"$(ls keys/*.key)\" old.key");
    vault = opened();
    assert_int_equal(nacre_vault_rotate(vault, &err), NACRE_OK);
    assert_true(holds("alpha", VALUE));
    assert_true(holds("beta", "b"));
    assert_int_not_equal(system("cmp -s old.key \"$(ls keys/*.key)\""), 0);
    assert_int_not_equal(system("ls keys/*.next >/dev/null 2>&1"), 0);
    scene_shell("cp -p \"$(ls keys/*.key)\" new.key; cp old.key \"$(ls keys/*.key)\"");
    assert_true(is_refused(NACRE_ERR_PARSE));
    scene_shell("cp new.key \"$(ls keys/*.key)\"; cp old state/vault");
    assert_true(is_refused(NACRE_ERR_PARSE));
}

#define KEY_A "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define KEY_B "ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static void a_key_of_the_environment_is_never_made_and_rotates_to_the_next(void **state)
{
    NACRE_AUTO(nacre_vault_guard) struct nacre_vault *vault = NULL;

    (void)state;
    assert_int_equal(setenv("NACRE_VAULT_KEY", KEY_A, 1), 0);
    set("alpha", VALUE);
    assert_int_not_equal(system("ls keys/*.key >/dev/null 2>&1"), 0);
    vault = opened();
    assert_int_equal(nacre_vault_rotate(vault, &err), NACRE_ERR_USAGE);
    assert_int_equal(setenv("NACRE_VAULT_KEY_NEXT", KEY_B, 1), 0);
    assert_int_equal(nacre_vault_rotate(vault, &err), NACRE_OK);
    assert_true(holds("alpha", VALUE));
    assert_int_equal(unsetenv("NACRE_VAULT_KEY_NEXT"), 0);
    assert_true(is_refused(NACRE_ERR_PARSE));
    assert_int_equal(setenv("NACRE_VAULT_KEY", KEY_B, 1), 0);
    assert_true(holds("alpha", VALUE));
    assert_int_equal(unsetenv("NACRE_VAULT_KEY"), 0);
}

/* A session's keyring of its own, with the key in it; 0 when all holds. */
static int use_keyring(void *data)
{
    static const char hex[] = KEY_A "\n";
    struct nacre_vault *vault = NULL;

    (void)data;
    if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0)
        return NO_KEYRING;
    CHILD_CHECK(setenv("NACRE_VAULT_KEYRING", "nacre-test", 1) == 0);
    CHILD_CHECK(nacre_vault_open("state", "keys", &vault, &err) == NACRE_ERR_NOT_FOUND);
    if (syscall(SYS_add_key, "user", "nacre-test", hex, strlen(hex),
                KEY_SPEC_SESSION_KEYRING) < 0)
        return NO_KEYRING;
    CHILD_CHECK(nacre_vault_open("state", "keys", &vault, &err) == NACRE_OK);
    CHILD_CHECK(nacre_vault_set(vault, "alpha", VALUE, strlen(VALUE), &err) == NACRE_OK);
    CHILD_CHECK(nacre_vault_rotate(vault, &err) == NACRE_ERR_USAGE);
    CHILD_CHECK(syscall(SYS_add_key, "user", "nacre-test.next",
                        "0123456789abcdef0123456789abcdef", 32,
                        KEY_SPEC_SESSION_KEYRING) >= 0);
    CHILD_CHECK(nacre_vault_rotate(vault, &err) == NACRE_OK);
    nacre_vault_free(vault);
    CHILD_CHECK(syscall(SYS_add_key, "user", "nacre-test", "short", 5,
                        KEY_SPEC_SESSION_KEYRING) >= 0);
    CHILD_CHECK(nacre_vault_open("state", "keys", &vault, &err) == NACRE_ERR_USAGE);
    CHILD_CHECK(syscall(SYS_add_key, "user", "nacre-test",
                        "0123456789abcdef0123456789abcdef", 32,
                        KEY_SPEC_SESSION_KEYRING) >= 0);
    CHILD_CHECK(nacre_vault_open("state", "keys", &vault, &err) == NACRE_OK);
    nacre_vault_free(vault);
    return 0;
}

static void a_key_of_the_keyring_is_never_made_and_rotates_to_the_next(void **state)
{
    int status = in_child(use_keyring, NULL);

    (void)state;
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_KEYRING)
        skip();
    assert_exited(status, 0);
    assert_int_not_equal(system("ls keys/*.key >/dev/null 2>&1"), 0);
}

static void two_state_directories_share_a_directory_of_keys(void **state)
{
    NACRE_AUTO(nacre_vault_guard) struct nacre_vault *other = NULL;

    (void)state;
    set("alpha", VALUE);
    assert_int_equal(nacre_vault_open("other", "keys", &other, &err), NACRE_OK);
    assert_int_equal(nacre_vault_set(other, "alpha", "x", 1, &err), NACRE_OK);
    assert_int_equal(nacre_vault_rotate(other, &err), NACRE_OK);
    assert_true(holds("alpha", VALUE));
}

/* ---- several at once, and too little memory ---- */

static int write_many(void *data)
{
    const char *name = data;

    for (int i = 0; i < 10; i++) {
        NACRE_AUTO(nacre_vault_guard) struct nacre_vault *vault = NULL;
        char value[32];
        int count = snprintf(value, sizeof(value), "%s-%d", name, i);

        CHILD_CHECK(nacre_vault_open("state", "keys", &vault, &err) == NACRE_OK);
        CHILD_CHECK(nacre_vault_set(vault, name, value, (size_t)count, &err) == NACRE_OK);
        CHILD_CHECK(nacre_vault_grant(vault, name, NULL, any, false, &err) == NACRE_OK);
    }
    return 0;
}

static void concurrent_writers_lose_nothing(void **state)
{
    static char names[][4] = { "w0", "w1", "w2", "w3" };
    pid_t children[NACRE_COUNT(names)];
    char value[32];

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(names); i++) {
        fflush(NULL);
        children[i] = fork();
        if (children[i] == 0)
            _exit(write_many(names[i]));
    }
    for (size_t i = 0; i < NACRE_COUNT(names); i++) {
        int status = -1;

        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_exited(status, 0);
    }
    for (size_t i = 0; i < NACRE_COUNT(names); i++) {
        (void)snprintf(value, sizeof(value), "%s-9", names[i]);
        assert_true(holds(names[i], value));
    }
}

/* Every operation with every allocation refused: a status, and what was there is
 * there. */
static void a_failed_allocation_loses_nothing(void **state)
{
    static const char *const names[] = { "alpha", NULL };
    bool done = false;

    (void)state;
    set("alpha", VALUE);
    for (int i = 0; !done; i++) {
        NACRE_AUTO(nacre_vault_guard) struct nacre_vault *vault = NULL;
        NACRE_AUTO(nacre_secret_set_guard) struct nacre_secret_set *got = NULL;
        char token[NACRE_TOKEN_TEXT];
        enum nacre_status status;

        (void)unlink("state/tokens"); /* or each round would have more to allocate */
        fail_alloc_after(i);
        status = nacre_vault_open("state", "keys", &vault, &err);
        if (status == NACRE_OK)
            status = nacre_vault_set(vault, "beta", "b", 1, &err);
        if (status == NACRE_OK)
            status = nacre_vault_grant(vault, "beta", example, any, true, &err);
        if (status == NACRE_OK)
            status = nacre_token_issue(vault, "alpha", "agent:a", 60000, token, &err);
        if (status == NACRE_OK)
            status = nacre_secrets_collect(vault, &asker, names, names, 1000, &got, &err);
        if (status == NACRE_OK)
            status = nacre_vault_rotate(vault, &err);
        if (status == NACRE_OK)
            status = nacre_vault_remove(vault, "beta", &err);
        done = !fail_alloc_fired();
        fail_alloc_after(-1);
        if (status != NACRE_OK && status != NACRE_ERR_MEMORY &&
            status != NACRE_ERR_IO) /* realpath() */
            fail_msg("%d: %s", i, err.text);
        assert_true(!done || status == NACRE_OK);
        assert_true(holds("alpha", VALUE));
    }
}

static void values_are_absent_in_a_forked_child(void **state)
{
    struct nacre_secret_set *got;
    const unsigned char *value;
    int status;
    pid_t pid;

    (void)state;
    set("alpha", VALUE);
    got = collected("alpha");
    value = got->items[0].value;
    assert_memory_equal(value, VALUE, strlen(VALUE));
    fflush(NULL);
    pid = fork();
    if (pid == 0)
        _exit(value[0] == 0 ? 0 : 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_exited(status, 0);
    nacre_secret_set_free(got);
}

#define EACH(test) cmocka_unit_test_setup(test, scene_clear)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(a_vault_that_is_not_there_is_empty_and_stays_so),
        EACH(a_value_comes_back_as_it_was_set),
        EACH(no_file_holds_a_value_or_a_name_of_its_variable),
        EACH(a_list_tells_names_versions_hosts_and_grants_in_order),
        EACH(a_value_comes_with_its_hosts_and_grants_in_one_write),
        EACH(words_that_are_no_names_values_or_grants_are_refused),
        EACH(grants_add_up_or_replace),
        EACH(a_grant_means_exactly_whom_it_names),
        EACH(every_flipped_bit_is_refused),
        EACH(every_cut_is_refused_and_so_is_more),
        EACH(an_older_vault_is_refused_until_it_is_accepted),
        EACH(a_vault_that_is_gone_is_missed),
        EACH(a_record_that_is_gone_or_altered_is_missed),
        EACH(a_write_that_fails_in_either_directory_changed_nothing),
        EACH(an_entry_of_another_vault_or_another_name_is_refused),
        EACH(another_key_is_told_from_damage),
        EACH(files_that_others_may_touch_are_refused),
        EACH(rotation_seals_everything_anew_and_the_old_key_opens_nothing),
        EACH(a_key_of_the_environment_is_never_made_and_rotates_to_the_next),
        EACH(a_key_of_the_keyring_is_never_made_and_rotates_to_the_next),
        EACH(two_state_directories_share_a_directory_of_keys),
        EACH(concurrent_writers_lose_nothing),
        EACH(a_failed_allocation_loses_nothing),
        EACH(values_are_absent_in_a_forked_child),
    };

    return cmocka_run_group_tests(tests, scene_enter, scene_leave);
}
