/*
 * Trusts the directory, which is private, and no label: a container's labels are what
 * whoever made it wrote.
 */
#include "dk_owner.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "nacre/hash.h"
#include "nacre/key.h"
#include "nacre/text.h"

#define LOCK_NAME (DK_TOKEN + 8) /* TOKEN.lock */
#define FILES_MAX 4096
#define HEX "0123456789abcdef"
#define PART 16 /* hex digits of each half of a token */

struct dk_owner {
    int dir_fd, lock_fd;
    char token[DK_TOKEN];
    _Atomic uint64_t names; /* handed out so far */
};

/* Which state directory it is: another one's locks say nothing to us. */
static bool place_of(int dir_fd, char ret_place[PART + 1])
{
    struct nacre_hasher hasher;
    struct nacre_digest digest;
    char hex[NACRE_HEX];
    struct stat info;

    if (fstat(dir_fd, &info) != 0)
        return false;
    nacre_hash_init(&hasher);
    nacre_hash_add_u64(&hasher, info.st_dev);
    nacre_hash_add_u64(&hasher, info.st_ino);
    digest = nacre_hash_end(&hasher);
    (void)snprintf(ret_place, PART + 1, "%.16s", nacre_digest_hex(&digest, hex));
    return true;
}

static bool is_token(const char *token)
{
    return strlen(token) == DK_TOKEN - 1 && strspn(token, HEX) == PART &&
           token[PART] == '-' && strspn(token + PART + 1, HEX) == PART;
}

/* True also when there is no such file: an owner removes it last of all. */
static bool is_unlocked(int dir_fd, const char *name)
{
    NACRE_AUTO(nacre_fd_guard) int fd =
        openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return errno == ENOENT;
    return flock(fd, LOCK_SH | LOCK_NB) == 0;
}

/* Of this state directory?  Then `ret_name` is its file's. */
static bool is_of_here(int dir_fd, const char *token, char ret_name[LOCK_NAME])
{
    char place[PART + 1];

    if (!is_token(token) || !place_of(dir_fd, place) || memcmp(place, token, PART) != 0)
        return false;
    (void)snprintf(ret_name, LOCK_NAME, "%s.lock", token);
    return true;
}

bool dk_owner_is_dead(int dir_fd, const char *token)
{
    char name[LOCK_NAME];

    return is_of_here(dir_fd, token, name) && is_unlocked(dir_fd, name);
}

bool dk_owner_lives(int dir_fd, const char *token)
{
    char name[LOCK_NAME];

    return is_of_here(dir_fd, token, name) && !is_unlocked(dir_fd, name);
}

bool dk_owner_any_lives(int dir_fd, const char *but)
{
    int again = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = again >= 0 ? fdopendir(again) : NULL;
    const struct dirent *entry;
    bool found = false;

    if (!dir) {
        nacre_fd_guard(&again);
        return true; /* nobody can tell */
    }
    while (!found && (entry = readdir(dir))) {
        const char *dot = strrchr(entry->d_name, '.');

        found = dot == entry->d_name + DK_TOKEN - 1 && strcmp(dot, ".lock") == 0 &&
                strncmp(entry->d_name, but, DK_TOKEN - 1) != 0 &&
                !is_unlocked(dir_fd, entry->d_name);
    }
    (void)closedir(dir);
    return found;
}

/* With the directory locked: nobody is between making a file and locking it. */
static void remove_dead(int dir_fd)
{
    int again = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = again >= 0 ? fdopendir(again) : NULL;
    const struct dirent *entry;

    if (!dir) {
        nacre_fd_guard(&again);
        return;
    }
    for (int i = 0; i < FILES_MAX && (entry = readdir(dir)); i++) {
        const char *dot = strrchr(entry->d_name, '.');

        if (dot == entry->d_name + DK_TOKEN - 1 && strcmp(dot, ".lock") == 0 &&
            is_unlocked(dir_fd, entry->d_name))
            (void)unlinkat(dir_fd, entry->d_name, 0);
    }
    (void)closedir(dir);
}

static enum nacre_status make_lock(struct dk_owner *owner, struct nacre_error *err)
{
    char place[PART + 1], name[LOCK_NAME];
    uint64_t number;
    enum nacre_status status = nacre_random(&number, sizeof(number), err);

    if (status != NACRE_OK)
        return status;
    if (!place_of(owner->dir_fd, place) || flock(owner->dir_fd, LOCK_EX) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "the directory of boxes can't be locked");
    remove_dead(owner->dir_fd);
    (void)snprintf(owner->token, sizeof(owner->token), "%s-%016" PRIx64, place, number);
    (void)snprintf(name, sizeof(name), "%s.lock", owner->token);
    owner->lock_fd = openat(owner->dir_fd, name,
                            O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (owner->lock_fd < 0 || flock(owner->lock_fd, LOCK_EX | LOCK_NB) != 0)
        status = nacre_fail(err, NACRE_ERR_IO, "can't make the lock of a boxes' owner");
    (void)flock(owner->dir_fd, LOCK_UN);
    return status;
}

enum nacre_status dk_owner_open(const char *state_dir, struct dk_owner **ret_owner,
                                struct nacre_error *err)
{
    NACRE_AUTO(dk_owner_guard) struct dk_owner *owner = calloc(1, sizeof(*owner));
    char path[NACRE_PATH_MAX];
    enum nacre_status status;

    if (!owner)
        return nacre_fail(err, NACRE_ERR_MEMORY, "an owner of boxes");
    owner->dir_fd = owner->lock_fd = -1;
    if (snprintf(path, sizeof(path), "%s/boxes", state_dir) >= (int)sizeof(path))
        return nacre_fail(err, NACRE_ERR_TOO_BIG, "the state directory's path");
    status = nacre_private_dir_open(path, &owner->dir_fd, err);
    if (status == NACRE_OK)
        status = make_lock(owner, err);
    if (status != NACRE_OK)
        return status;
    *ret_owner = dk_owner_take(&owner);
    return NACRE_OK;
}

void dk_owner_free(struct dk_owner *owner)
{
    char name[LOCK_NAME];

    if (!owner)
        return;
    (void)snprintf(name, sizeof(name), "%s.lock", owner->token);
    if (owner->lock_fd >= 0)
        (void)unlinkat(owner->dir_fd, name, 0);
    nacre_fd_guard(&owner->lock_fd);
    nacre_fd_guard(&owner->dir_fd);
    free(owner);
}

const char *dk_owner_token(const struct dk_owner *owner)
{
    return owner->token;
}

int dk_owner_dir(const struct dk_owner *owner)
{
    return owner->dir_fd;
}

void dk_owner_name(struct dk_owner *owner, char ret_name[DK_NAME])
{
    (void)snprintf(ret_name, DK_NAME, "nacre-%s-%" PRIu64, owner->token + PART + 1,
                   atomic_fetch_add(&owner->names, 1) + 1);
}

static const char *label_of(const json_t *container, const char *key)
{
    const json_t *config = json_object_get(container, "Config");
    const char *value =
        json_string_value(json_object_get(json_object_get(config, "Labels"), key));

    return value ? value : "";
}

static enum nacre_status refuse_name(const json_t *container, const char *name, bool ours,
                                     struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    if (ours)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "the container '%s' is in use by the sandbox of '%s' of another "
                          "keeper or configuration: end it with nacre rm, or give this "
                          "one another containerPrefix", name,
                          nacre_text_shown(shown, label_of(container, DK_SCOPE_LABEL)));
    return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                      "a container '%s' is there that nacre did not make: remove it, or "
                      "give this one another containerPrefix", name);
}

enum nacre_status dk_owner_clear_name(const struct dk_owner *owner,
                                      struct dk_client *client, const char *name,
                                      const char *scope_key, struct nt_wait wait,
                                      struct nacre_error *err)
{
    NACRE_AUTO(dk_json_guard) json_t *container = NULL;
    enum nacre_status status =
        dk_container_inspect(client, name, wait, &container, err);
    const char *token, *id;
    char uid[16];
    bool ours, stale;

    if (status == NACRE_ERR_NOT_FOUND)
        return NACRE_OK; /* it has just gone */
    if (status != NACRE_OK)
        return status;
    token = label_of(container, DK_TOKEN_LABEL);
    id = json_string_value(json_object_get(container, "Id"));
    (void)snprintf(uid, sizeof(uid), "%u", (unsigned)geteuid());
    ours = strcmp(label_of(container, DK_OWNER_LABEL), uid) == 0;
    /* Of one scope one sandbox at a time is made: a second one is left over. */
    stale = dk_owner_is_dead(owner->dir_fd, token) ||
            (strcmp(token, owner->token) == 0 &&
             strcmp(label_of(container, DK_SCOPE_LABEL), scope_key) == 0);
    if (!ours || !stale || !id)
        return refuse_name(container, name, ours, err);
    return dk_container_remove(client, id, wait, err);
}

void dk_owner_sweep(const struct dk_owner *owner, struct dk_client *client,
                    struct nt_wait wait)
{
    NACRE_AUTO(dk_json_guard) json_t *list = NULL;
    struct nacre_error ignored;
    const json_t *container;
    char label[64];
    size_t i;

    (void)snprintf(label, sizeof(label), DK_OWNER_LABEL "=%u", (unsigned)geteuid());
    if (dk_container_list(client, label, wait, &list, &ignored) != NACRE_OK)
        return;
    json_array_foreach(list, i, container) {
        const char *token = json_string_value(
            json_object_get(json_object_get(container, "Labels"), DK_TOKEN_LABEL));
        const char *id = json_string_value(json_object_get(container, "Id"));

        if (token && dk_owner_is_dead(owner->dir_fd, token) &&
            dk_container_remove(client, id, wait, &ignored) != NACRE_OK)
            return; /* an engine that does not answer now would only be waited for */
    }
}
