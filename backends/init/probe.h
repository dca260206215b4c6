#ifndef NACRE_INIT_PROBE_H
#define NACRE_INIT_PROBE_H

#include "walls.h"

/* What the probe writes first: the report follows, or a text that says why there is
 * none. */
#define PROBE_REPORT 'r'
#define PROBE_FAILED 'f'

/* Answers the questions into `fd`, as a report.  False: it can't, or not so many. */
bool probe_answer(const struct init_config *config, int fd);

/*
 * The life of a process that puts up the walls of a command around itself, answers the
 * configuration's questions from there into `fd`, and leaves.
 */
_Noreturn void probe_main(const struct walls *walls, const struct init_config *config,
                          int fd);

#endif
