#ifndef NACRE_INIT_NAMES_H
#define NACRE_INIT_NAMES_H

#include <stddef.h>
#include <stdint.h>

/*
 * The sandbox's name server: says of every name that the doorway serves that it is the
 * doorway, and of any other that there is none.  It asks nobody: no query ever leaves.
 */
#define NAMES_ANSWER_MAX 512

/*
 * The answer to one query, or 0: nothing is said.  `names` (NULL-terminated) as in
 * struct init_config.
 */
size_t names_answer(const char *const *names, const uint8_t *query, size_t count,
                    uint8_t ret_answer[NAMES_ANSWER_MAX]);

/* Answers what has come to the socket, a few at a time. */
void names_serve(int fd, const char *const *names);

#endif
