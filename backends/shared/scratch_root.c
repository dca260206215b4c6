#include "scratch_root.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "nacre/hash.h"
#include "nacre/tree.h"

#define SWEEP_MAX 64      /* roots that are tried */
#define SWEEP_NAMES 16384 /* names of the base that are read: others' may be many */
#define SWEEP_AGE_S 5 /* a younger root may not have its lock yet */

struct nacre_scratch {
    int base_fd;
    int root_fd; /* locked while we live */
    char root[48];
    _Atomic uint64_t serial;
};

static void root_prefix(char *ret_text, size_t size)
{
    (void)snprintf(ret_text, size, "nacre-%u-", (unsigned)geteuid());
}

/* Roots of ours whose owner is gone: nobody holds their lock. */
static void sweep(int base_fd)
{
    char prefix[24];
    struct dirent *entry;
    struct nacre_error err;
    int names = 0, roots = 0;
    int again = openat(base_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = again >= 0 ? fdopendir(again) : NULL;

    if (!dir && again >= 0)
        (void)close(again);
    root_prefix(prefix, sizeof(prefix));
    while (dir && names++ < SWEEP_NAMES && roots < SWEEP_MAX &&
           (entry = readdir(dir)) != NULL) {
        NACRE_AUTO(nacre_fd_guard) int fd = -1;
        struct stat info;

        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
            continue;
        fd = openat(base_fd, entry->d_name,
                    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        /* Someone else's directory of that name in a shared place is not ours to touch.
         */
        if (fd < 0 || fstat(fd, &info) != 0 || info.st_uid != geteuid() ||
            info.st_ctime + SWEEP_AGE_S > time(NULL))
            continue;
        roots++;
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            (void)!nacre_tree_remove(base_fd, entry->d_name, &err);
    }
    if (dir)
        (void)closedir(dir);
}

static enum nacre_status make_root(struct nacre_scratch *scratch, struct nacre_error *err)
{
    char prefix[24];
    uint64_t number;
    enum nacre_status status;

    root_prefix(prefix, sizeof(prefix));
    status = nacre_random(&number, sizeof(number), err);
    if (status != NACRE_OK)
        return status;
    (void)snprintf(scratch->root, sizeof(scratch->root), "%s%016" PRIx64, prefix, number);
    if (mkdirat(scratch->base_fd, scratch->root, 0700) != 0) {
        scratch->root[0] = '\0';
        return nacre_fail(err, NACRE_ERR_IO, "can't make a private directory");
    }
    scratch->root_fd = openat(scratch->base_fd, scratch->root,
                              O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (scratch->root_fd < 0 || flock(scratch->root_fd, LOCK_SH | LOCK_NB) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "can't lock a private directory");
    return NACRE_OK;
}

static int open_base(const char *base)
{
    static const char *const places[] = { "/dev/shm", "/tmp" };
    int fd = -1;

    if (base)
        return open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < NACRE_COUNT(places) && fd < 0; i++)
        if (access(places[i], W_OK | X_OK) == 0)
            fd = open(places[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd;
}

enum nacre_status nacre_scratch_open(const char *base, struct nacre_scratch **ret_scratch,
                                     struct nacre_error *err)
{
    NACRE_AUTO(nacre_scratch_guard)
    struct nacre_scratch *scratch = calloc(1, sizeof(*scratch));
    enum nacre_status status;

    if (!scratch)
        return nacre_fail(err, NACRE_ERR_MEMORY, "private directories");
    scratch->root_fd = -1;
    scratch->base_fd = open_base(base);
    if (scratch->base_fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "no place for private directories");
    sweep(scratch->base_fd);
    status = make_root(scratch, err);
    if (status != NACRE_OK)
        return status;
    *ret_scratch = nacre_scratch_take(&scratch);
    return NACRE_OK;
}

void nacre_scratch_free(struct nacre_scratch *scratch)
{
    struct nacre_error err;

    if (!scratch)
        return;
    if (scratch->root[0])
        (void)!nacre_tree_remove(scratch->base_fd, scratch->root, &err);
    if (scratch->root_fd >= 0)
        (void)close(scratch->root_fd);
    if (scratch->base_fd >= 0)
        (void)close(scratch->base_fd);
    free(scratch);
}

enum nacre_status nacre_scratch_make(struct nacre_scratch *scratch,
                                     char ret_name[NACRE_SCRATCH_NAME], int *ret_fd,
                                     struct nacre_error *err)
{
    int fd;

    (void)snprintf(ret_name, NACRE_SCRATCH_NAME, "%" PRIu64,
                   atomic_fetch_add(&scratch->serial, 1));
    if (mkdirat(scratch->root_fd, ret_name, 0700) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "can't make a private directory");
    fd = openat(scratch->root_fd, ret_name,
                O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "can't open a private directory");
    *ret_fd = fd;
    return NACRE_OK;
}

void nacre_scratch_drop(struct nacre_scratch *scratch, const char *name)
{
    struct nacre_error err;

    (void)!nacre_tree_remove(scratch->root_fd, name, &err);
}

bool nacre_scratch_drop_unused(struct nacre_scratch *scratch, const char *name)
{
    return unlinkat(scratch->root_fd, name, AT_REMOVEDIR) == 0;
}
