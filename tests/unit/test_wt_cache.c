/* Compiled code on disk: only what we wrote ourselves, unchanged, comes back. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

#include "fail_alloc.h"
#include "wt_cache.h"

/* The test's own directory; every path below is relative to it. */
static char top[] = "/tmp/nacre-cache-XXXXXX";

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

/* Each test starts with nothing on disk. */
static int empty(void **state)
{
    (void)state;
    return system("rm -rf cache keys kept");
}

static struct wt_cache *open_cache(void)
{
    struct wt_cache *cache = NULL;
    struct nacre_error err;

    if (wt_cache_open("cache", "keys", &cache, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    return cache;
}

static struct nacre_digest key_of(const char *module)
{
    struct nacre_digest digest = nacre_hash(module, strlen(module));

    return wt_cache_key(&digest, "test");
}

/* What most entries are said to come from. */
static const struct wt_cache_origin origin = { .name = "m.wasm" };

static void put(struct wt_cache *cache, const char *module, const char *code,
                size_t count)
{
    struct nacre_digest key = key_of(module);
    struct nacre_error err;

    if (wt_cache_put(cache, &key, &origin, code, count, &err) != NACRE_OK)
        fail_msg("%s", err.text);
}

/* The entry's fd or -1; *refused as wt_cache_get() says. */
static int get(struct wt_cache *cache, const char *module, bool *refused)
{
    struct nacre_digest key = key_of(module);
    struct nacre_error err = { .status = NACRE_OK };
    size_t size = 12345;
    int fd = -1;
    enum nacre_status status = wt_cache_get(cache, &key, &fd, &size, refused, &err);
    struct stat st;

    assert_int_equal(status, err.status);
    if (status == NACRE_OK) {
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(st.st_size, size);
        assert_false(*refused);
        return fd;
    }
    assert_int_equal(status, NACRE_ERR_NOT_FOUND);
    assert_int_equal(fd, -1);
    assert_int_equal(size, 12345);
    return -1;
}

static void assert_holds(int fd, const char *code, size_t count)
{
    char bytes[256];

    assert_true(fd >= 0 && count < sizeof(bytes));
    assert_int_equal(pread(fd, bytes, sizeof(bytes), 0), count);
    assert_memory_equal(bytes, code, count);
}

static void path_of(const char *module, char ret_path[128])
{
    struct nacre_digest key = key_of(module);
    char hex[NACRE_HEX];

    (void)snprintf(ret_path, 128, "cache/%s.code", nacre_digest_hex(&key, hex));
}

static void write_file(const char *path, const void *bytes, size_t count)
{
    NACRE_AUTO(nacre_fd_guard) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, count), count);
}

static size_t read_file(const char *path, char *ret_bytes, size_t size)
{
    NACRE_AUTO(nacre_fd_guard) int fd = open(path, O_RDONLY);
    ssize_t got = read(fd, ret_bytes, size);

    assert_true(got > 0 && (size_t)got < size);
    return (size_t)got;
}

static void what_was_put_comes_back_sealed(void **state)
{
    NACRE_AUTO(wt_cache_guard) struct wt_cache *cache = open_cache();
    NACRE_AUTO(wt_cache_guard) struct wt_cache *later = NULL;
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    bool refused = true;
    char path[128];
    struct stat st;

    (void)state;
    assert_int_equal(get(cache, "m", &refused), -1);
    assert_false(refused);
    put(cache, "m", "native code", 11);
    later = open_cache();
    fd = get(later, "m", &refused);
    assert_holds(fd, "native code", 11);
    assert_int_equal(get(later, "other", &refused), -1);
    assert_false(refused);

    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    assert_int_equal(fcntl(fd, F_GET_SEALS),
                     F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
    assert_int_equal(pwrite(fd, "x", 1, 0), -1);
    assert_int_equal(ftruncate(fd, 0), -1);
    assert_ptr_equal(mmap(NULL, 11, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0),
                     MAP_FAILED);

    path_of("m", path);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(stat("cache", &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
}

static void code_can_be_replaced(void **state)
{
    NACRE_AUTO(wt_cache_guard) struct wt_cache *cache = open_cache();
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    bool refused;

    (void)state;
    put(cache, "m", "old", 3);
    put(cache, "m", "newer", 5);
    fd = get(cache, "m", &refused);
    assert_holds(fd, "newer", 5);
}

/* Write `bytes` as m's entry: it is refused, removed, and compiling again heals it. */
static void assert_refused(struct wt_cache *cache, const char *bytes, size_t count)
{
    bool refused = false;
    char path[128];
    int fd;

    path_of("m", path);
    write_file(path, bytes, count);
    assert_int_equal(get(cache, "m", &refused), -1);
    assert_true(refused);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(get(cache, "m", &refused), -1);
    assert_false(refused);
    put(cache, "m", "native code", 11);
    fd = get(cache, "m", &refused);
    assert_holds(fd, "native code", 11);
    (void)close(fd);
}

static void an_entry_with_any_bit_changed_is_refused_and_removed(void **state)
{
    NACRE_AUTO(wt_cache_guard) struct wt_cache *cache = open_cache();
    char path[128], bytes[512];
    size_t count;

    (void)state;
    path_of("m", path);
    put(cache, "m", "native code", 11);
    count = read_file(path, bytes, sizeof(bytes));
    for (size_t i = 0; i < count; i++)
        for (int bit = 0; bit < 8; bit++) {
            bytes[i] = (char)(bytes[i] ^ 1 << bit);
            assert_refused(cache, bytes, count);
            bytes[i] = (char)(bytes[i] ^ 1 << bit);
        }
}

static void an_entry_of_any_other_length_is_refused_and_removed(void **state)
{
    NACRE_AUTO(wt_cache_guard) struct wt_cache *cache = open_cache();
    char path[128], bytes[512] = { 0 };
    size_t count;

    (void)state;
    path_of("m", path);
    put(cache, "m", "native code", 11);
    count = read_file(path, bytes, sizeof(bytes));
    for (size_t cut = 0; cut < count; cut++)
        assert_refused(cache, bytes, cut);
    for (size_t cut = 1; cut < count; cut++)
        assert_refused(cache, bytes + cut, count - cut);
    assert_refused(cache, bytes, count + 1);
}

static void an_entry_under_another_name_is_refused(void **state)
{
    NACRE_AUTO(wt_cache_guard) struct wt_cache *cache = open_cache();
    char m[128], n[128];
    bool refused;

    (void)state;
    put(cache, "m", "code of m", 9);
    put(cache, "n", "code of n", 9);
    path_of("m", m);
    path_of("n", n);
    assert_int_equal(renameat2(AT_FDCWD, m, AT_FDCWD, n, RENAME_EXCHANGE), 0);
    assert_int_equal(get(cache, "m", &refused), -1);
    assert_true(refused);
    assert_int_equal(get(cache, "n", &refused), -1);
    assert_true(refused);
}

/* Even with the name in the trailer changed to fit, which flips of bits can't do. */
static void an_entry_relabelled_for_another_module_is_refused(void **state)
{
    NACRE_AUTO(wt_cache_guard) struct wt_cache *cache = open_cache();
    struct nacre_digest other = key_of("n");
    char m[128], n[128], bytes[512];
    bool refused;
    size_t count;

    (void)state;
    put(cache, "m", "code of m", 9);
    path_of("m", m);
    path_of("n", n);
    count = read_file(m, bytes, sizeof(bytes));
    memcpy(bytes + 9 + 8, other.bytes, sizeof(other.bytes));
    write_file(n, bytes, count);
    assert_int_equal(get(cache, "n", &refused), -1);
    assert_true(refused);
}

/* With a trailer that fits, it would be copied whole before its MAC is seen wrong. */
static void an_entry_of_giant_size_is_refused_before_it_is_copied(void **state)
{
    NACRE_AUTO(wt_cache_guard) struct wt_cache *cache = open_cache();
    struct nacre_digest key = key_of("m");
    uint64_t giant = WT_CACHE_ENTRY_BYTES_MAX + 1;
    struct nacre_error err;
    char path[128], bytes[512];
    bool refused;
    size_t count, size;
    int fd;

    (void)state;
    put(cache, "m", "c", 1);
    path_of("m", path);
    count = read_file(path, bytes, sizeof(bytes));
    memcpy(bytes + 1 + 40, &giant, sizeof(giant));
    assert_int_equal(truncate(path, (off_t)giant), 0);
    fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, bytes + 1, count - 1, (off_t)giant), count - 1);
    (void)close(fd);
    assert_int_equal(wt_cache_get(cache, &key, &fd, &size, &refused, &err),
                     NACRE_ERR_NOT_FOUND);
    assert_true(refused);
    assert_non_null(strstr(err.text, "has an impossible size"));
}

static void an_entry_of_another_key_is_refused(void **state)
{
    bool refused;

    (void)state;
    for (int i = 0; i < 2; i++) {
        NACRE_AUTO(wt_cache_guard) struct wt_cache *cache = open_cache();

        if (i == 0) {
            put(cache, "m", "theirs", 6);
            assert_int_equal(unlink("keys/cache.key"), 0);
        } else {
            assert_int_equal(get(cache, "m", &refused), -1);
            assert_true(refused);
        }
    }
}

static void what_is_not_a_plain_private_file_is_refused(void **state)
{
    static const char *const changes[] = {
        "mv %s kept && ln -s ../kept %s",
        "mv %s kept && ln -s nowhere %s",
        "rm %s && mkfifo -m 600 %s",
        "chmod 640 %s && : %s",
        "chmod 602 %s && : %s",
        "truncate -s 2T %s && : %s",
        ": >%s && : %s",
    };
    NACRE_AUTO(wt_cache_guard) struct wt_cache *cache = open_cache();
    char path[128];

    (void)state;
    path_of("m", path);
    for (size_t i = 0; i < NACRE_COUNT(changes); i++) {
        char command[512], *at = command;
        bool refused = false;
        int fd;

        put(cache, "m", "native code", 11);
        fd = get(cache, "m", &refused); /* the control: unchanged, it is taken */
        assert_holds(fd, "native code", 11);
        (void)close(fd);
        for (const char *from = changes[i]; *from; from++) {
            if (from[0] == '%' && from[1] == 's') {
                at = stpcpy(at, path);
                from++;
            } else {
                *at++ = *from;
            }
        }
        *at = '\0';
        assert_int_equal(system(command), 0);
        assert_int_equal(get(cache, "m", &refused), -1);
        assert_true(refused);
        assert_int_equal(faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW), -1);
        assert_int_equal(system("test ! -L kept && rm -f kept"), 0);
    }
}

static void a_directory_in_the_way_is_refused_and_told(void **state)
{
    NACRE_AUTO(wt_cache_guard) struct wt_cache *cache = open_cache();
    struct nacre_digest key = key_of("m");
    struct nacre_error err;
    bool refused;
    size_t size;
    char path[128];
    int fd;

    (void)state;
    path_of("m", path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(wt_cache_get(cache, &key, &fd, &size, &refused, &err),
                     NACRE_ERR_NOT_FOUND);
    assert_true(refused);
    assert_non_null(strstr(err.text, "could not be removed"));
    assert_int_equal(wt_cache_put(cache, &key, &origin, "x", 1, &err), NACRE_ERR_IO);
    assert_int_equal(system("test \"$(ls -A cache | wc -l)\" = 1"), 0);
}

static void directories_that_others_may_enter_are_refused(void **state)
{
    static const char *const changes[] = {
        "mkdir -m 755 cache", "mkdir -m 700 kept && ln -s kept cache", "touch cache",
        "mkdir -m 755 keys",
        "mkdir -m 700 keys && head -c 32 /dev/urandom >keys/cache.key",
        "mkdir -m 700 keys && touch keys/cache.key && chmod 600 keys/cache.key",
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(changes); i++) {
        struct wt_cache *cache = NULL;
        struct nacre_error err;

        assert_int_equal(system(changes[i]), 0);
        assert_int_equal(wt_cache_open("cache", "keys", &cache, &err), NACRE_ERR_USAGE);
        assert_int_equal(strncmp(err.text, "code cache: ", 12), 0);
        assert_null(cache);
        assert_int_equal(system("rm -rf cache keys kept"), 0);
    }
}

static void a_file_changed_after_get_changes_nothing(void **state)
{
    NACRE_AUTO(wt_cache_guard) struct wt_cache *cache = open_cache();
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    bool refused;
    char path[128], seen[16];
    const char *mapped;
    int file;

    (void)state;
    path_of("m", path);
    put(cache, "m", "native code", 11);
    fd = get(cache, "m", &refused);
    mapped = mmap(NULL, 11, PROT_READ, MAP_PRIVATE, fd, 0);
    assert_ptr_not_equal(mapped, MAP_FAILED);
    file = open(path, O_RDWR);
    assert_int_equal(pwrite(file, "EVIL", 4, 0), 4);
    assert_int_equal(pread(file, seen, 4, 0), 4); /* the control: the file did change */
    assert_memory_equal(seen, "EVIL", 4);
    assert_holds(fd, "native code", 11);
    assert_memory_equal(mapped, "native code", 11);
    assert_int_equal(ftruncate(file, 0), 0);
    assert_memory_equal(mapped, "native code", 11);
    (void)close(file);
    (void)munmap((void *)(uintptr_t)mapped, 11);
}

static void the_key_names_all_that_code_depends_on(void **state)
{
    struct nacre_digest a = nacre_hash("a", 1), b = nacre_hash("b", 1);
    struct nacre_digest key = wt_cache_key(&a, "one"), again = wt_cache_key(&a, "one");
    struct nacre_digest other = wt_cache_key(&b, "one"), config = wt_cache_key(&a, "two");

    (void)state;
    assert_true(nacre_digest_equal(&key, &again));
    assert_false(nacre_digest_equal(&key, &other));
    assert_false(nacre_digest_equal(&key, &config));
}

/* ---- how much there is ---- */

static void set_age(const char *module, time_t seconds)
{
    struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
                                 { .tv_sec = time(NULL) - seconds } };
    char path[128];

    path_of(module, path);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static bool is_there(const char *module)
{
    char path[128];

    path_of(module, path);
    return access(path, F_OK) == 0;
}

static void what_was_not_used_for_longest_goes_first(void **state)
{
    NACRE_AUTO(wt_cache_guard) struct wt_cache *cache = open_cache();
    static const char code[100] = { 'x' };
    struct nacre_cache_report report;
    struct nacre_error err;
    bool refused;

    (void)state;
    put(cache, "a", code, sizeof(code));
    assert_int_equal(wt_cache_report(cache, &report, &err), NACRE_OK);
    assert_int_equal(report.entries, 1);
    wt_cache_set_bytes_max(cache, 3 * report.bytes);
    put(cache, "b", code, sizeof(code));
    put(cache, "c", code, sizeof(code));
    assert_true(is_there("a") && is_there("b") && is_there("c"));
    set_age("a", 300);
    set_age("b", 200);
    set_age("c", 100);
    (void)close(get(cache, "a", &refused)); /* used: now the youngest */
    put(cache, "d", code, sizeof(code));
    assert_true(is_there("a") && !is_there("b") && is_there("c") && is_there("d"));
    put(cache, "e", code, sizeof(code));
    assert_true(is_there("a") && !is_there("c") && is_there("d") && is_there("e"));
}

#define LISTED_MAX 4

struct listed {
    struct nacre_cache_entry entries[LISTED_MAX];
    size_t count;
};

static void note_entry(void *data, const struct nacre_cache_entry *entry)
{
    struct listed *listed = data;

    assert_true(listed->count < LISTED_MAX);
    listed->entries[listed->count++] = *entry;
}

static void entries_are_listed_by_what_they_say_the_last_used_first(void **state)
{
    NACRE_AUTO(wt_cache_guard) struct wt_cache *cache = open_cache();
    struct wt_cache_origin long_name = { .module = nacre_hash("module b", 8) };
    struct nacre_digest key = key_of("b");
    struct listed listed = { .count = 0 };
    char name[2 * NACRE_CACHE_NAME];
    struct nacre_error err;

    (void)state;
    assert_int_equal(wt_cache_list(cache, note_entry, &listed, &err), NACRE_OK);
    assert_int_equal(listed.count, 0);

    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    long_name.name = name;
    put(cache, "a", "code", 4);
    assert_int_equal(wt_cache_put(cache, &key, &long_name, "longer", 6, &err), NACRE_OK);
    set_age("a", 100);
    write_file("cache/readme", "mine", 4);
    write_file("cache/.new-0123456789abcdef", "being written", 13);
    assert_int_equal(wt_cache_list(cache, note_entry, &listed, &err), NACRE_OK);
    assert_int_equal(listed.count, 2);
    assert_true(listed.entries[0].is_known && listed.entries[1].is_known);
    assert_int_equal(strlen(listed.entries[0].name), NACRE_CACHE_NAME - 1);
    assert_int_equal(strspn(listed.entries[0].name, "x"), NACRE_CACHE_NAME - 1);
    assert_true(nacre_digest_equal(&listed.entries[0].module, &long_name.module));
    assert_string_equal(listed.entries[1].name, "m.wasm");
    assert_int_equal(listed.entries[0].bytes, listed.entries[1].bytes + 2);
    assert_true(listed.entries[0].used_s > listed.entries[1].used_s);
}

/* A name without an end must not be read past its field, nor a FIFO wait for a writer. */
static void what_can_not_be_an_entry_is_listed_as_unknown(void **state)
{
    NACRE_AUTO(wt_cache_guard) struct wt_cache *cache = open_cache();
    char a[128], b[128], c[128], bytes[512];
    struct listed listed = { .count = 0 };
    struct nacre_error err;
    size_t count;

    (void)state;
    path_of("a", a);
    path_of("b", b);
    path_of("c", c);
    put(cache, "a", "code", 4);
    count = read_file(a, bytes, sizeof(bytes));
    memset(bytes + 4 + 80, 'y', NACRE_CACHE_NAME);
    write_file(a, bytes, count);
    write_file(b, bytes, count - 1);
    assert_int_equal(mkfifo(c, 0600), 0);
    set_age("b", 100);
    set_age("c", 200);
    assert_int_equal(wt_cache_list(cache, note_entry, &listed, &err), NACRE_OK);
    assert_int_equal(listed.count, 3);
    assert_true(listed.entries[0].is_known);
    assert_int_equal(strspn(listed.entries[0].name, "y"), NACRE_CACHE_NAME - 1);
    for (size_t i = 1; i < 3; i++) {
        assert_false(listed.entries[i].is_known);
        assert_string_equal(listed.entries[i].name, "");
    }
    assert_int_equal(listed.entries[1].bytes, count - 1);
}

static void code_that_can_never_fit_is_refused(void **state)
{
    NACRE_AUTO(wt_cache_guard) struct wt_cache *cache = open_cache();
    struct nacre_digest key = key_of("big");
    static const char code[1000];
    struct nacre_error err;

    (void)state;
    put(cache, "a", code, 10);
    wt_cache_set_bytes_max(cache, 1000);
    assert_int_equal(wt_cache_put(cache, &key, &origin, code, 1000, &err),
                     NACRE_ERR_TOO_BIG);
    assert_int_equal(wt_cache_put(cache, &key, &origin, code,
                                  WT_CACHE_ENTRY_BYTES_MAX + 1, &err),
                     NACRE_ERR_TOO_BIG);
    assert_true(is_there("a") && !is_there("big"));
    assert_int_equal(wt_cache_put(cache, &key, &origin, code, 800, &err), NACRE_OK);
}

static void clear_removes_entries_and_leaves_other_files(void **state)
{
    NACRE_AUTO(wt_cache_guard) struct wt_cache *cache = open_cache();
    struct nacre_cache_report before, cleared, after;
    struct nacre_error err;

    (void)state;
    put(cache, "a", "code", 4);
    put(cache, "b", "code", 4);
    write_file("cache/readme", "mine", 4);
    write_file("cache/.new-0123456789abcdef", "being written", 13);
    write_file("cache/.new-old", "left behind", 11);
    assert_int_equal(system("touch -d '2 hours ago' cache/.new-old"), 0);
    assert_int_equal(wt_cache_report(cache, &before, &err), NACRE_OK);
    assert_int_equal(before.entries, 2);
    assert_int_equal(wt_cache_clear(cache, &cleared, &err), NACRE_OK);
    assert_int_equal(cleared.entries, 2);
    assert_int_equal(cleared.bytes, before.bytes);
    assert_int_equal(wt_cache_report(cache, &after, &err), NACRE_OK);
    assert_int_equal(after.entries, 0);
    assert_int_equal(after.bytes, 0);
    assert_int_equal(access("cache/readme", F_OK), 0);
    assert_int_equal(access("cache/.new-0123456789abcdef", F_OK), 0);
    assert_int_equal(access("cache/.new-old", F_OK), -1);
}

static void a_write_that_fails_leaves_nothing(void **state)
{
    int status;
    pid_t child;

    (void)state;
    {
        NACRE_AUTO(wt_cache_guard) struct wt_cache *cache = open_cache();

        put(cache, "control", "code", 4);
    }
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        static const char code[4096];
        struct nacre_digest key = key_of("m");
        struct wt_cache *cache = open_cache();
        struct nacre_error err;

        /* The file can't grow past 1000 bytes: a full disk, as seen by write(). */
        (void)signal(SIGXFSZ, SIG_IGN);
        (void)setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 1000, 1000 });
        _exit(wt_cache_put(cache, &key, &origin, code, sizeof(code), &err) ==
                          NACRE_ERR_IO &&
                      err.sys_errno == EFBIG
                  ? 0
                  : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_false(is_there("m"));
    assert_int_equal(system("test \"$(ls -A cache | wc -l)\" = 1"), 0);
}

#define PROCESSES 4
#define ROUNDS 50

static bool work(struct wt_cache *cache, char mine)
{
    struct nacre_digest key = key_of("shared");
    char code[200], seen[201];

    memset(code, mine, sizeof(code));
    for (int i = 0; i < ROUNDS; i++) {
        struct nacre_error err;
        bool refused;
        size_t size;
        int fd;

        if (wt_cache_put(cache, &key, &origin, code, sizeof(code), &err) != NACRE_OK ||
            wt_cache_get(cache, &key, &fd, &size, &refused, &err) != NACRE_OK)
            return false;
        if (size != sizeof(code) || pread(fd, seen, sizeof(seen), 0) != sizeof(code))
            return false;
        for (size_t k = 1; k < sizeof(code); k++)
            if (seen[k] != seen[0])
                return false;
        (void)close(fd);
    }
    return true;
}

static void processes_at_once_see_only_whole_entries(void **state)
{
    struct nacre_cache_report report;
    struct nacre_error err;
    pid_t children[PROCESSES];

    (void)state;
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0)
            _exit(!work(open_cache(), (char)('a' + i)));
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;

        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    {
        NACRE_AUTO(wt_cache_guard) struct wt_cache *cache = open_cache();

        assert_int_equal(wt_cache_report(cache, &report, &err), NACRE_OK);
    }
    assert_int_equal(report.entries, 1);
    assert_int_equal(system("test \"$(ls -A cache | wc -l)\" = 1"), 0);
}

static void an_allocation_that_fails_is_told(void **state)
{
    struct nacre_digest key = key_of("m");
    bool fired = true;

    (void)state;
    for (int n = 0; fired; n++) {
        NACRE_AUTO(wt_cache_guard) struct wt_cache *cache = NULL;
        enum nacre_status status;
        struct nacre_error err;

        assert_true(n < 20);
        fail_alloc_after(n);
        status = wt_cache_open("cache", "keys", &cache, &err);
        if (status == NACRE_OK)
            status = wt_cache_put(cache, &key, &origin, "code", 4, &err);
        if (status == NACRE_OK)
            status = wt_cache_put(cache, &key, &origin, "code", 4, &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(status, fired ? NACRE_ERR_MEMORY : NACRE_OK);
    }
}

#define CACHE_TEST(f) cmocka_unit_test_setup(f, empty)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CACHE_TEST(what_was_put_comes_back_sealed),
        CACHE_TEST(code_can_be_replaced),
        CACHE_TEST(an_entry_with_any_bit_changed_is_refused_and_removed),
        CACHE_TEST(an_entry_of_any_other_length_is_refused_and_removed),
        CACHE_TEST(an_entry_under_another_name_is_refused),
        CACHE_TEST(an_entry_relabelled_for_another_module_is_refused),
        CACHE_TEST(an_entry_of_giant_size_is_refused_before_it_is_copied),
        CACHE_TEST(an_entry_of_another_key_is_refused),
        CACHE_TEST(what_is_not_a_plain_private_file_is_refused),
        CACHE_TEST(a_directory_in_the_way_is_refused_and_told),
        CACHE_TEST(directories_that_others_may_enter_are_refused),
        CACHE_TEST(a_file_changed_after_get_changes_nothing),
        CACHE_TEST(the_key_names_all_that_code_depends_on),
        CACHE_TEST(what_was_not_used_for_longest_goes_first),
        CACHE_TEST(entries_are_listed_by_what_they_say_the_last_used_first),
        CACHE_TEST(what_can_not_be_an_entry_is_listed_as_unknown),
        CACHE_TEST(code_that_can_never_fit_is_refused),
        CACHE_TEST(clear_removes_entries_and_leaves_other_files),
        CACHE_TEST(a_write_that_fails_leaves_nothing),
        CACHE_TEST(processes_at_once_see_only_whole_entries),
        CACHE_TEST(an_allocation_that_fails_is_told),
    };

    return cmocka_run_group_tests(tests, enter, leave);
}
