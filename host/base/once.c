/* What may happen once.  The directory is ours alone, and opened as such. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "nacre/clock.h"
#include "nacre/own.h"
#include "nacre/seal.h"

/* A clock that is set back must not bring a token back: so long its nonce stays. */
#define KEPT_MS UINT64_C(86400000)

/* "NONCE-EXPIRY": the name says when it may go, so that no file is ever read. */
#define NONCE_HEX (2 * NACRE_NONCE_BYTES)
#define NAME_LENGTH (NONCE_HEX + 1 + 16)

static void name_of(const uint8_t nonce[NACRE_NONCE_BYTES], uint64_t expires_ms,
                    char ret_name[NAME_LENGTH + 1])
{
    for (size_t i = 0; i < NACRE_NONCE_BYTES; i++)
        (void)snprintf(ret_name + 2 * i, 3, "%02x", nonce[i]);
    (void)snprintf(ret_name + NONCE_HEX, NAME_LENGTH + 1 - NONCE_HEX, "-%016" PRIx64,
                   expires_ms);
}

static bool has_gone_by(const char *name, uint64_t now)
{
    char *end = NULL;
    uint64_t expires;

    if (strlen(name) != NAME_LENGTH || name[NONCE_HEX] != '-')
        return false;
    expires = strtoull(name + NONCE_HEX + 1, &end, 16);
    return *end == '\0' && expires < now && now - expires > KEPT_MS;
}

static void prune(int dir_fd)
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    uint64_t now = nacre_clock_wall_ms();

    if (!dir) {
        if (fd >= 0)
            (void)close(fd);
        return;
    }
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir))
        if (has_gone_by(entry->d_name, now))
            (void)unlinkat(dir_fd, entry->d_name, 0);
    (void)closedir(dir);
}

enum nacre_status nacre_once(const char *dir, const uint8_t nonce[NACRE_NONCE_BYTES],
                             uint64_t expires_ms, bool *ret_first,
                             struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int dir_fd = -1;
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    char name[NAME_LENGTH + 1];
    enum nacre_status status = nacre_private_dir_open(dir, &dir_fd, err);

    if (status != NACRE_OK)
        return status;
    name_of(nonce, expires_ms, name);
    fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST) {
        *ret_first = false;
        return NACRE_OK;
    }
    /* On disk before anything runs: a power cut must not give it back. */
    if (fd < 0 || fsync(dir_fd) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "it can't be marked as used");
    prune(dir_fd);
    *ret_first = true;
    return NACRE_OK;
}
