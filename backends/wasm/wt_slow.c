#include "wt_slow.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "nacre/own.h"
#include "nacre/text.h"

/* False when it does not fit: a name that is cut would be another file's. */
static bool note_path(const char *cache_dir, const struct nacre_digest *key,
                      char ret_path[PATH_MAX])
{
    char hex[NACRE_HEX];

    return snprintf(ret_path, PATH_MAX, "%s/%s.slow", cache_dir,
                    nacre_digest_hex(key, hex)) < PATH_MAX;
}

void wt_slow_set(const char *cache_dir, const struct nacre_digest *key, uint64_t ms)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    char path[PATH_MAX], text[24];
    int count = snprintf(text, sizeof(text), "%" PRIu64, ms);

    if (!note_path(cache_dir, key, path))
        return;
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
              0600);
    if (fd >= 0)
        (void)!write(fd, text, (size_t)count);
}

uint64_t wt_slow_get(const char *cache_dir, const struct nacre_digest *key)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    char path[PATH_MAX], text[24];
    uint64_t ms = 0;
    ssize_t count;

    if (!note_path(cache_dir, key, path))
        return 0;
    fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    count = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
    if (count <= 0)
        return 0;
    text[count] = '\0';
    return nacre_text_u64(text, UINT32_MAX, &ms) ? ms : 0;
}

void wt_slow_clear(const char *cache_dir, const struct nacre_digest *key)
{
    char path[PATH_MAX];

    if (note_path(cache_dir, key, path))
        (void)unlink(path);
}
