#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "nacre/path.h"
#include "nt_placeholders.h"
#include "nt_report.h"

#define NONCE_PREFIX ".nacre-nonce-"
#define NONCE_MODE "mode=101600" /* a placeholder's */

struct nt_nonce {
    struct nt_placeholders *held;
    char question[NACRE_PATH_MAX];
    struct nt_expect expect;
};

static enum nacre_status hold(struct nt_nonce *nonce, const char *state_dir, int dir_fd,
                              const char *name, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    enum nacre_status status = nt_placeholders_open(state_dir, &nonce->held, err);

    if (status == NACRE_OK)
        status = nt_placeholders_hold(nonce->held, dir_fd, name, false, &fd, err);
    if (status == NACRE_OK && fd < 0) {
        errno = EACCES;
        return nacre_fail(err, NACRE_ERR_IO, "can't make a file to know a directory by");
    }
    return status;
}

enum nacre_status nt_nonce_make(const char *state_dir, int dir_fd, const char *guest_path,
                                struct nt_nonce **ret_nonce, struct nacre_error *err)
{
    NACRE_AUTO(nt_nonce_guard) struct nt_nonce *nonce = calloc(1, sizeof(*nonce));
    char name[sizeof(NONCE_PREFIX) + NACRE_HEX], hex[NACRE_HEX];
    struct nacre_digest random;
    enum nacre_status status;

    if (!nonce)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a file to know a directory by");
    status = nacre_random(random.bytes, sizeof(random.bytes), err);
    if (status != NACRE_OK)
        return status;
    (void)snprintf(name, sizeof(name), NONCE_PREFIX "%s",
                   nacre_digest_hex(&random, hex));
    if (snprintf(nonce->question, sizeof(nonce->question), "stat %s/%s",
                 strcmp(guest_path, "/") == 0 ? "" : guest_path, name) >=
        (int)sizeof(nonce->question))
        return nacre_fail(err, NACRE_ERR_TOO_BIG, "the path of a bind");
    nonce->expect = (struct nt_expect){ .what = nonce->question + strlen("stat "),
                                        .check = NT_CHECK_STAT,
                                        .question = nonce->question,
                                        .planned = NONCE_MODE };
    status = hold(nonce, state_dir, dir_fd, name, err);
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
    nt_placeholders_free(nonce->held);
    free(nonce);
}
