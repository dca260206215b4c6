#include "sole.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fds.h"

pid_t sole_start(struct sole *sole, const struct exec_plan *plan,
                 const struct shepherd_fds *fds, int *ret_executing)
{
    struct shepherd_word before = { 0 };
    int ends[2];
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    /* Until it is another program it has all memory in common with init, which waits
     * meanwhile and has no other command to serve; a copy would take 0.2 ms.  It never
     * comes back here, and what it leaves changed in memory is its own refusal. */
    pid = fd_nonblocking(ends[0]) ? vfork() : -1;
    if (pid == 0)
        shepherd_be_command(plan, fds, ends[1]);
    (void)close(ends[1]);
    if (pid < 0) {
        (void)close(ends[0]);
        return -1;
    }
    shepherd_account(&before);
    *sole = (struct sole){ .pid = pid, .user_us = before.user_us,
                           .system_us = before.system_us };
    *ret_executing = ends[0];
    return pid;
}

void sole_signal(struct sole *sole, int number, bool is_started)
{
    if (!is_started)
        sole->signal_held = number;
    else if (!sole->has_ended)
        (void)kill(-sole->pid, number);
}

void sole_reaped(struct sole *sole, pid_t pid, int status)
{
    if (pid == sole->pid && !sole->has_ended) {
        sole->has_ended = true;
        sole->word.wait_status = status;
    } else if (sole->has_ended && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
        sole->word.left_behind++;
    }
}

void sole_account(struct sole *sole, bool was_ordered)
{
    struct shepherd_word *word = &sole->word;

    if (word->kind == SHEPHERD_NONE)
        word->kind = SHEPHERD_ENDED;
    word->was_ordered = was_ordered;
    if (was_ordered)
        word->left_behind = 0; /* nothing outlived it: all were ended */
    shepherd_account(word);
    word->user_us -= sole->user_us;
    word->system_us -= sole->system_us;
}
