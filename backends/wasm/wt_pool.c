#include "wt_pool.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "mounts.h"
#include "nacre/clock.h"
#include "pidfd.h"
#include "wt_bounds.h"
#include "wt_hand.h"
#include "wt_mounts.h"
#include "wt_result.h"

#define IDLE_MAX 32
#define SETUP_SLICE_NS (10 * NACRE_NS_PER_MS)
#define FILE_BYTES_MAX ((uint64_t)16 << 30) /* of one file in a mount */

struct wt_pool {
    struct wt_zygote *zygote;
    const struct nacre_executor_options *options;
    struct nacre_cpu_share *const *cpu_share; /* set before a plan that needs it runs */
    pthread_mutex_t lock;
    struct wt_worker *idle; /* most recently used first */
    uint32_t idle_count;
    struct nacre_scratch *scratch; /* made at first need */
};

enum nacre_status wt_pool_open(struct wt_zygote *zygote,
                               const struct nacre_executor_options *options,
                               struct nacre_cpu_share *const *cpu_share,
                               struct wt_pool **ret_pool, struct nacre_error *err)
{
    struct wt_pool *pool = calloc(1, sizeof(*pool));

    if (!pool)
        return nacre_fail(err, NACRE_ERR_MEMORY, "workers");
    pool->zygote = zygote;
    pool->options = options;
    pool->cpu_share = cpu_share;
    (void)pthread_mutex_init(&pool->lock, NULL);
    *ret_pool = pool;
    return NACRE_OK;
}

/* Is there nothing that has to wait until it is gone? */
static bool leaves_nothing(struct wt_pool *pool, struct wt_worker *worker)
{
    if (worker->scratch[0] && nacre_scratch_drop_unused(pool->scratch, worker->scratch))
        worker->scratch[0] = '\0';
    return !worker->scratch[0] && !worker->group.name[0];
}

void wt_pool_free(struct wt_pool *pool)
{
    if (!pool)
        return;
    /* All at once, so that they die side by side. */
    for (struct wt_worker *worker = pool->idle; worker; worker = worker->next)
        (void)nacre_pidfd_signal(worker->child.pidfd, SIGKILL);
    while (pool->idle) {
        struct wt_worker *worker = pool->idle;

        pool->idle = worker->next;
        /* The program ends now: init reaps what is dying. */
        if (pool->options->single_run && leaves_nothing(pool, worker)) {
            (void)close(worker->child.pidfd);
            worker->child = (struct wt_child){ .pidfd = -1 };
        }
        (void)wt_pool_drop(pool, worker);
    }
    nacre_scratch_free(pool->scratch);
    (void)pthread_mutex_destroy(&pool->lock);
    free(pool);
}

bool wt_worker_lives(const struct wt_worker *worker)
{
    struct pollfd ended = { .fd = worker->child.pidfd, .events = POLLIN };

    return poll(&ended, 1, 0) <= 0; /* a signal of the caller's is no death */
}

bool wt_worker_stands(const struct wt_worker *worker)
{
    return atomic_load(&worker->share->worker_tid) == (uint32_t)worker->child.pid;
}

struct wt_worker *wt_pool_get(struct wt_pool *pool, const struct wt_key *key)
{
    struct wt_worker *found = NULL;

    (void)pthread_mutex_lock(&pool->lock);
    for (struct wt_worker **at = &pool->idle; *at; at = &(*at)->next) {
        if (memcmp(&(*at)->key, key, sizeof(*key)) != 0)
            continue;
        found = *at;
        *at = found->next;
        pool->idle_count--;
        break;
    }
    (void)pthread_mutex_unlock(&pool->lock);
    return found;
}

/* Nothing of a call's secrets stays in shared memory, nor of what its guest said of them.
 * The call is over: nobody reads there any more. */
static void wipe(struct wt_worker *worker)
{
    if (worker->wipe == 0)
        return;
    explicit_bzero(worker->share->text, worker->wipe);
    (void)munlock(worker->share->text, worker->wipe);
    for (int stream = 0; stream < 2; stream++)
        explicit_bzero(wt_share_output(worker->share, worker->output_bytes_max, stream),
                       wt_result_output(&worker->share->record, stream,
                                        worker->output_bytes_max));
    worker->wipe = 0;
}

/* One too many: the least recently used, or with `door` the last of those who have one;
 * taken out of the list.  NULL: there are not that many. */
static struct wt_worker *take_over(struct wt_pool *pool, uint32_t max, bool door)
{
    struct wt_worker **oldest = NULL, *taken;
    uint32_t count = 0;

    for (struct wt_worker **at = &pool->idle; *at; at = &(*at)->next) {
        if (door && !(*at)->door.door)
            continue;
        oldest = at;
        count++;
    }
    if (count <= max)
        return NULL;
    taken = *oldest;
    *oldest = taken->next;
    pool->idle_count--;
    return taken;
}

void wt_pool_keep(struct wt_pool *pool, struct wt_worker *worker)
{
    struct wt_worker *oldest = NULL;

    wipe(worker);
    /* Nobody comes after this run: it dies while the run is recorded, instead of being
     * waited for at the end. */
    if (pool->options->single_run)
        (void)nacre_pidfd_signal(worker->child.pidfd, SIGKILL);
    (void)pthread_mutex_lock(&pool->lock);
    worker->next = pool->idle;
    pool->idle = worker;
    if (++pool->idle_count > IDLE_MAX)
        oldest = take_over(pool, IDLE_MAX, false);
    else if (worker->door.door)
        oldest = take_over(pool, WT_DOORS_IDLE_MAX, true);
    (void)pthread_mutex_unlock(&pool->lock);
    if (oldest)
        (void)wt_pool_drop(pool, oldest);
}

int wt_pool_drop(struct wt_pool *pool, struct wt_worker *worker)
{
    int status = -1;

    if (worker->child.pid > 0)
        status = wt_zygote_reap(pool->zygote, &worker->child);
    wt_door_clear(&worker->door);
    if (worker->group.name[0])
        nacre_cpu_share_release(*pool->cpu_share, &worker->group);
    if (worker->scratch[0])
        nacre_scratch_drop(pool->scratch, worker->scratch);
    if (worker->control >= 0)
        (void)close(worker->control);
    if (worker->share) {
        wipe(worker);
        (void)munmap(worker->share, worker->share_size);
    }
    free(worker);
    return status;
}

/* ---- making one ---- */

static enum nacre_status scratch_of(struct wt_pool *pool,
                                    char ret_name[NACRE_SCRATCH_NAME], int *ret_fd,
                                    struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;

    (void)pthread_mutex_lock(&pool->lock);
    if (!pool->scratch)
        status = nacre_scratch_open(NULL, &pool->scratch, err);
    (void)pthread_mutex_unlock(&pool->lock);
    if (status != NACRE_OK)
        return status;
    return nacre_scratch_make(pool->scratch, ret_name, ret_fd, err);
}

static enum nacre_status map_share(struct wt_worker *worker, int *ret_fd,
                                   struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd = memfd_create("nacre-share",
                                                     MFD_CLOEXEC | MFD_ALLOW_SEALING);
    void *mapped;

    worker->share_size = wt_share_size(worker->output_bytes_max);
    if (fd < 0 || ftruncate(fd, (off_t)worker->share_size) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "shared memory");
    /* A worker that could make it shorter could kill its supervisor with SIGBUS. */
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "can't seal shared memory");
    mapped = mmap(NULL, worker->share_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED)
        return nacre_fail(err, NACRE_ERR_IO, "shared memory");
    worker->share = mapped;
    /* Secrets are handed over in it: for no core file of whoever embeds this. */
    if (madvise(mapped, worker->share_size, MADV_DONTDUMP) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "can't keep shared memory out of dumps");
    *ret_fd = nacre_fd_take(&fd);
    return NACRE_OK;
}

/* Where all that a guest of root's may write is a session's, it is made as that session's
 * commands would make it: they have to be able to change it. */
static void find_owner(const struct nacre_plan *plan,
                       const struct nacre_open_mounts *mounts, struct wt_setup *setup)
{
    struct stat info = { .st_uid = 0 };
    bool all = geteuid() == 0;

    for (uint32_t i = 0; i < plan->mount_count && all; i++) {
        if (!plan->mounts[i].writable)
            continue;
        all = plan->mounts[i].own && mounts->items[i].fd >= 0 &&
              fstat(mounts->items[i].fd, &info) == 0;
    }
    setup->file_uid = all ? info.st_uid : 0;
    setup->file_gid = all ? info.st_gid : 0;
}

static enum nacre_status write_setup(struct wt_worker *worker,
                                     const struct nacre_plan *plan,
                                     const struct nacre_open_mounts *mounts,
                                     struct nacre_error *err)
{
    struct wt_share *share = worker->share;
    struct wt_cursor cursor = { share->text, share->text + sizeof(share->text), false };

    share->setup.open_files_max = plan->limits.open_files_max;
    share->setup.output_bytes_max = plan->limits.output_bytes_max;
    share->setup.scratch_bytes_max = plan->limits.scratch_bytes_max;
    share->setup.scratch_files_max = plan->limits.scratch_files_max;
    share->setup.file_bytes_max = FILE_BYTES_MAX;
    share->setup.mount_count = mounts->count;
    share->setup.has_scratch = mounts->has_private;
    share->setup.has_door = worker->door.door != NULL;
    find_owner(plan, mounts, &share->setup);
    wt_mounts_pack(&cursor, plan, mounts);
    if (cursor.failed)
        return nacre_fail(err, NACRE_ERR_TOO_BIG, "the mounts' names are over %zu bytes",
                          WT_TEXT_BYTES);
    share->setup.mount_text_bytes = (uint32_t)(cursor.at - share->text);
    return NACRE_OK;
}

static enum nacre_status fail_dead(const struct wt_worker *worker,
                                   struct nacre_error *err)
{
    /* A zygote that could not load the engine ends, and nobody else can say why. */
    enum nacre_status status = worker->child.is_ours ? nacre_wasmtime_load(err)
                                                     : NACRE_OK;

    if (status != NACRE_OK)
        return status;
    return nacre_fail(err, NACRE_ERR_BACKEND, "a worker died while it was set up");
}

static enum nacre_status await_walls(struct wt_worker *worker, uint64_t deadline_ns,
                                     struct nacre_error *err)
{
    struct wt_share *share = worker->share;
    uint32_t word, status;

    while ((word = atomic_load(&share->word)) != 0) {
        if ((word & FUTEX_OWNER_DIED) || !wt_worker_lives(worker))
            return fail_dead(worker, err);
        if (nacre_clock_ns() >= deadline_ns)
            return nacre_fail(err, NACRE_ERR_TIMEOUT,
                              "the time was up before the guest began");
        (void)wt_futex_wait(&share->word, word, SETUP_SLICE_NS);
    }
    if (!wt_worker_stands(worker)) {
        status = share->reply.status;
        share->reply.reason[sizeof(share->reply.reason) - 1] = '\0';
        return nacre_fail(
            err,
            status > NACRE_OK && status < NACRE_STATUS_COUNT ? status : NACRE_ERR_BACKEND,
            "%.400s", share->reply.reason);
    }
    return NACRE_OK;
}

/* Only where the zygote itself becomes the worker, and nothing has to be done to that
 * process before a guest may run in it. */
static enum nacre_status give_along(const struct wt_pool *pool, struct wt_worker *worker,
                                    const struct wt_purpose *purpose,
                                    struct nacre_error *err)
{
    struct wt_share *share = worker->share;
    struct nacre_error too_big;

    if (!pool->options->single_run || !purpose->is_first ||
        purpose->plan->limits.cpu_shares > 0 ||
        wt_hand_write(share, share->setup.mount_text_bytes, purpose->plan, purpose->tool,
                      purpose->request, purpose->deadline_ns, &worker->wipe,
                      &too_big) != NACRE_OK)
        return NACRE_OK;
    if (!wt_hand_fds(worker->control, purpose->request))
        return nacre_fail(err, NACRE_ERR_IO, "can't hand over the guest's input");
    worker->has_call = true;
    share->setup.has_call = 1;
    return NACRE_OK;
}

static enum nacre_status start(struct wt_pool *pool, struct wt_worker *worker,
                               const struct wt_purpose *purpose,
                               const struct nacre_open_mounts *mounts, int share_fd,
                               int door_fd, struct nacre_error *err)
{
    uint64_t cpu_shares = purpose->plan->limits.cpu_shares;
    NACRE_AUTO(nacre_fd_guard) int scratch_fd = -1;
    NACRE_AUTO(nacre_fd_guard) int theirs = -1;
    int fds[WT_FDS_MAX];
    uint32_t count = 0;
    int pair[2];
    enum nacre_status status;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "socketpair");
    worker->control = pair[0];
    theirs = pair[1];
    /* A worker that takes nothing from it shall not block its supervisor. */
    if (fcntl(pair[0], F_SETFL, O_NONBLOCK) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "socketpair");
    if (mounts->has_private) {
        status = scratch_of(pool, worker->scratch, &scratch_fd, err);
        if (status != NACRE_OK)
            return status;
    }
    if (mounts->count + 5 > WT_FDS_MAX)
        return nacre_fail(err, NACRE_ERR_TOO_BIG, "over %d mounts", WT_FDS_MAX - 5);
    fds[count++] = share_fd;
    fds[count++] = purpose->code_fd;
    fds[count++] = theirs;
    if (scratch_fd >= 0)
        fds[count++] = scratch_fd;
    if (door_fd >= 0)
        fds[count++] = door_fd;
    for (uint32_t i = 0; i < mounts->count; i++)
        if (mounts->items[i].fd >= 0)
            fds[count++] = mounts->items[i].fd;
    status = give_along(pool, worker, purpose, err);
    if (status == NACRE_OK)
        status = wt_zygote_fork(pool->zygote,
                                pool->options->single_run ? WT_REQUEST_BECOME
                                                          : WT_REQUEST_SPAWN,
                                fds, count, &worker->child, err);
    if (status == NACRE_OK && cpu_shares > 0)
        status = nacre_cpu_share_apply(*pool->cpu_share, worker->child.pid, cpu_shares,
                                       &worker->group, err);
    return status;
}

enum nacre_status wt_pool_make(struct wt_pool *pool, const struct wt_key *key,
                               const struct wt_purpose *purpose,
                               struct wt_worker **ret_worker, struct nacre_error *err)
{
    const struct nacre_plan *plan = purpose->plan;
    NACRE_AUTO(nacre_mounts_clear) struct nacre_open_mounts mounts = { 0 };
    NACRE_AUTO(nacre_fd_guard) int share_fd = -1;
    NACRE_AUTO(nacre_fd_guard) int door_fd = -1;
    struct wt_worker *worker = calloc(1, sizeof(*worker));
    enum nacre_status status;

    if (!worker)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a worker");
    worker->key = *key;
    worker->control = worker->child.pidfd = worker->pinned_cpu = -1;
    worker->output_bytes_max = plan->limits.output_bytes_max;
    status = wt_mounts_open(plan, pool->options, &mounts, err);
    worker->places = nacre_mounts_places(&mounts);
    if (status == NACRE_OK)
        status = map_share(worker, &share_fd, err);
    if (status == NACRE_OK)
        status = wt_bounds_make(plan, purpose->tool, &worker->share->setup.bounds, err);
    if (status == NACRE_OK)
        status = wt_door_open(pool->options->doors, plan, purpose->tool, purpose->request,
                              &worker->door, &door_fd, err);
    if (status == NACRE_OK)
        status = wt_door_begin(&worker->door, purpose->run_id, purpose->deadline_ns, err);
    if (status == NACRE_OK)
        status = write_setup(worker, plan, &mounts, err);
    if (status == NACRE_OK) {
        worker->share->setup.landlock_min = pool->options->landlock_min;
        atomic_store(&worker->share->word, WT_WORD_STARTING);
        status = start(pool, worker, purpose, &mounts, share_fd, door_fd, err);
    }
    if (status == NACRE_OK && !worker->has_call)
        status = await_walls(worker, purpose->deadline_ns, err);
    if (status != NACRE_OK) {
        (void)wt_pool_drop(pool, worker);
        return status;
    }
    *ret_worker = worker;
    return NACRE_OK;
}
