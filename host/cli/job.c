/* Trusts its keeper, which is of the same user and made the memory file. */
#include "job.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "nacre/buf.h"
#include "nacre/jobs.h"
#include "nacre/words.h"

static void end_with_keeper(void)
{
    pid_t keeper = getppid();

    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != keeper)
        (void)raise(SIGTERM);
}

enum nacre_status cli_job_become(int *argc, char ***argv, struct nacre_error *err)
{
    static struct nacre_buf texts = NACRE_BUF(NACRE_JOB_WORD_BYTES_MAX);
    static char *words[NACRE_WORDS_MAX + 2];
    enum nacre_status status;
    int count = 1;

    end_with_keeper();
    status = nacre_buf_read(&texts, NACRE_JOB_WORDS_FD, err);
    (void)close(NACRE_JOB_WORDS_FD);
    if (status != NACRE_OK)
        return nacre_fail_context(err, "a job's words");
    words[0] = (*argv)[0];
    for (size_t at = 0; at < texts.size; at += strlen(texts.bytes + at) + 1) {
        if (count > NACRE_WORDS_MAX)
            return nacre_fail(err, NACRE_ERR_TOO_BIG, "a job has too many words");
        words[count++] = texts.bytes + at;
    }
    *argc = count;
    *argv = words;
    return NACRE_OK;
}
