#ifndef DK_NAME_H
#define DK_NAME_H

#include <stdbool.h>

#include "nacre/buf.h"

/* Texts that become part of a request's path or query, or came out of an answer. */

/* [a-zA-Z0-9][a-zA-Z0-9_.-]*, at most 128: an id is one too. */
bool dk_name_is_container(const char *name);

/* An image's reference or id; of a path's letters, with no empty, "." or ".." part. */
bool dk_name_is_image(const char *name);

/* 64 lower-case hex digits. */
bool dk_name_is_id(const char *text);

/* "sha256:" and an id. */
bool dk_name_is_image_id(const char *text);

/* "key=value" with the value percent-encoded, behind '?' or '&' as `path` needs it. */
NACRE_MUST_CHECK enum nacre_status dk_query_add(struct nacre_buf *path, const char *key,
                                                const char *value,
                                                struct nacre_error *err);

#endif
