#ifndef NACRE_INIT_PROBE_H
#define NACRE_INIT_PROBE_H

#include "walls.h"

/* What the probe writes first: the report follows, or a text that says why there is
 * none. */
#define PROBE_REPORT 'r'
#define PROBE_FAILED 'f'

/* Answers the questions, as a report that stays until the next one.  False: it would be
 * too long. */
bool probe_answer(const struct init_config *config, const uint8_t **ret_report,
                  size_t *ret_count);

/*
 * The life of a process that puts up the walls of a command around itself, answers the
 * configuration's questions from there into `fd`, and leaves.
 */
_Noreturn void probe_main(const struct walls *walls, const struct init_config *config,
                          int fd);

#endif
