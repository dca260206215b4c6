#ifndef NACRE_TEST_ASKED_H
#define NACRE_TEST_ASKED_H

#include <stdbool.h>

#include "nacre/plan.h"

/* Requests as lines of text, so that tables and suites can hold them. */

#define ASKED_MOUNTS_MAX 8
#define ASKED_WAIVERS_MAX 4
#define ASKED_NAMES_MAX 4

struct asked {
    struct nacre_request request;
    struct nacre_mount_request mounts[ASKED_MOUNTS_MAX];
    const char *waive[ASKED_WAIVERS_MAX + 1];
    const char *secrets[ASKED_NAMES_MAX + 1], *tokens[ASKED_NAMES_MAX + 1];
    const char *intercept[ASKED_NAMES_MAX + 1];
    char text[1024]; /* what the request points into */
    size_t used;
};

/* One of "workspace DIR", "mount GUEST=HOST[:ro|rw]", "timeout-ms N", "fuel N", "session
 * KEY", "image IMAGE", "waive NAME", "secret NAME", "token NAME", "intercept HOST",
 * "unsandboxed".  False when it is none of them. */
bool asked_add(struct asked *asked, const char *line);

/* Lines with '\n' between them; NULL and "" are the empty request. */
void asked_read(struct asked *asked, const char *lines);

#endif
