#include "keys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "nacre/hash.h"
#include "nacre/text.h"

#define KEYRING_NAME_MAX 128

static bool read_hex(const char *text, uint8_t ret_key[NACRE_KEY_BYTES])
{
    struct nacre_digest digest;

    if (strlen(text) != 2 * NACRE_KEY_BYTES || !nacre_digest_from_hex(text, &digest))
        return false;
    memcpy(ret_key, digest.bytes, NACRE_KEY_BYTES);
    explicit_bzero(&digest, sizeof(digest));
    return true;
}

static enum nacre_status load_environment(struct vault_keys *keys,
                                          struct nacre_error *err)
{
    static const char *const names[] = { "NACRE_VAULT_KEY", "NACRE_VAULT_KEY_NEXT" };

    for (int i = 0; i < 2; i++) {
        const char *text = getenv(names[i]);

        if (!text)
            continue;
        if (!read_hex(text, keys->bytes[i]))
            return nacre_fail(err, NACRE_ERR_USAGE,
                              "$%s must hold 64 small hex digits, as openssl rand -hex "
                              "32 prints them", names[i]);
        keys->there[i] = true;
    }
    return NACRE_OK;
}

/* The session's keyring leads to the user's on most machines, but not on all. */
static long find_key(const char *name)
{
    static const int rings[] = { KEY_SPEC_SESSION_KEYRING, KEY_SPEC_USER_KEYRING };
    long id = -1;

    for (int i = 0; i < 2 && id < 0; i++)
        id = syscall(SYS_keyctl, KEYCTL_SEARCH, rings[i], "user", name, 0);
    return id;
}

/* 32 bytes, or 64 hex digits with or without a line's end.  *ret_there is false when the
 * keyring has none of that name. */
static enum nacre_status read_keyring(const char *name, uint8_t ret_key[NACRE_KEY_BYTES],
                                      bool *ret_there, struct nacre_error *err)
{
    char payload[2 * NACRE_KEY_BYTES + 2], shown[NACRE_SHOWN];
    long id = find_key(name), count;
    bool read = true;

    *ret_there = false;
    if (id < 0 && errno == ENOSYS)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "this kernel has no keyring: unset $NACRE_VAULT_KEYRING");
    if (id < 0)
        return NACRE_OK;
    count = syscall(SYS_keyctl, KEYCTL_READ, id, payload, sizeof(payload));
    if (count < 0)
        return nacre_fail(err, NACRE_ERR_IO, "cannot read the key %s of the keyring",
                          nacre_text_shown(shown, name));
    if (count == NACRE_KEY_BYTES) {
        memcpy(ret_key, payload, NACRE_KEY_BYTES);
    } else {
        bool fits = (size_t)count < sizeof(payload);

        payload[fits ? (size_t)count : sizeof(payload) - 1] = '\0';
        payload[strcspn(payload, "\n")] = '\0';
        read = fits && read_hex(payload, ret_key);
    }
    explicit_bzero(payload, sizeof(payload));
    if (!read)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "the key %s of the keyring must hold 32 bytes, or 64 hex "
                          "digits",
                          nacre_text_shown(shown, name));
    *ret_there = true;
    return NACRE_OK;
}

static enum nacre_status load_keyring(const char *name, struct vault_keys *keys,
                                      struct nacre_error *err)
{
    char next[KEYRING_NAME_MAX + 8], shown[NACRE_SHOWN];
    enum nacre_status status;

    if (!name[0] || strlen(name) > KEYRING_NAME_MAX)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "$NACRE_VAULT_KEYRING must name a key, in at most %d bytes",
                          KEYRING_NAME_MAX);
    (void)snprintf(next, sizeof(next), "%s.next", name);
    status = read_keyring(name, keys->bytes[0], &keys->there[0], err);
    if (status == NACRE_OK)
        status = read_keyring(next, keys->bytes[1], &keys->there[1], err);
    if (status == NACRE_OK && !keys->there[0])
        return nacre_fail(err, NACRE_ERR_NOT_FOUND,
                          "the keyring has no key %s: put it there with keyctl padd user "
                          "NAME @u; nacre makes none, as the keyring forgets it when the "
                          "machine stops",
                          nacre_text_shown(shown, name));
    return status;
}

static enum nacre_status load_file(const struct key_place *place, struct vault_keys *keys,
                                   int which, struct nacre_error *err)
{
    const char *name = which == 0 ? place->name : place->next;
    enum nacre_status status;
    struct stat st;

    if (fstatat(place->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        if (errno == ENOENT)
            return NACRE_OK;
        return nacre_fail(err, NACRE_ERR_IO, "cannot examine the key file %s", name);
    }
    status = nacre_key_load(place->dir, name, keys->bytes[which], err);
    keys->there[which] = status == NACRE_OK;
    return status;
}

enum nacre_status keys_load(const struct key_place *place, struct vault_keys *ret_keys,
                            struct nacre_error *err)
{
    const char *keyring = getenv("NACRE_VAULT_KEYRING");
    enum nacre_status status;

    *ret_keys = (struct vault_keys){ .source = KEY_SOURCE_FILE };
    if (getenv("NACRE_VAULT_KEY")) {
        ret_keys->source = KEY_SOURCE_ENVIRONMENT;
        return load_environment(ret_keys, err);
    }
    if (keyring) {
        ret_keys->source = KEY_SOURCE_KEYRING;
        return load_keyring(keyring, ret_keys, err);
    }
    status = load_file(place, ret_keys, 0, err);
    return status == NACRE_OK ? load_file(place, ret_keys, 1, err) : status;
}

enum nacre_status keys_make(const struct key_place *place, struct vault_keys *keys,
                            int which, struct nacre_error *err)
{
    enum nacre_status status;

    if (keys->there[which])
        return NACRE_OK;
    if (keys->source != KEY_SOURCE_FILE)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "the vault's key is not nacre's to make: %s",
                          keys->source == KEY_SOURCE_ENVIRONMENT
                              ? "put the new one into $NACRE_VAULT_KEY_NEXT, and after "
                                "the rotation into $NACRE_VAULT_KEY"
                              : "put the new one into the keyring as NAME.next, and "
                                "after the rotation as NAME");
    status = nacre_key_load(place->dir, which == 0 ? place->name : place->next,
                            keys->bytes[which], err);
    keys->there[which] = status == NACRE_OK;
    return status;
}

enum nacre_status keys_promote(const struct key_place *place, struct vault_keys *keys,
                               struct nacre_error *err)
{
    if (keys->source != KEY_SOURCE_FILE)
        return NACRE_OK;
    if (renameat(place->dir_fd, place->next, place->dir_fd, place->name) < 0 ||
        fsync(place->dir_fd) < 0)
        return nacre_fail(err, NACRE_ERR_IO, "cannot put the new key in its place");
    memcpy(keys->bytes[0], keys->bytes[1], NACRE_KEY_BYTES);
    keys->there[0] = true;
    keys->there[1] = false;
    return NACRE_OK;
}

enum nacre_status keys_drop_next(const struct key_place *place, struct vault_keys *keys,
                                 struct nacre_error *err)
{
    if (keys->source != KEY_SOURCE_FILE || !keys->there[1])
        return NACRE_OK;
    if (unlinkat(place->dir_fd, place->next, 0) < 0)
        return nacre_fail(err, NACRE_ERR_IO, "cannot remove the unused key %s",
                          place->next);
    keys->there[1] = false;
    return NACRE_OK;
}
