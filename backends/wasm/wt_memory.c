#include "wt_memory.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* What is zeroed by hand instead of given back to the kernel: a page that comes back costs
 * a fault, ten times what it costs to clear.  An idle worker keeps this much at most, and
 * where a run used more of it, or in more places, all of it goes. */
#define KEPT_BYTES ((size_t)256 << 10)
#define KEPT_RUNS_MAX 16
/* Of how much it is asked what is there: the answer has a byte for each page. */
#define ASKED_BYTES ((size_t)8 << 20)
#define PAGE_BYTES_MIN ((size_t)4096)

#define LARGE_BYTES ((size_t)64 << 20)

struct reservation {
    unsigned char *base;
    size_t reserved;  /* address space, guard included */
    size_t committed; /* readable and writable from the base on; the rest traps */
};

struct memory {
    struct reservation space;
    size_t size, size_max; /* the guard above size_max is never made readable */
    struct wt_account *account;
};

static _Thread_local struct wt_account *entered;
static _Thread_local struct reservation kept;
static pthread_once_t kept_once = PTHREAD_ONCE_INIT;
static pthread_key_t kept_key; /* not NULL in a thread that keeps one */
static bool kept_freed;        /* threads give theirs back when they end */

static wasmtime_error_t *refuse(struct wt_account *account)
{
    account->refused = true;
    return wasmtime_error_new("over the memory limit");
}

void wt_account_enter(struct wt_account *account)
{
    entered = account;
}

bool wt_account_charge(struct wt_account *account, uint64_t bytes)
{
    if (bytes > account->bytes_max - account->bytes_now) {
        account->refused = true;
        return false;
    }
    account->bytes_now += bytes;
    if (account->bytes_now > account->bytes_peak)
        account->bytes_peak = account->bytes_now;
    return true;
}

static bool commit(struct reservation *space, size_t size)
{
    if (size > space->committed) {
        /* Only advice: a process with 4 GiB in small pages takes a third of a second to
         * die, which is longer than a run may outlast its deadline. */
        if (size >= LARGE_BYTES && space->committed < LARGE_BYTES)
            (void)madvise(space->base, space->reserved, MADV_HUGEPAGE);
        if (mprotect(space->base + space->committed, size - space->committed,
                     PROT_READ | PROT_WRITE) != 0)
            return false;
    } else if (size < space->committed) {
        /* Above its size a memory must trap, whatever an earlier run had there. */
        if (mprotect(space->base + size, space->committed - size, PROT_NONE) != 0)
            return false;
    }
    space->committed = size;
    return true;
}

static unsigned char *memory_get(void *env, size_t *ret_size, size_t *ret_capacity)
{
    const struct memory *memory = env;

    *ret_size = memory->size;
    *ret_capacity = memory->size_max;
    return memory->space.base;
}

static wasmtime_error_t *memory_grow(void *env, size_t new_size)
{
    struct memory *memory = env;
    struct wt_account *account = memory->account;

    assert(new_size >= memory->size);
    if (new_size > memory->size_max ||
        !wt_account_charge(account, new_size - memory->size))
        return refuse(account);
    if (!commit(&memory->space, new_size)) {
        account->bytes_now -= new_size - memory->size;
        return refuse(account);
    }
    memory->size = new_size;
    account->memory.size = new_size;
    return NULL;
}

static void kept_free(void *data)
{
    (void)data;
    if (kept.base)
        (void)munmap(kept.base, kept.reserved);
    kept = (struct reservation){ 0 };
}

static void kept_key_make(void)
{
    kept_freed = pthread_key_create(&kept_key, kept_free) == 0;
}

/* An embedder's threads come and go, and each reservation is 4 GiB of address space. */
static bool keep(const struct reservation *space)
{
    (void)pthread_once(&kept_once, kept_key_make);
    if (kept.base || !kept_freed || pthread_setspecific(kept_key, space->base) != 0)
        return false;
    kept = *space;
    return true;
}

static bool give_back(unsigned char *base, size_t from, size_t to)
{
    return from == to || madvise(base + from, to - from, MADV_DONTNEED) == 0;
}

/* Pages [*from, *to) that are alike, from *from on. */
static bool next_run(const unsigned char *present, size_t count, size_t from, size_t *to)
{
    for (*to = from; *to < count && (present[*to] & 1) == (present[from] & 1);)
        ++*to;
    return present[from] & 1;
}

/* Is what is there little enough to be zeroed by hand? */
static bool is_small(const unsigned char *present, size_t count, size_t page)
{
    size_t pages = 0, runs = 0;

    for (size_t from = 0, to; from < count; from = to)
        if (next_run(present, count, from, &to)) {
            pages += to - from;
            runs++;
        }
    return pages * page <= KEPT_BYTES && runs <= KEPT_RUNS_MAX;
}

/* All bytes read as zero afterwards.  Only what the kernel says is there is zeroed by hand;
 * everything else is given back, used or not: a page that was swapped out is not there. */
static bool clear(unsigned char *base, size_t size)
{
    unsigned char present[ASKED_BYTES / PAGE_BYTES_MIN];
    size_t page = (size_t)sysconf(_SC_PAGESIZE), count = size / page;

    if (size > ASKED_BYTES || mincore(base, size, present) != 0 ||
        !is_small(present, count, page))
        return give_back(base, 0, size);
    for (size_t from = 0, to; from < count; from = to) {
        bool is_there = next_run(present, count, from, &to);

        if (is_there)
            memset(base + from * page, 0, (to - from) * page);
        else if (!give_back(base, from * page, to * page))
            return false;
    }
    return true;
}

/* Leaves nothing of the run behind, then keeps the address space for the next one. */
static void memory_finalise(void *env)
{
    struct memory *memory = env;
    struct reservation space = memory->space;

    memory->account->bytes_now -= memory->size;
    memory->account->memory = (struct nacre_wasi_memory){ 0 };
    if (!clear(space.base, memory->size) || !keep(&space))
        (void)munmap(space.base, space.reserved);
    free(memory);
}

static bool reserve(struct reservation *ret_space, size_t size)
{
    struct reservation space = kept;

    if (space.base && space.reserved == size) {
        kept = (struct reservation){ 0 };
        *ret_space = space;
        return true;
    }
    space = (struct reservation){ .reserved = size };
    space.base =
        mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space.base == MAP_FAILED)
        return false;
    *ret_space = space;
    return true;
}

static wasmtime_error_t *memory_new(void *env, const wasm_memorytype_t *type,
                                    size_t minimum, size_t maximum, size_t reserved,
                                    size_t guard, wasmtime_linear_memory_t *ret_memory)
{
    struct wt_account *account = entered;
    struct memory *memory;

    (void)env;
    (void)type;
    (void)maximum;
    assert(account && !account->memory.base);
    if (minimum > reserved || !wt_account_charge(account, minimum))
        return refuse(account);
    memory = calloc(1, sizeof(*memory));
    if (!memory || !reserve(&memory->space, reserved + guard)) {
        free(memory);
        account->bytes_now -= minimum;
        return refuse(account);
    }
    if (!commit(&memory->space, minimum)) {
        (void)munmap(memory->space.base, memory->space.reserved);
        free(memory);
        account->bytes_now -= minimum;
        return refuse(account);
    }
    memory->size = minimum;
    memory->size_max = reserved;
    memory->account = account;
    account->memory = (struct nacre_wasi_memory){ memory->space.base, minimum };
    *ret_memory = (wasmtime_linear_memory_t){
        .env = memory,
        .get_memory = memory_get,
        .grow_memory = memory_grow,
        .finalizer = memory_finalise,
    };
    return NULL;
}

void wt_memory_configure(wasm_config_t *config)
{
    static wasmtime_memory_creator_t creator = { .new_memory = memory_new };

    wasmtime_config_host_memory_creator_set(config, &creator);
}
