/* Trusts its keeper, which is of the same user and made the memory file. */
#include "job.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "nacre/buf.h"
#include "nacre/jobs.h"

static void end_with_keeper(void)
{
    pid_t keeper = getppid();

    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != keeper)
        (void)raise(SIGTERM);
}

static size_t count_texts(const struct nacre_buf *buf)
{
    size_t count = 0;

    for (size_t at = 0; at < buf->size; at += strlen(buf->bytes + at) + 1)
        count++;
    return count;
}

/* Behind the verb.  What is made here lives as long as the program. */
static enum nacre_status add_variables(const struct nacre_buf *texts, int *argc,
                                       char ***argv, struct nacre_error *err)
{
    static char option[] = "--env";
    size_t added = 2 * count_texts(texts), head = *argc > 1 ? 2 : (size_t)*argc;
    char **words = calloc((size_t)*argc + added + 1, sizeof(*words));
    size_t at = head;

    if (!words)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a job's variables");
    memcpy(words, *argv, head * sizeof(*words));
    for (size_t i = 0; i < texts->size; i += strlen(texts->bytes + i) + 1) {
        words[at++] = option;
        words[at++] = texts->bytes + i;
    }
    memcpy(words + at, *argv + head, ((size_t)*argc - head) * sizeof(*words));
    *argc += (int)added;
    *argv = words;
    return NACRE_OK;
}

enum nacre_status cli_job_become(int *argc, char ***argv, struct nacre_error *err)
{
    static struct nacre_buf texts = NACRE_BUF(NACRE_JOB_VARIABLE_BYTES_MAX);
    enum nacre_status status;

    end_with_keeper();
    --*argc;
    ++*argv;
    if (fcntl(NACRE_JOB_VARIABLES_FD, F_GET_SEALS) < 0)
        return NACRE_OK;
    status = nacre_buf_read(&texts, NACRE_JOB_VARIABLES_FD, err);
    (void)close(NACRE_JOB_VARIABLES_FD);
    return status == NACRE_OK && texts.size > 0 ? add_variables(&texts, argc, argv, err)
                                                : status;
}
