/*
 * Trusts the key file (nacre/key.h has judged it) and nothing that lies in the cache
 * directory: an entry is a claim until its MAC has been checked over the sealed copy.
 */
#include "wt_cache.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <time.h>
#include <wasmtime.h>
#ifdef __x86_64__
#include <sys/platform/x86.h>
#endif

#include "nacre/key.h"

struct wt_cache {
    int dir_fd;
    uint8_t key[NACRE_KEY_BYTES];
    uint64_t bytes_max;
};

#define TRAILER_MAGIC 0x5457434eu /* "NCWT" */
#define TRAILER_VERSION 2u

/* The last bytes of an entry, after the code; read by the machine that wrote it. */
struct trailer {
    uint32_t magic, version;
    struct nacre_digest key;
    uint64_t count; /* bytes of code */
    struct nacre_digest module;
    char name[NACRE_CACHE_NAME]; /* of the module, filled up with zeros */
    uint8_t nonce[16];
    uint8_t mac[NACRE_MAC_BYTES];
};
_Static_assert(sizeof(struct trailer) == 176, "no padding: each byte of it is judged");

#define ENTRY_SUFFIX ".code"
#define ENTRY_NAME (NACRE_HEX - 1 + sizeof(ENTRY_SUFFIX))
#define TEMPORARY_PREFIX ".new-"
#define TEMPORARY_STALE_S 3600 /* nobody writes one entry for an hour */

static void entry_name(const struct nacre_digest *key, char ret_name[ENTRY_NAME])
{
    char hex[NACRE_HEX];

    (void)snprintf(ret_name, ENTRY_NAME, "%s" ENTRY_SUFFIX, nacre_digest_hex(key, hex));
}

enum nacre_status wt_cache_open(const char *cache_dir, const char *key_dir,
                                struct wt_cache **ret_cache, struct nacre_error *err)
{
    NACRE_AUTO(wt_cache_guard) struct wt_cache *cache = malloc(sizeof(*cache));
    enum nacre_status status;

    if (!cache)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the code cache");
    *cache = (struct wt_cache){ .dir_fd = -1, .bytes_max = WT_CACHE_BYTES_MAX };
    status = nacre_private_dir_open(cache_dir, &cache->dir_fd, err);
    if (status == NACRE_OK)
        status = nacre_key_load(key_dir, "cache.key", cache->key, err);
    if (status != NACRE_OK)
        return nacre_fail_context(err, "code cache");
    *ret_cache = wt_cache_take(&cache);
    return NACRE_OK;
}

void wt_cache_free(struct wt_cache *cache)
{
    if (!cache)
        return;
    nacre_fd_guard(&cache->dir_fd);
    explicit_bzero(cache, sizeof(*cache));
    free(cache);
}

void wt_cache_set_bytes_max(struct wt_cache *cache, uint64_t bytes_max)
{
    cache->bytes_max = bytes_max;
}

/* What libc found at start: asking the CPU again would trap in a virtual machine. */
static void hash_add_cpu(struct nacre_hasher *hasher)
{
#ifdef __x86_64__
    for (unsigned leaf = CPUID_INDEX_1; leaf <= CPUID_INDEX_14_ECX_0; leaf++) {
        const struct cpuid_feature *feature = __x86_get_cpuid_feature_leaf(leaf);

        /* Not cpuid_array: it tells which core answered. */
        nacre_hash_add(hasher, feature->active_array, sizeof(feature->active_array));
    }
#endif
    nacre_hash_add_text(hasher, (const char *)getauxval(AT_PLATFORM));
    nacre_hash_add_u64(hasher, getauxval(AT_HWCAP));
    nacre_hash_add_u64(hasher, getauxval(AT_HWCAP2));
}

struct nacre_digest wt_cache_key(const struct nacre_digest *module,
                                 const char *config_text)
{
    struct nacre_hasher hasher;

    nacre_hash_init(&hasher);
    nacre_hash_add_text(&hasher, "nacre compiled code 2"); /* the trailer's version */
    nacre_hash_add(&hasher, module->bytes, sizeof(module->bytes));
    nacre_hash_add_text(&hasher, WASMTIME_VERSION);
    nacre_hash_add_text(&hasher, config_text);
    hash_add_cpu(&hasher);
    return nacre_hash_end(&hasher);
}

/* The code's MAC, under a key that holds only for what the trailer says of it: an
 * entry under another's name, or with another length, has another key. */
static void code_mac(const struct wt_cache *cache, const struct trailer *trailer,
                     const void *code, uint8_t ret_mac[NACRE_MAC_BYTES])
{
    struct nacre_digest key = nacre_hmac(cache->key, sizeof(cache->key), trailer,
                                         offsetof(struct trailer, nonce));

    _Static_assert(sizeof(key.bytes) == NACRE_MAC_KEY_BYTES, "a digest serves as key");
    nacre_mac(key.bytes, trailer->nonce, code, trailer->count, ret_mac);
    explicit_bzero(&key, sizeof(key));
}

/* ---- get ---- */

static enum nacre_status refuse(struct wt_cache *cache, const char *name, bool *refused,
                                struct nacre_error *err, const char *what)
{
    bool removed = unlinkat(cache->dir_fd, name, 0) == 0 || errno == ENOENT;

    *refused = true;
    return nacre_fail(err, NACRE_ERR_NOT_FOUND,
                      "compiled code %.16s in the cache %s: it is not used and %s", name,
                      what, removed ? "was removed" : "could not be removed");
}

/* Why the entry can't be ours, or NULL when it may be; then *ret_trailer is its. */
static const char *examine(int fd, struct trailer *ret_trailer)
{
    struct stat st;
    uint64_t size;

    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return "is not a plain file";
    if (st.st_uid != geteuid() || st.st_mode & 077)
        return "belongs to another user or is open to others";
    size = (uint64_t)st.st_size;
    if (size <= sizeof(*ret_trailer) ||
        size - sizeof(*ret_trailer) > WT_CACHE_ENTRY_BYTES_MAX)
        return "has an impossible size";
    if (pread(fd, ret_trailer, sizeof(*ret_trailer),
              st.st_size - (off_t)sizeof(*ret_trailer)) != sizeof(*ret_trailer) ||
        ret_trailer->magic != TRAILER_MAGIC || ret_trailer->version != TRAILER_VERSION ||
        ret_trailer->count != size - sizeof(*ret_trailer))
        return "is damaged";
    return NULL;
}

/* Copy `count` bytes and close the copy to all change.  *ret_short: the file ended
 * early, which is the file's fault; a failure is the machine's. */
static enum nacre_status copy_sealed(int fd, size_t count, int *ret_copy_fd,
                                     bool *ret_short, struct nacre_error *err)
{
    static const int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    NACRE_AUTO(nacre_fd_guard) int copy_fd = -1;
    off_t offset = 0;

    copy_fd = memfd_create("nacre-code", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (copy_fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "cannot make a copy of compiled code");
    while ((size_t)offset < count) {
        ssize_t moved = sendfile(copy_fd, fd, &offset, count - (size_t)offset);

        if (moved < 0 && errno == EINTR)
            continue;
        if (moved < 0)
            return nacre_fail(err, NACRE_ERR_IO, "cannot copy compiled code");
        if (moved == 0)
            break;
    }
    if (fcntl(copy_fd, F_ADD_SEALS, seals) < 0)
        return nacre_fail(err, NACRE_ERR_IO, "cannot seal the copy of compiled code");
    *ret_short = (size_t)offset < count;
    *ret_copy_fd = nacre_fd_take(&copy_fd);
    return NACRE_OK;
}

static enum nacre_status judge(const struct wt_cache *cache,
                               const struct trailer *trailer, int copy_fd,
                               bool *ret_genuine, struct nacre_error *err)
{
    uint8_t mac[NACRE_MAC_BYTES];
    void *code = mmap(NULL, trailer->count, PROT_READ, MAP_SHARED | MAP_POPULATE,
                      copy_fd, 0);

    if (code == MAP_FAILED)
        return nacre_fail(err, NACRE_ERR_IO, "cannot map the copy of compiled code");
    code_mac(cache, trailer, code, mac);
    (void)munmap(code, trailer->count);
    *ret_genuine = nacre_bytes_equal(mac, trailer->mac, sizeof(mac));
    return NACRE_OK;
}

enum nacre_status wt_cache_get(struct wt_cache *cache, const struct nacre_digest *key,
                               int *ret_fd, size_t *ret_size, bool *refused,
                               struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    NACRE_AUTO(nacre_fd_guard) int copy_fd = -1;
    bool is_short = false, genuine = false;
    char name[ENTRY_NAME];
    struct trailer trailer;
    enum nacre_status status;
    const char *fault;

    *refused = false;
    entry_name(key, name);
    /* O_NONBLOCK: a FIFO planted under the name must not hold us up. */
    fd = openat(cache->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return nacre_fail(err, NACRE_ERR_NOT_FOUND, "no compiled code in the cache");
    if (fd < 0 && (errno == ELOOP || errno == ENXIO))
        return refuse(cache, name, refused, err, "is not a plain file");
    if (fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "cannot open compiled code in the cache");
    fault = examine(fd, &trailer);
    if (!fault && !nacre_digest_equal(&trailer.key, key))
        fault = "belongs to another module";
    if (fault)
        return refuse(cache, name, refused, err, fault);

    status = copy_sealed(fd, trailer.count, &copy_fd, &is_short, err);
    if (status == NACRE_OK && !is_short)
        status = judge(cache, &trailer, copy_fd, &genuine, err);
    if (status != NACRE_OK)
        return status;
    if (!genuine)
        return refuse(cache, name, refused, err, "was changed or is damaged");
    /* The time is what make_room() goes by; it matters little if it can't be set. */
    (void)futimens(fd, NULL);
    *ret_size = trailer.count;
    *ret_fd = nacre_fd_take(&copy_fd);
    return NACRE_OK;
}

/* ---- the directory ---- */

struct entry {
    char name[ENTRY_NAME];
    bool stale; /* what a writer that died left behind */
    uint64_t bytes;
    struct timespec used;
};

struct listing {
    struct entry *entries;
    size_t count, allocated;
};

static void listing_clear(struct listing *listing)
{
    free(listing->entries);
}

static bool is_entry(const char *name)
{
    return strlen(name) == ENTRY_NAME - 1 &&
           strspn(name, "0123456789abcdef") == NACRE_HEX - 1 &&
           strcmp(name + NACRE_HEX - 1, ENTRY_SUFFIX) == 0;
}

static bool is_temporary(const char *name)
{
    return strncmp(name, TEMPORARY_PREFIX, strlen(TEMPORARY_PREFIX)) == 0 &&
           strlen(name) < ENTRY_NAME;
}

static enum nacre_status listing_add(struct listing *listing, int dir_fd,
                                     const char *name, struct nacre_error *err)
{
    bool temporary = is_temporary(name);
    struct entry *entry;
    struct stat st;

    if (!temporary && !is_entry(name))
        return NACRE_OK;
    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISDIR(st.st_mode) ||
        (temporary && time(NULL) - st.st_mtim.tv_sec < TEMPORARY_STALE_S))
        return NACRE_OK; /* gone meanwhile, or not ours to count */
    if (listing->count == listing->allocated) {
        size_t wanted = listing->allocated ? 2 * listing->allocated : 32;
        struct entry *grown = reallocarray(listing->entries, wanted, sizeof(*grown));

        if (!grown)
            return nacre_fail(err, NACRE_ERR_MEMORY, "no memory to list the code cache");
        listing->entries = grown;
        listing->allocated = wanted;
    }
    entry = &listing->entries[listing->count++];
    *entry = (struct entry){ .stale = temporary, .bytes = (uint64_t)st.st_size,
                             .used = st.st_mtim };
    memcpy(entry->name, name, strlen(name) + 1);
    return NACRE_OK;
}

static enum nacre_status listing_read(struct listing *listing, int dir_fd,
                                      struct nacre_error *err)
{
    /* A new description: the position of cache->dir_fd is shared by all threads. */
    NACRE_AUTO(nacre_fd_guard) int fd =
        openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    enum nacre_status status = NACRE_OK;
    struct dirent *found;
    DIR *dir;

    if (fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "cannot list the code cache");
    dir = fdopendir(fd);
    if (!dir)
        return nacre_fail(err, NACRE_ERR_IO, "cannot list the code cache");
    (void)nacre_fd_take(&fd); /* closedir() closes it */
    errno = 0;
    while (status == NACRE_OK && (found = readdir(dir))) {
        status = listing_add(listing, dir_fd, found->d_name, err);
        errno = 0;
    }
    if (status == NACRE_OK && errno != 0)
        status = nacre_fail(err, NACRE_ERR_IO, "cannot list the code cache");
    (void)closedir(dir);
    return status;
}

static int longest_unused_first(const void *a, const void *b)
{
    const struct timespec *left = &((const struct entry *)a)->used;
    const struct timespec *right = &((const struct entry *)b)->used;

    if (left->tv_sec != right->tv_sec)
        return left->tv_sec < right->tv_sec ? -1 : 1;
    return (left->tv_nsec > right->tv_nsec) - (left->tv_nsec < right->tv_nsec);
}

static void sort(struct listing *listing)
{
    if (listing->count > 0)
        qsort(listing->entries, listing->count, sizeof(listing->entries[0]),
              longest_unused_first);
}

static enum nacre_status make_room(struct wt_cache *cache, uint64_t needed,
                                   struct nacre_error *err)
{
    NACRE_AUTO(listing_clear) struct listing listing = { 0 };
    enum nacre_status status = listing_read(&listing, cache->dir_fd, err);
    uint64_t total = needed;

    if (status != NACRE_OK)
        return status;
    sort(&listing);
    for (size_t i = 0; i < listing.count; i++)
        total += listing.entries[i].bytes;
    for (size_t i = 0; i < listing.count; i++) {
        const struct entry *entry = &listing.entries[i];

        if (total <= cache->bytes_max && !entry->stale)
            continue;
        if (unlinkat(cache->dir_fd, entry->name, 0) < 0 && errno != ENOENT)
            return nacre_fail(err, NACRE_ERR_IO, "cannot remove from the code cache");
        total -= entry->bytes;
    }
    return NACRE_OK;
}

enum nacre_status wt_cache_report(struct wt_cache *cache,
                                  struct nacre_cache_report *ret_report,
                                  struct nacre_error *err)
{
    NACRE_AUTO(listing_clear) struct listing listing = { 0 };
    enum nacre_status status = listing_read(&listing, cache->dir_fd, err);
    struct nacre_cache_report report = { 0 };

    if (status != NACRE_OK)
        return status;
    for (size_t i = 0; i < listing.count; i++) {
        report.entries += !listing.entries[i].stale;
        report.bytes += listing.entries[i].bytes;
    }
    *ret_report = report;
    return NACRE_OK;
}

static void describe(const struct wt_cache *cache, const struct entry *entry,
                     struct nacre_cache_entry *ret_entry)
{
    NACRE_AUTO(nacre_fd_guard) int fd = openat(
        cache->dir_fd, entry->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct trailer trailer;

    *ret_entry = (struct nacre_cache_entry){ .bytes = entry->bytes,
                                             .used_s = entry->used.tv_sec };
    if (fd < 0 || examine(fd, &trailer))
        return;
    ret_entry->is_known = true;
    ret_entry->module = trailer.module;
    memcpy(ret_entry->name, trailer.name, sizeof(trailer.name) - 1);
}

enum nacre_status wt_cache_list(struct wt_cache *cache,
                                void (*each)(void *data,
                                             const struct nacre_cache_entry *entry),
                                void *data, struct nacre_error *err)
{
    NACRE_AUTO(listing_clear) struct listing listing = { 0 };
    enum nacre_status status = listing_read(&listing, cache->dir_fd, err);

    if (status != NACRE_OK)
        return status;
    sort(&listing);
    for (size_t i = listing.count; i-- > 0;) {
        struct nacre_cache_entry entry;

        if (listing.entries[i].stale)
            continue;
        describe(cache, &listing.entries[i], &entry);
        each(data, &entry);
    }
    return NACRE_OK;
}

enum nacre_status wt_cache_clear(struct wt_cache *cache,
                                 struct nacre_cache_report *ret_report,
                                 struct nacre_error *err)
{
    NACRE_AUTO(listing_clear) struct listing listing = { 0 };
    enum nacre_status status = listing_read(&listing, cache->dir_fd, err);
    struct nacre_cache_report report = { 0 };

    if (status != NACRE_OK)
        return status;
    for (size_t i = 0; i < listing.count; i++) {
        if (unlinkat(cache->dir_fd, listing.entries[i].name, 0) < 0) {
            if (errno == ENOENT)
                continue;
            return nacre_fail(err, NACRE_ERR_IO, "cannot remove from the code cache");
        }
        report.entries += !listing.entries[i].stale;
        report.bytes += listing.entries[i].bytes;
    }
    *ret_report = report;
    return NACRE_OK;
}

/* ---- put ---- */

static bool write_all(int fd, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;

    while (count > 0) {
        ssize_t written = write(fd, at, count);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return false;
        at += written;
        count -= (size_t)written;
    }
    return true;
}

enum nacre_status wt_cache_put(struct wt_cache *cache, const struct nacre_digest *key,
                               const struct wt_cache_origin *origin, const void *bytes,
                               size_t count, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    struct trailer trailer = { .magic = TRAILER_MAGIC, .version = TRAILER_VERSION,
                               .key = *key, .count = count,
                               .module = origin->module };
    char name[ENTRY_NAME], temporary[32];
    enum nacre_status status;
    uint64_t number;

    assert(count > 0);
    (void)snprintf(trailer.name, sizeof(trailer.name), "%s", origin->name);
    if (count > WT_CACHE_ENTRY_BYTES_MAX || count + sizeof(trailer) > cache->bytes_max)
        return nacre_fail(err, NACRE_ERR_TOO_BIG,
                          "compiled code of %zu bytes does not fit into the cache",
                          count);
    status = nacre_random(&number, sizeof(number), err);
    if (status == NACRE_OK)
        status = nacre_random(trailer.nonce, sizeof(trailer.nonce), err);
    if (status == NACRE_OK)
        status = make_room(cache, count + sizeof(trailer), err);
    if (status != NACRE_OK)
        return status;
    code_mac(cache, &trailer, bytes, trailer.mac);

    entry_name(key, name);
    (void)snprintf(temporary, sizeof(temporary), TEMPORARY_PREFIX "%016llx",
                   (unsigned long long)number);
    fd = openat(cache->dir_fd, temporary,
                O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "cannot write to the code cache");
    /* Never fsync()ed: what a power cut leaves does not authenticate and is removed. */
    if (!write_all(fd, bytes, count) || !write_all(fd, &trailer, sizeof(trailer)) ||
        renameat(cache->dir_fd, temporary, cache->dir_fd, name) < 0) {
        status = nacre_fail(err, NACRE_ERR_IO, "cannot write to the code cache");
        (void)unlinkat(cache->dir_fd, temporary, 0);
    }
    return status;
}
