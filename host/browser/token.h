#ifndef BROWSER_TOKEN_H
#define BROWSER_TOKEN_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nacre/error.h"

/*
 * Who may come in.  A token is 128 random bits and opens one thing once; what is kept of
 * it is a digest, so that finding one tells nothing by the time it takes.  From several
 * threads.
 */
#define TOKEN_HEX 33 /* with the terminator */
#define TOKENS_MAX 64
#define TOKEN_LIFE_MS 60000 /* unused */

enum token_kind {
    TOKEN_NONE,
    TOKEN_CDP_HTTP,   /* one answer to /json/version, with a TOKEN_CDP_SOCKET in it */
    TOKEN_CDP_SOCKET, /* one WebSocket to the browser */
    TOKEN_SCREEN,     /* one visit to noVNC's page */
};

/* A visit to the page, by a secret in its path and another in a cookie: its files, and
 * one WebSocket, with which it ends. */
struct token_visit {
    char path[TOKEN_HEX], cookie[TOKEN_HEX];
};

struct tokens;
struct tokens *tokens_new(void); /* NULL: no memory */
void tokens_free(struct tokens *tokens); /* accepts NULL */

/* A new one.  NACRE_ERR_TOO_BIG: TOKENS_MAX wait to be used. */
NACRE_MUST_CHECK enum nacre_status tokens_give(struct tokens *tokens,
                                               enum token_kind kind, uint64_t now_ns,
                                               char ret_token[TOKEN_HEX],
                                               struct nacre_error *err);

/* Is it one of this kind?  Then it is no more. */
bool tokens_take(struct tokens *tokens, enum token_kind kind, const char *token,
                 uint64_t now_ns);

/* A TOKEN_SCREEN has been taken: the visit begins. */
NACRE_MUST_CHECK enum nacre_status tokens_visit(struct tokens *tokens, uint64_t now_ns,
                                                struct token_visit *ret_visit,
                                                struct nacre_error *err);
/* May a file of the page be had by these two?  They may be any text. */
bool tokens_is_visit(struct tokens *tokens, const struct token_visit *visit,
                     uint64_t now_ns);
/* The same for its WebSocket, which is the only one. */
bool tokens_visit_socket(struct tokens *tokens, const struct token_visit *visit,
                         uint64_t now_ns);
void tokens_visit_end(struct tokens *tokens, const struct token_visit *visit);

#endif
