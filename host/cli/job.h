#ifndef NACRE_CLI_JOB_H
#define NACRE_CLI_JOB_H

#include "nacre/error.h"

/*
 * The program as a job of the keeper's, `nacre __job`: it ends with its keeper.  Its words,
 * from the verb on, come in a memory file and become its arguments here, because an
 * argument list is there for every user of the machine to read.
 */
NACRE_MUST_CHECK enum nacre_status cli_job_become(int *argc, char ***argv,
                                                  struct nacre_error *err);

#endif
