/*
 * What the process does without.  It needs sockets, a CA bundle and memory; a bug in TLS,
 * HTTP or DNS code shall find nothing else.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "door.h"
#include "door_filter.inc" /* made by filter_generate.c */
#include "nacre/locked.h"
#include "nacre/own.h"
#include "nacre/trust.h"

#define DATA_BYTES_MAX ((rlim_t)2 << 30)
#define OPEN_FILES 4096 /* two for each of 500 connections, and room */
#define LOCKED_BYTES ((rlim_t)64 << 20) /* for values, and what they are put into */
#define HEAP_LOCKED_BYTES (2 << 20)      /* of what libraries make of them */
#define HEAP_BLOCK_BYTES (128 << 10)     /* larger ones lie outside of the heap */

/* As in backends/shared/landlock.c, of which this needs a small part. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif
#define LANDLOCK_VERSION 1U
#define LANDLOCK_PATH_BENEATH 1
#define LANDLOCK_READ_FILE (1U << 2)
#define LANDLOCK_FS_ABI_1 ((UINT64_C(1) << 13) - 1)

static bool limit(int what, rlim_t most)
{
    struct rlimit now;

    if (getrlimit((__rlimit_resource_t)what, &now) != 0)
        return false;
    if (now.rlim_max == RLIM_INFINITY || now.rlim_max > most)
        now.rlim_max = most;
    now.rlim_cur = now.rlim_max;
    return setrlimit((__rlimit_resource_t)what, &now) == 0;
}

/* What RLIMIT_DATA counts so far, on top of which the limit is: a sanitizer's shadow
 * alone is terabytes.  0 when it can't be read: then the limit is the tighter one. */
static rlim_t data_bytes(void)
{
    NACRE_AUTO(nacre_fd_guard) int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    char text[128];
    uint64_t pages;
    ssize_t count = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

    if (count <= 0)
        return 0;
    text[count] = '\0';
    if (sscanf(text, "%*u %*u %*u %*u %*u %" SCNu64, &pages) != 1)
        return 0;
    return pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* As much as may be had; what can't be locked later is refused then. */
static void allow_locking(void)
{
    struct rlimit wanted = { LOCKED_BYTES, LOCKED_BYTES };

    if (setrlimit(RLIMIT_MEMLOCK, &wanted) == 0 ||
        getrlimit(RLIMIT_MEMLOCK, &wanted) != 0)
        return;
    wanted.rlim_cur = wanted.rlim_max;
    (void)setrlimit(RLIMIT_MEMLOCK, &wanted);
}

enum nacre_status door_cage_begin(struct nacre_error *err)
{
    allow_locking();
    /* Closed to ptrace and /proc/PID/mem of the same user, and no core. */
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 || !limit(RLIMIT_CORE, 0) ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "the door can't close its memory to others");
    if (!limit(RLIMIT_NOFILE, OPEN_FILES) || !limit(RLIMIT_FSIZE, 0) ||
        !limit(RLIMIT_DATA, data_bytes() + DATA_BYTES_MAX))
        return nacre_fail(err, NACRE_ERR_IO, "the door can't limit itself");
    return NACRE_OK;
}

static enum nacre_status drop_capabilities(struct nacre_error *err)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct none[2] = { 0 };

    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 ||
        syscall(SYS_capset, &header, none) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "the door can't give up its capabilities");
    return NACRE_OK;
}

static bool allow_reading(int ruleset, const char *path)
{
    NACRE_AUTO(nacre_fd_guard) int fd = open(path, O_PATH | O_CLOEXEC);
    struct {
        uint64_t allowed;
        int32_t parent_fd;
    } __attribute__((packed)) beneath = { LANDLOCK_READ_FILE, fd };

    return fd < 0 || syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_PATH_BENEATH,
                             &beneath, 0) == 0;
}

/* A second wall, where the kernel has it: of all files the CA bundle alone is read. */
static enum nacre_status shut_files(struct nacre_error *err)
{
    uint64_t handled = LANDLOCK_FS_ABI_1;
    NACRE_AUTO(nacre_fd_guard) int ruleset = -1;
    const char *bundle = nacre_trust_bundle();

    if (syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_VERSION) < 1)
        return NACRE_OK;
    ruleset = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof(handled), 0);
    if (ruleset < 0 || (bundle && !allow_reading(ruleset, bundle)) ||
        syscall(SYS_landlock_restrict_self, ruleset, 0) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "landlock does not take the door");
    return NACRE_OK;
}

/* The last wall: what the others need is not allowed behind it. */
static enum nacre_status filter_calls(struct nacre_error *err)
{
    /* The kernel takes a pointer to what may be written, and writes nothing. */
    struct sock_fprog program = { .len = NACRE_COUNT(filter),
                                  .filter = (struct sock_filter *)(uintptr_t)filter };

    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
        return nacre_fail(err, NACRE_ERR_IO,
                          "the kernel does not take the door's filter of system calls");
    return NACRE_OK;
}

enum nacre_status door_cage_close(struct nacre_error *err)
{
    enum nacre_status status = shut_files(err);

    /* No process and no thread of its own any more: names are never looked up by one. */
    if (status == NACRE_OK && !limit(RLIMIT_NPROC, 0))
        status = nacre_fail(err, NACRE_ERR_IO, "the door can't limit itself");
    if (status == NACRE_OK)
        status = drop_capabilities(err);
    return status == NACRE_OK ? filter_calls(err) : status;
}

/* Where the heap lies; false: it can't be told. */
static bool find_heap(uintptr_t *ret_begin, uintptr_t *ret_end)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];
    bool found = false;

    while (maps && !found && fgets(line, sizeof(line), maps))
        found = strstr(line, "[heap]") &&
                sscanf(line, "%" SCNxPTR "-%" SCNxPTR, ret_begin, ret_end) == 2;
    if (maps)
        (void)fclose(maps);
    return found;
}

/*
 * libcurl and OpenSSL copy what they send.  As much of the heap as some requests need is
 * locked, page by page as it is used, where the limit on locked memory has room for it.
 */
static void lock_heap(void)
{
    void *blocks[16] = { NULL }, *top = sbrk(0);
    uintptr_t begin, end;

    if (mallopt(M_MMAP_THRESHOLD, HEAP_BLOCK_BYTES) != 1 ||
        mallopt(M_TRIM_THRESHOLD, INT_MAX) != 1 ||
        mallopt(M_TOP_PAD, HEAP_LOCKED_BYTES) != 1)
        return;
    /* Until it grows, by all of it at once: what comes later is locked by nobody. */
    for (size_t i = 0; i < NACRE_COUNT(blocks) && sbrk(0) == top; i++)
        blocks[i] = malloc(HEAP_BLOCK_BYTES / 2);
    for (size_t i = 0; i < NACRE_COUNT(blocks); i++)
        free(blocks[i]);
    if (find_heap(&begin, &end) && end - begin < 2 * (size_t)HEAP_LOCKED_BYTES)
        (void)mlock2((void *)begin, end - begin, MLOCK_ONFAULT);
}

static bool locks;

void door_locked_begin(void)
{
    if (!locks)
        lock_heap();
    locks = true;
}

void *door_locked_new(size_t count)
{
    return nacre_locked_new(count, locks);
}
