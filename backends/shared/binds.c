#include "binds.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nacre/binds.h"
#include "nacre/text.h"

static enum nacre_status check(const struct nacre_open_mount *open, const char *home,
                               struct nacre_error *err)
{
    struct nacre_bind_refusal refusal;
    char path[NACRE_PATH_MAX], shown[NACRE_SHOWN];

    if (!nacre_mounts_real_name(open->fd, path))
        return nacre_fail(err, NACRE_ERR_IO,
                          "mount '%.100s': its real name can't be found",
                          open->mount->guest);
    if (!nacre_bind_is_refused(path, open->mount->writable, home, &refusal))
        return NACRE_OK;
    return nacre_fail(err, NACRE_ERR_NOT_RUNNABLE,
                      "mount '%.100s': %s is really %s%.60s: %.120s; mount a directory "
                      "that holds only what the tool needs",
                      open->mount->guest, nacre_text_shown(shown, open->mount->host),
                      refusal.is_above ? "above " : "", refusal.what, refusal.why);
}

enum nacre_status nacre_binds_check(const struct nacre_open_mounts *mounts, const char *home,
                                 struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;

    for (uint32_t i = 0; i < mounts->count && status == NACRE_OK; i++)
        if (mounts->items[i].fd >= 0 && !mounts->items[i].mount->own &&
            strcmp(mounts->items[i].mount->guest, "/") != 0)
            status = check(&mounts->items[i], home, err);
    return status;
}

char *nacre_binds_home(void)
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
