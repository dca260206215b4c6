/*
 * Any bytes as a vault, its record and its tokens, and any change of ones that hold: a
 * changed vault never opens, an altered file makes no token, and what is refused is left
 * as it was.
 */
#include <assert.h>
#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nacre/own.h"
#include "nacre/secrets.h"
#include "nacre/tree.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FILE_BYTES_MAX 65536
#define PATH_BYTES 128

enum { FILE_VAULT, FILE_RECORD, FILE_TOKENS, FILE_COUNT };

static struct file {
    char path[PATH_BYTES];
    uint8_t sound[FILE_BYTES_MAX];
    size_t sound_count;
} files[FILE_COUNT];

static char top[] = "/tmp/nacre-fuzz-XXXXXX", state_dir[PATH_BYTES], keys[PATH_BYTES];
static struct nacre_error err;

static void leave(void)
{
    (void)!nacre_tree_remove(AT_FDCWD, top, &err);
}

static size_t slurp(const char *path, uint8_t bytes[FILE_BYTES_MAX])
{
    NACRE_AUTO(nacre_fd_guard) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = read(fd, bytes, FILE_BYTES_MAX);

    assert(got >= 0 && got < FILE_BYTES_MAX);
    return (size_t)got;
}

static void spill(const char *path, const void *bytes, size_t count)
{
    NACRE_AUTO(nacre_fd_guard) int fd =
        open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ssize_t written = write(fd, bytes, count);

    assert(written == (ssize_t)count);
}

static void write_sound_files(void)
{
    static const char *const hosts[] = { "api.example.com", "*.example.org:8443", NULL };
    static const char *const grants[] = { "policy:p", "any", NULL };
    struct nacre_vault *vault = NULL;
    char token[NACRE_TOKEN_TEXT];

    /* A known key, so that an input means the same in every process. */
    assert(setenv("NACRE_VAULT_KEY", "00112233445566778899aabbccddeeff"
                                     "00112233445566778899aabbccddeeff", 1) == 0);
    assert(nacre_vault_open(state_dir, keys, &vault, &err) == NACRE_OK);
    assert(nacre_vault_set(vault, "alpha", "value-of-alpha", 14, &err) == NACRE_OK);
    assert(nacre_vault_grant(vault, "alpha", hosts, grants, false, &err) == NACRE_OK);
    assert(nacre_vault_set(vault, "beta", "b", 1, &err) == NACRE_OK);
    assert(nacre_token_issue(vault, "alpha", "session:s", NACRE_TOKEN_MS_MAX, token,
                             &err) == NACRE_OK);
    nacre_vault_free(vault);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    char pattern[PATH_BYTES + 16];
    glob_t found;

    (void)argc;
    (void)argv;
    assert(mkdtemp(top) && atexit(leave) == 0);
    (void)snprintf(state_dir, sizeof(state_dir), "%s/state", top);
    (void)snprintf(keys, sizeof(keys), "%s/keys", top);
    (void)snprintf(files[FILE_VAULT].path, PATH_BYTES, "%s/state/vault", top);
    (void)snprintf(files[FILE_TOKENS].path, PATH_BYTES, "%s/state/tokens", top);
    write_sound_files();
    (void)snprintf(pattern, sizeof(pattern), "%s/vault-*.newest", keys);
    assert(glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc == 1);
    (void)snprintf(files[FILE_RECORD].path, PATH_BYTES, "%s", found.gl_pathv[0]);
    globfree(&found);
    for (size_t i = 0; i < FILE_COUNT; i++)
        files[i].sound_count = slurp(files[i].path, files[i].sound);
    return 0;
}

/* Four bytes a change: which file, where, and the bits that flip or a cut. */
static void change(const uint8_t *data, size_t size, bool ret_changed[FILE_COUNT])
{
    static uint8_t bytes[FILE_COUNT][FILE_BYTES_MAX];
    size_t counts[FILE_COUNT];

    for (size_t i = 0; i < FILE_COUNT; i++) {
        memcpy(bytes[i], files[i].sound, files[i].sound_count);
        counts[i] = files[i].sound_count;
    }
    for (; size >= 4; data += 4, size -= 4) {
        size_t which = data[0] % FILE_COUNT, at = (size_t)(data[1] | data[2] << 8);

        if (data[0] & 0x80 && at < counts[which])
            counts[which] = at;
        else if (at < counts[which])
            bytes[which][at] ^= data[3];
    }
    for (size_t i = 0; i < FILE_COUNT; i++) {
        spill(files[i].path, bytes[i], counts[i]);
        ret_changed[i] = counts[i] != files[i].sound_count ||
                         memcmp(bytes[i], files[i].sound, counts[i]) != 0;
    }
}

/* The first byte says which of them; its beginning may be the sound one's. */
static void replace(const uint8_t *data, size_t size, bool ret_changed[FILE_COUNT])
{
    static uint8_t bytes[FILE_BYTES_MAX];
    size_t which = data[0] % FILE_COUNT, kept = data[1];

    for (size_t i = 0; i < FILE_COUNT; i++) {
        spill(files[i].path, files[i].sound, files[i].sound_count);
        ret_changed[i] = false;
    }
    data += 2;
    size -= 2;
    if (kept > files[which].sound_count)
        kept = files[which].sound_count;
    if (size > FILE_BYTES_MAX / 2)
        size = FILE_BYTES_MAX / 2;
    memcpy(bytes, files[which].sound, kept);
    memcpy(bytes + kept, data, size);
    spill(files[which].path, bytes, kept + size);
    ret_changed[which] = kept + size != files[which].sound_count ||
                         memcmp(bytes, files[which].sound, kept + size) != 0;
}

static void use(const bool changed[FILE_COUNT])
{
    const struct nacre_secret_asker asker = { .policy = "p", .session = "s",
                                              .run_id = "run-1" };
    NACRE_AUTO(nacre_vault_guard) struct nacre_vault *vault = NULL;
    NACRE_AUTO(nacre_secret_set_guard) struct nacre_secret_set *set = NULL;
    static uint8_t now[FILE_BYTES_MAX];
    const char *const names[] = { "alpha", NULL };
    enum nacre_status status = nacre_vault_open(state_dir, keys, &vault, &err);

    (void)nacre_token_any(state_dir, "s", NULL);
    if (changed[FILE_VAULT] || changed[FILE_RECORD]) {
        assert(status == NACRE_ERR_PARSE || status == NACRE_ERR_TOO_BIG);
        return;
    }
    assert(status == NACRE_OK);
    status = nacre_secrets_collect(vault, &asker, names, NULL, 0, &set, &err);
    assert(status == NACRE_OK || changed[FILE_TOKENS]);
    if (status == NACRE_OK) {
        assert(set->count == 1 && memcmp(set->items[0].value, "value-of-alpha", 14) == 0);
        assert(set->token_count <= 1);
    }
    assert(slurp(files[FILE_VAULT].path, now) == files[FILE_VAULT].sound_count);
    assert(memcmp(now, files[FILE_VAULT].sound, files[FILE_VAULT].sound_count) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool changed[FILE_COUNT];
    uint64_t purged;

    if (size < 3)
        return 0;
    if (data[0] & 1)
        change(data + 1, size - 1, changed);
    else
        replace(data + 1, size - 1, changed);
    use(changed);
    (void)!nacre_token_reap(state_dir, &purged, &err);
    return 0;
}
