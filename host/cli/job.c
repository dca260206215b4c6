/* Trusts its keeper, which is of the same user and made the memory file. */
#include "job.h"

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

/* What is made here lives as long as the program. */
enum nacre_status cli_job_become(int *argc, char ***argv, struct nacre_error *err)
{
    static struct nacre_buf texts = NACRE_BUF(NACRE_JOB_WORD_BYTES_MAX);
    static char **words;
    enum nacre_status status;
    size_t count = 1;

    end_with_keeper();
    status = nacre_buf_read(&texts, NACRE_JOB_WORDS_FD, err);
    (void)close(NACRE_JOB_WORDS_FD);
    if (status != NACRE_OK)
        return nacre_fail_context(err, "a job's words");
    words = calloc(count_texts(&texts) + 2, sizeof(*words));
    if (!words)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a job's words");
    words[0] = (*argv)[0];
    for (size_t at = 0; at < texts.size; at += strlen(texts.bytes + at) + 1)
        words[count++] = texts.bytes + at;
    *argc = (int)count;
    *argv = words;
    return NACRE_OK;
}
