/* Asks the kernel, before any guest has run; names that the questions hold are the
 * owner's, what lies there may be anything. */
#include "probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "fds.h"
#include "nacre/own.h"

#define ST_VALID 0x20 /* the kernel's own mark in f_flags, which statvfs() hides */

/* Questions and answers with their counts, and the answer of the moment; static: there is
 * one probe in each process, and what of them it does not fill takes no memory. */
static uint8_t packed[REPORT_BYTES_MAX];
static char text[ANSWER_BYTES_MAX];

static bool write_all(int fd, const void *bytes, size_t count)
{
    const uint8_t *at = bytes;

    while (count > 0) {
        ssize_t done = write(fd, at, count);

        if (done < 0 && errno != EINTR)
            return false;
        if (done > 0) {
            at += done;
            count -= (size_t)done;
        }
    }
    return true;
}

/* What open, read and stat fail with; not every C library has the names. */
static size_t error_text(void)
{
    static const struct {
        int number;
        const char *name;
    } known[] = {
#define X(id) { id, #id }
        X(EPERM), X(ENOENT), X(EINTR), X(ENXIO), X(EBADF), X(EAGAIN), X(ENOMEM),
        X(EACCES), X(EFAULT), X(EBUSY), X(ENODEV), X(ENOTDIR), X(EISDIR), X(EINVAL),
        X(ENFILE), X(EMFILE), X(EROFS), X(ENAMETOOLONG), X(ENOSYS), X(ELOOP),
        X(EOVERFLOW), X(EOPNOTSUPP), X(ESTALE), X(ESRCH),
#undef X
    };
    const char *name = "EIO";

    for (size_t i = 0; i < NACRE_COUNT(known); i++)
        if (known[i].number == errno)
            name = known[i].name;
    return (size_t)snprintf(text, sizeof(text), "error %s", name);
}

static size_t answer_file(const char *path)
{
    /* A FIFO must not hold the probe up, nor a terminal become its own. */
    NACRE_AUTO(nacre_fd_guard)
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    size_t used = 0;

    if (fd < 0)
        return error_text();
    while (used < sizeof(text)) {
        ssize_t count = read(fd, text + used, sizeof(text) - used);

        if (count < 0)
            return error_text();
        if (count == 0)
            break;
        used += (size_t)count;
    }
    return used;
}

static size_t answer_stat(const char *path)
{
    NACRE_AUTO(nacre_fd_guard) int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat file;
    struct statfs fs;

    if (fd < 0 || fstat(fd, &file) < 0 || fstatfs(fd, &fs) < 0)
        return error_text();
    return (size_t)snprintf(
        text, sizeof(text),
        "%" PRIu64 " %" PRIu64 " %o %u %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64,
        (uint64_t)file.st_dev, (uint64_t)file.st_ino, file.st_mode, file.st_uid,
        file.st_gid, (uint64_t)fs.f_type, (uint64_t)fs.f_flags & ~(uint64_t)ST_VALID,
        (uint64_t)fs.f_blocks * (uint64_t)fs.f_bsize, (uint64_t)fs.f_files);
}

/* Its names, a line each. */
static size_t answer_list(const char *path)
{
    DIR *dir = opendir(path);
    const struct dirent *entry;
    size_t used = 0;

    if (!dir)
        return error_text();
    errno = 0;
    while ((entry = readdir(dir))) {
        size_t length = strlen(entry->d_name);

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (used + length + 1 > sizeof(text)) {
            errno = EOVERFLOW;
            break;
        }
        memcpy(text + used, entry->d_name, length);
        text[used + length] = '\n';
        used += length + 1;
        errno = 0;
    }
    used = errno == 0 ? used : error_text();
    (void)closedir(dir);
    return used;
}

static size_t add_limit(size_t used, rlim_t value)
{
    if (value == RLIM_INFINITY)
        return used + (size_t)snprintf(text + used, sizeof(text) - used, " unlimited");
    return used + (size_t)snprintf(text + used, sizeof(text) - used, " %" PRIu64,
                                   (uint64_t)value);
}

static size_t answer_limits(void)
{
    static const struct {
        int resource;
        const char *name;
    } rows[] = {
        { RLIMIT_CPU, "Max cpu time" },        { RLIMIT_FSIZE, "Max file size" },
        { RLIMIT_DATA, "Max data size" },      { RLIMIT_STACK, "Max stack size" },
        { RLIMIT_CORE, "Max core file size" }, { RLIMIT_NPROC, "Max processes" },
        { RLIMIT_NOFILE, "Max open files" },   { RLIMIT_MEMLOCK, "Max locked memory" },
        { RLIMIT_AS, "Max address space" },
    };
    size_t used = 0;

    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct rlimit limit;

        if (getrlimit(rows[i].resource, &limit) < 0)
            return error_text();
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s", rows[i].name);
        used = add_limit(used, limit.rlim_cur);
        used = add_limit(used, limit.rlim_max);
        text[used++] = '\n';
    }
    return used;
}

static size_t answer_privileges(void)
{
    int no_new = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
    uint64_t ambient = 0;

    if (no_new < 0)
        return error_text();
    /* A kernel that does not know the call, or that number, has none. */
    for (unsigned long number = 0; number < 64; number++)
        if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, number, 0, 0) > 0)
            ambient |= UINT64_C(1) << number;
    return (size_t)snprintf(text, sizeof(text),
                            "NoNewPrivs:\t%d\nCapAmb:\t%016" PRIx64 "\n", no_new,
                            ambient);
}

static size_t answer_to(const char *question)
{
    if (strcmp(question, "limits") == 0)
        return answer_limits();
    if (strcmp(question, "privileges") == 0)
        return answer_privileges();
    if (strncmp(question, "file ", 5) == 0)
        return answer_file(question + 5);
    if (strncmp(question, "stat ", 5) == 0)
        return answer_stat(question + 5);
    if (strncmp(question, "list ", 5) == 0)
        return answer_list(question + 5);
    errno = EINVAL;
    return error_text();
}

static _Noreturn void fail(int fd, const char *what)
{
    char said[256];
    int count = snprintf(said, sizeof(said), "%c%s: %s", PROBE_FAILED, what,
                         strerrordesc_np(errno));

    (void)write_all(fd, said, (size_t)count);
    _exit(1);
}

bool probe_answer(const struct init_config *config, const uint8_t **ret_report,
                  size_t *ret_count)
{
    struct pack pack = { .bytes = packed, .size = sizeof(packed) };

    for (size_t i = 0; i < config->question_count; i++) {
        struct init_answer answer = {
            .question = config->questions[i],
            .count = answer_to(config->questions[i]),
            .text = text,
        };

        if (!init_answer_pack(&pack, &answer))
            return false;
    }
    *ret_report = packed;
    *ret_count = pack.used;
    return true;
}

_Noreturn void probe_main(const struct walls *walls, const struct init_config *config,
                          int fd)
{
    const char kind = PROBE_REPORT;
    const char *failed = walls_lower(walls, NULL, 0);
    const uint8_t *report;
    size_t count;

    if (!failed)
        failed = walls_close(walls);
    if (failed)
        fail(fd, failed);
    fds_keep(&fd, 1);
    _exit(probe_answer(config, &report, &count) && write_all(fd, &kind, 1) &&
                  write_all(fd, report, count)
              ? 0
              : 1);
}
