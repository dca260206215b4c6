#include "wt_source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "nacre/clock.h"
#include "nacre/text.h"
#include "wt_engine.h"
#include "wt_module.h"
#include "wt_slow.h"

#define HELD_MAX 32
#define PROGRESS_NS NACRE_NS_PER_S
#define BEFORE_MS 200 /* that a run may have lost before it came to compiling */

struct held {
    struct nacre_digest key;
    int fd;
    uint64_t used;
};

struct wt_source {
    const struct nacre_executor_options *options;
    const _Atomic int *cancelled;
    struct wt_cache *cache;
    pthread_mutex_t lock;
    struct held held[HELD_MAX];
    uint32_t held_count;
    uint64_t uses;
};

enum nacre_status wt_source_open(const struct nacre_executor_options *options,
                                 const _Atomic int *cancelled,
                                 struct wt_source **ret_source, struct nacre_error *err)
{
    struct wt_source *source = calloc(1, sizeof(*source));

    if (!source)
        return nacre_fail(err, NACRE_ERR_MEMORY, "code");
    source->options = options;
    source->cancelled = cancelled;
    (void)pthread_mutex_init(&source->lock, NULL);
    *ret_source = source;
    return NACRE_OK;
}

void wt_source_free(struct wt_source *source)
{
    if (!source)
        return;
    for (uint32_t i = 0; i < source->held_count; i++)
        (void)close(source->held[i].fd);
    wt_cache_free(source->cache);
    (void)pthread_mutex_destroy(&source->lock);
    free(source);
}

enum nacre_status wt_source_cache(struct wt_source *source, struct wt_cache **ret_cache,
                                  struct nacre_error *err)
{
    const struct nacre_executor_options *options = source->options;
    enum nacre_status status = NACRE_OK;

    (void)pthread_mutex_lock(&source->lock);
    if (!source->cache && options->cache_dir)
        status = wt_cache_open(options->cache_dir, options->key_dir, &source->cache, err);
    (void)pthread_mutex_unlock(&source->lock);
    if (status == NACRE_OK)
        *ret_cache = source->cache;
    return status;
}

/* -1 when this process does not hold it. */
static int held_get(struct wt_source *source, const struct nacre_digest *key)
{
    int fd = -1;

    (void)pthread_mutex_lock(&source->lock);
    for (uint32_t i = 0; i < source->held_count && fd < 0; i++) {
        if (!nacre_digest_equal(&source->held[i].key, key))
            continue;
        source->held[i].used = ++source->uses;
        fd = fcntl(source->held[i].fd, F_DUPFD_CLOEXEC, 0);
    }
    (void)pthread_mutex_unlock(&source->lock);
    return fd;
}

static void held_put(struct wt_source *source, const struct nacre_digest *key, int fd)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    uint32_t slot, oldest = 0;

    if (copy < 0)
        return; /* the next call goes to the cache */
    (void)pthread_mutex_lock(&source->lock);
    /* Two threads may have compiled the same module side by side. */
    for (slot = 0; slot < source->held_count; slot++) {
        if (nacre_digest_equal(&source->held[slot].key, key))
            break;
        if (source->held[slot].used < source->held[oldest].used)
            oldest = slot;
    }
    if (slot == HELD_MAX)
        slot = oldest;
    if (slot < source->held_count)
        (void)close(source->held[slot].fd);
    else
        source->held_count++;
    source->held[slot] = (struct held){ .key = *key, .fd = copy, .used = ++source->uses };
    (void)pthread_mutex_unlock(&source->lock);
}

/* A memfd with the module in its binary form. */
static enum nacre_status binary_fd(const struct nacre_tool *tool, int *ret_fd,
                                   struct nacre_error *err)
{
    NACRE_AUTO(nacre_heap_guard) unsigned char *owned = NULL;
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    const unsigned char *bytes;
    size_t count;
    enum nacre_status status = wt_module_binary(tool, &bytes, &count, &owned, err);

    if (status != NACRE_OK)
        return status;
    if (!owned) {
        fd = fcntl(tool->bytes_fd, F_DUPFD_CLOEXEC, 0);
        if (fd < 0)
            return nacre_fail(err, NACRE_ERR_IO, "dup");
    } else {
        fd = memfd_create("nacre-module", MFD_CLOEXEC);
        if (fd < 0 || write(fd, bytes, count) != (ssize_t)count)
            return nacre_fail(err, NACRE_ERR_IO, "memfd");
    }
    *ret_fd = nacre_fd_take(&fd);
    return NACRE_OK;
}

/* True when the child has ended, false at the deadline or when the run is cancelled. */
static bool wait_child(const struct wt_source *source, const struct nacre_tool *tool,
                       int pidfd, uint64_t deadline_ns)
{
    uint64_t start = nacre_clock_ns();
    char what[128];

    (void)snprintf(what, sizeof(what), "compiling %.60s (%zu KiB)", tool->name,
                   tool->count / 1024);
    for (;;) {
        uint64_t now = nacre_clock_ns();
        uint64_t left = deadline_ns > now ? deadline_ns - now : 0;
        uint64_t slice = left < PROGRESS_NS ? left : PROGRESS_NS;
        struct pollfd wait = { .fd = pidfd, .events = POLLIN };
        struct timespec timeout = { .tv_sec = (time_t)(slice / NACRE_NS_PER_S),
                                    .tv_nsec = (long)(slice % NACRE_NS_PER_S) };

        if (ppoll(&wait, 1, &timeout, NULL) > 0)
            return true;
        if (left == 0 || atomic_load(source->cancelled))
            return false;
        now = nacre_clock_ns();
        if (source->options->on_progress && now - start >= PROGRESS_NS)
            source->options->on_progress(source->options->on_progress_data, what,
                                         (now - start) / NACRE_NS_PER_MS);
    }
}

static enum nacre_status judge_child(const struct wt_note *note, int status,
                                     const struct nacre_tool *tool,
                                     struct nacre_error *err)
{
    char text[sizeof(note->text)];

    if (status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        /* The module may have taken its compiler over. */
        (void)nacre_text_show(text, sizeof(text), note->text,
                              strnlen(note->text, sizeof(note->text)));
        if (note->status == NACRE_OK && note->size > 0)
            return NACRE_OK;
        return nacre_fail(err,
                          note->status == NACRE_ERR_NOT_RUNNABLE ? NACRE_ERR_NOT_RUNNABLE
                                                                 : NACRE_ERR_BACKEND,
                          "%.60s: %.400s", tool->name, text);
    }
    /* The module made the compiler die: that is the module's fault, not ours. */
    return nacre_fail(err, NACRE_ERR_NOT_RUNNABLE,
                      "%.100s can't be compiled within nacre's limits: the compiler %s",
                      tool->name,
                      status >= 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT
                          ? "ran out of memory"
                          : "died");
}

static enum nacre_status seal(int fd, struct nacre_error *err)
{
    if (fcntl(fd, F_ADD_SEALS,
              F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "can't seal compiled code");
    return NACRE_OK;
}

static enum nacre_status compile(struct wt_source *source, struct wt_zygote *zygote,
                                 const struct nacre_tool *tool, uint64_t deadline_ns,
                                 int *ret_fd, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int module_fd = -1;
    NACRE_AUTO(nacre_fd_guard)
    int code_fd = memfd_create("nacre-code", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    NACRE_AUTO(nacre_fd_guard) int note_fd = memfd_create("nacre-note", MFD_CLOEXEC);
    struct wt_child child;
    struct wt_note *note;
    enum nacre_status status;
    int wait_status;
    bool ended;

    if (code_fd < 0 || note_fd < 0 || ftruncate(note_fd, sizeof(*note)) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "memfd");
    status = binary_fd(tool, &module_fd, err);
    if (status != NACRE_OK)
        return status;
    status = wt_zygote_fork(zygote, WT_REQUEST_COMPILE,
                            (int[]){ module_fd, code_fd, note_fd }, 3, &child, err);
    if (status != NACRE_OK)
        return status;
    ended = wait_child(source, tool, child.pidfd, deadline_ns);
    wait_status = wt_zygote_reap(zygote, &child);
    if (!ended)
        return nacre_fail(
            err, NACRE_ERR_TIMEOUT,
            "compiling %.100s took longer than the run may last; compile it once "
            "with 'nacre cache add %.150s'",
            tool->name, tool->path);
    note = mmap(NULL, sizeof(*note), PROT_READ, MAP_SHARED, note_fd, 0);
    if (note == MAP_FAILED)
        return nacre_fail(err, NACRE_ERR_IO, "mmap");
    status = judge_child(note, wait_status, tool, err);
    (void)munmap(note, sizeof(*note));
    if (status == NACRE_OK)
        status = seal(code_fd, err);
    if (status == NACRE_OK)
        *ret_fd = nacre_fd_take(&code_fd);
    return status;
}

/* What could not be kept costs time the next time, nothing else. */
static void keep(struct wt_source *source, const struct nacre_tool *tool,
                 const struct nacre_digest *key, int fd)
{
    struct wt_cache_origin origin = { tool->digest, tool->name };
    struct nacre_error err;
    struct stat info;
    void *bytes;

    held_put(source, key, fd);
    if (!source->cache || fstat(fd, &info) != 0)
        return;
    bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (bytes == MAP_FAILED)
        return;
    (void)!wt_cache_put(source->cache, key, &origin, bytes, (size_t)info.st_size,
                         &err);
    (void)munmap(bytes, (size_t)info.st_size);
}

static enum nacre_status compile_and_keep(
    struct wt_source *source, struct wt_zygote *zygote, const struct nacre_tool *tool,
    const struct nacre_digest *key, uint64_t deadline_ns, int *ret_fd,
    uint64_t *ret_compile_ns, struct nacre_error *err)
{
    uint64_t start = nacre_clock_ns();
    enum nacre_status status = compile(source, zygote, tool, deadline_ns, ret_fd, err);

    if (status == NACRE_ERR_TIMEOUT && source->cache && deadline_ns > start &&
        !atomic_load(source->cancelled))
        wt_slow_set(source->options->cache_dir, key,
                    (deadline_ns - start) / NACRE_NS_PER_MS);
    if (status != NACRE_OK)
        return status;
    *ret_compile_ns = nacre_clock_ns() - start;
    if (source->cache)
        wt_slow_clear(source->options->cache_dir, key);
    keep(source, tool, key, *ret_fd);
    return NACRE_OK;
}

enum nacre_status wt_source_get(struct wt_source *source, struct wt_zygote *zygote,
                                const struct nacre_tool *tool, uint64_t deadline_ns,
                                int *ret_fd, uint64_t *ret_compile_ns,
                                struct nacre_error *err)
{
    struct nacre_digest key = wt_cache_key(&tool->digest, wt_engine_config_text);
    int fd = held_get(source, &key);
    struct wt_cache *cache = NULL;
    enum nacre_status status = NACRE_OK;
    uint64_t now, slow_ms;
    size_t size;
    bool refused;

    *ret_compile_ns = 0;
    if (fd < 0)
        status = wt_source_cache(source, &cache, err);
    if (status != NACRE_OK)
        return status;
    if (cache) {
        status = wt_cache_get(cache, &key, &fd, &size, &refused, err);
        if (status != NACRE_OK && status != NACRE_ERR_NOT_FOUND)
            return status;
        if (status == NACRE_OK)
            held_put(source, &key, fd);
        else
            fd = -1;
    }
    if (fd >= 0) {
        *ret_fd = fd;
        return NACRE_OK;
    }
    now = nacre_clock_ns();
    slow_ms = cache ? wt_slow_get(source->options->cache_dir, &key) : 0;
    /* A little more than was not enough is not enough: two equal requests never leave
     * exactly the same time for compiling, least of all on a busy machine. */
    if (slow_ms > 0 &&
        deadline_ns <= now + (slow_ms + slow_ms / 4 + BEFORE_MS) * NACRE_NS_PER_MS)
        return nacre_fail(
            err, NACRE_ERR_NOT_RUNNABLE,
            "%.100s is not compiled yet, and %" PRIu64
            " ms were not enough the last time; compile it once with 'nacre cache "
            "add %.150s'",
            tool->name, slow_ms, tool->path);
    return compile_and_keep(source, zygote, tool, &key, deadline_ns, ret_fd,
                            ret_compile_ns, err);
}

enum nacre_status wt_source_add(struct wt_source *source, struct wt_zygote *zygote,
                                const struct nacre_tool *tool, uint64_t timeout_ms,
                                struct nacre_error *err)
{
    struct nacre_digest key = wt_cache_key(&tool->digest, wt_engine_config_text);
    uint64_t most_ms = (UINT64_MAX - nacre_clock_ns()) / NACRE_NS_PER_MS;
    uint64_t deadline_ns =
        nacre_clock_ns() +
        (timeout_ms < most_ms ? timeout_ms : most_ms - 1) * NACRE_NS_PER_MS;
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    struct wt_cache *cache;
    uint64_t compile_ns;
    enum nacre_status status = wt_source_cache(source, &cache, err);

    if (status != NACRE_OK)
        return status;
    return compile_and_keep(source, zygote, tool, &key, deadline_ns, &fd, &compile_ns,
                            err);
}
