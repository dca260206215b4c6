#include "binds.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nacre/binds.h"
#include "nacre/engine_ways.h"
#include "nacre/text.h"

/* Below a home that nobody knows as one, what lies in the directory tells. */
static bool brings_along(int fd, const char *path, struct nacre_bind_refusal *ret_refusal)
{
    const char *name;
    struct stat info;

    for (size_t n = 0; (name = nacre_bind_below(path, n, ret_refusal)) != NULL; n++)
        if (fstatat(fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0 || errno == EACCES)
            return true;
    return false;
}

static enum nacre_status check(const struct nacre_open_mount *open,
                               const struct nacre_bind_caller *caller,
                               struct nacre_error *err)
{
    struct nacre_bind_refusal refusal;
    char path[NACRE_PATH_MAX], shown[NACRE_SHOWN], what[NACRE_SHOWN];
    const char *where;

    if (!nacre_mounts_real_name(open->fd, path))
        return nacre_fail(err, NACRE_ERR_IO,
                          "mount '%.100s': its real name can't be found",
                          open->mount->guest);
    if (!nacre_bind_is_refused(path, open->mount->writable, caller, &refusal) &&
        !brings_along(open->fd, path, &refusal))
        return NACRE_OK;
    where = strstr(path, refusal.what);
    return nacre_mount_refuse(open->mount,
                              "mount a directory that holds only what the tool needs",
                              err, "%s is really %s%.60s: %.120s",
                              nacre_text_shown(shown, open->mount->host),
                              refusal.is_above                               ? "above "
                              : where && where[strlen(refusal.what)] != '\0' ? "in "
                                                                             : "",
                              nacre_text_shown(what, refusal.what), refusal.why);
}

/* Links resolved; NULL where there is none. */
static char *find_home(void)
{
    const char *home = getenv("HOME");
    struct passwd entry, *found = NULL;
    char room[4096];

    if (!home || home[0] != '/') {
        (void)getpwuid_r(geteuid(), &entry, room, sizeof(room), &found);
        home = found ? found->pw_dir : NULL;
    }
    return home ? realpath(home, NULL) : NULL;
}

static bool is_judged(const struct nacre_open_mount *open)
{
    return open->fd >= 0 && !open->mount->own && strcmp(open->mount->guest, "/") != 0;
}

enum nacre_status nacre_binds_check(const struct nacre_open_mounts *mounts,
                                    const struct nacre_executor_options *options,
                                    struct nacre_error *err)
{
    NACRE_AUTO(nacre_heap_guard) char *home = NULL;
    NACRE_AUTO(nacre_engine_ways_clear) struct nacre_engine_ways ways = { .count = 0 };
    struct nacre_bind_caller caller;
    enum nacre_status status;
    uint32_t at = 0;

    while (at < mounts->count && !is_judged(&mounts->items[at]))
        at++;
    if (at == mounts->count)
        return NACRE_OK;
    if (options->engine_unknown) {
        *err = *options->engine_unknown;
        return nacre_fail_context(err, "no directory can be mounted as long as it is not "
                                       "known which ones lead to the container engine");
    }
    home = find_home();
    status = nacre_engine_ways_find(options->engine_host, options->engine_certificates,
                                    &ways, err);
    caller = (struct nacre_bind_caller){ home, (const char *const *)ways.paths };
    for (; at < mounts->count && status == NACRE_OK; at++)
        if (is_judged(&mounts->items[at]))
            status = check(&mounts->items[at], &caller, err);
    return status;
}
