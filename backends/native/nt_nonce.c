#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "nacre/path.h"
#include "nt_report.h"

#define NONCE_PREFIX ".nacre-nonce-"

struct nt_nonce {
    int dir_fd; /* ours; -1 until the file is there */
    char name[sizeof(NONCE_PREFIX) + NACRE_HEX];
    char content[NACRE_HEX];
    char question[NACRE_PATH_MAX];
    struct nt_expect expect;
};

static enum nacre_status random_hex(char ret_hex[NACRE_HEX], struct nacre_error *err)
{
    struct nacre_digest random;
    enum nacre_status status = nacre_random(random.bytes, sizeof(random.bytes), err);

    if (status == NACRE_OK)
        (void)nacre_digest_hex(&random, ret_hex);
    return status;
}

static enum nacre_status write_nonce(struct nt_nonce *nonce, struct nacre_error *err)
{
    /* Others may read it: who looks from inside the sandbox has another uid. */
    NACRE_AUTO(nacre_fd_guard) int fd =
        openat(nonce->dir_fd, nonce->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
                                               O_CLOEXEC, 0644);
    size_t count = strlen(nonce->content);

    if (fd < 0 || fchmod(fd, 0644) != 0 ||
        write(fd, nonce->content, count) != (ssize_t)count)
        return nacre_fail(err, NACRE_ERR_IO, "can't make a file to know a directory by");
    return NACRE_OK;
}

enum nacre_status nt_nonce_make(int dir_fd, const char *guest_path,
                                struct nt_nonce **ret_nonce, struct nacre_error *err)
{
    NACRE_AUTO(nt_nonce_guard) struct nt_nonce *nonce = calloc(1, sizeof(*nonce));
    enum nacre_status status;
    char hex[NACRE_HEX];

    if (!nonce)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a file to know a directory by");
    nonce->dir_fd = -1;
    status = random_hex(hex, err);
    if (status == NACRE_OK)
        status = random_hex(nonce->content, err);
    if (status != NACRE_OK)
        return status;
    (void)snprintf(nonce->name, sizeof(nonce->name), NONCE_PREFIX "%s", hex);
    if (snprintf(nonce->question, sizeof(nonce->question), "file %s/%s",
                 strcmp(guest_path, "/") == 0 ? "" : guest_path, nonce->name) >=
        (int)sizeof(nonce->question))
        return nacre_fail(err, NACRE_ERR_TOO_BIG, "the path of a bind");
    nonce->expect = (struct nt_expect){ .what = nonce->question + strlen("file "),
                                        .check = NT_CHECK_TEXT,
                                        .question = nonce->question,
                                        .planned = nonce->content };
    nonce->dir_fd = openat(dir_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (nonce->dir_fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "can't open a bind's directory");
    status = write_nonce(nonce, err);
    if (status != NACRE_OK)
        return status;
    *ret_nonce = nt_nonce_take(&nonce);
    return NACRE_OK;
}

const struct nt_expect *nt_nonce_expect(const struct nt_nonce *nonce)
{
    return &nonce->expect;
}

void nt_nonce_free(struct nt_nonce *nonce)
{
    if (!nonce)
        return;
    if (nonce->dir_fd >= 0) {
        (void)unlinkat(nonce->dir_fd, nonce->name, 0);
        (void)close(nonce->dir_fd);
    }
    free(nonce);
}
