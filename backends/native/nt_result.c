/* Init's numbers may be a guest's: they are bounded here, and decide nothing but what is
 * told about that guest. */
#include "nt_result.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "nacre/text.h"

__attribute__((format(printf, 2, 3))) static void say(struct nacre_result *result,
                                                      const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(result->reason, sizeof(result->reason), format, args);
    va_end(args);
}

void nt_result_killed(enum nt_kill kill, int signal, const char *reason,
                      struct nacre_result *result)
{
    result->outcome = NACRE_OUTCOME_KILLED;
    result->signal = signal ? signal : SIGKILL;
    say(result, "%s", reason);
    if (kill == NT_KILL_OUTPUT)
        result->outcome = NACRE_OUTCOME_OUTPUT_LIMIT;
    else if (kill == NT_KILL_OVERRUN)
        result->outcome = NACRE_OUTCOME_TIMED_OUT;
    if (result->outcome != NACRE_OUTCOME_KILLED)
        result->signal = 0;
}

static void signalled(const struct init_exit *exit, struct nacre_result *result)
{
    int number = (int)exit->status;
    const char *name = sigabbrev_np(number);

    result->outcome = NACRE_OUTCOME_KILLED;
    result->signal = number;
    if (number == SIGKILL && exit->oom_kills > 0) {
        result->outcome = NACRE_OUTCOME_OUT_OF_MEMORY;
        result->signal = 0;
        say(result, "the kernel killed it for memory");
    } else if (number == SIGSYS) {
        say(result, "it made a system call that its filter forbids");
    } else if (name) {
        say(result, NACRE_REASON_DIED "%s", name);
    } else {
        say(result, "it died of signal %d", number);
    }
}

void nt_result_exit(const struct init_exit *exit, struct nacre_result *result)
{
    switch (exit->how) {
    case INIT_HOW_EXITED:
        result->outcome = NACRE_OUTCOME_EXITED;
        result->exit_status = (int)exit->status;
        if (exit->oom_kills > 0)
            say(result, "the kernel killed processes of it for memory");
        break;
    case INIT_HOW_SIGNALLED:
        signalled(exit, result);
        break;
    case INIT_HOW_TIMED_OUT:
        result->outcome = NACRE_OUTCOME_TIMED_OUT;
        break;
    default:
        result->outcome = NACRE_OUTCOME_KILLED;
        result->signal = SIGKILL;
        say(result, "init killed it: its owner gave no sign of life in time");
    }
}

static uint64_t sum_or_most(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

void nt_result_usage(const struct init_exit *exit, struct nacre_result *result)
{
    uint64_t us = sum_or_most(exit->user_us, exit->system_us);

    result->usage.cpu_ns = us > UINT64_MAX / 1000 ? UINT64_MAX : us * 1000;
    result->usage.memory_bytes_peak = exit->memory_bytes_peak;
    result->usage.memory_refused = exit->oom_kills > 0;
    result->usage.processes_refused = exit->forks_refused > 0;
}

static const char *error_words(uint64_t number)
{
    const char *words = number < 4096 ? strerrordesc_np((int)number) : NULL;

    return words && number > 0 ? words : "an unknown error";
}

/* A name like ./prog depends on where the command starts, which nobody may have said. */
static enum nacre_status fail_not_found(const struct init_start *start, const char *shown,
                                        struct nacre_error *err)
{
    const char *name = start->arguments[0];
    bool depends = name[0] != '/' && strchr(name, '/');
    char from[NACRE_SHOWN];

    return nacre_fail(err, NACRE_ERR_NOT_FOUND,
                      "%s: there is no such program here, or the interpreter that it "
                      "names is not there%s%s%s",
                      shown, depends ? "; the command starts in " : "",
                      depends ? nacre_text_shown(from, start->directory) : "",
                      depends ? ": --workspace or --directory says where" : "");
}

enum nacre_status nt_result_refused(const struct nt_run *run,
                                    const struct init_start *start, bool *ret_spent,
                                    struct nacre_error *err)
{
    const char *why = error_words(run->refusal_errno);
    char shown[NACRE_SHOWN];

    *ret_spent = false;
    switch (run->refusal) {
    case INIT_REFUSAL_EXEC:
        (void)nacre_text_shown(shown, start->arguments[0]);
        if (run->refusal_errno == ENOENT)
            return fail_not_found(start, shown, err);
        return nacre_fail(err, NACRE_ERR_NOT_RUNNABLE, "%s can't be executed: %s", shown,
                          why);
    case INIT_REFUSAL_DIRECTORY:
        return nacre_fail(err, NACRE_ERR_NOT_RUNNABLE,
                          "the command can't start in %s: %s",
                          nacre_text_shown(shown, start->directory), why);
    case INIT_REFUSAL_FULL:
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "the sandbox takes no further command now: too many run in it, "
                          "or it can't make a process (%s)",
                          why);
    case INIT_REFUSAL_MASK:
        *ret_spent = true;
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "a denied path is not covered in the sandbox any more: %s",
                          run->refusal_text);
    default:
        *ret_spent = true;
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "a wall could not be put up for the command: %s: %s",
                          run->refusal_text, why);
    }
}
