/*
 * The child is the nacre program, of our own user; what runs beneath it is a guest, so
 * that what comes out of the pipes is kept within a ceiling and otherwise not looked at.
 */
#include "job.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nacre/clock.h"
#include "nacre/own.h"
#include "nacre/spawn.h"

#define GRACE_MS 3000   /* from SIGTERM to SIGKILL: nacre ends its run by then */
#define LINGER_MS 2000  /* for output behind the child's end */
#define WRITE_MS 10000
#define LOOK_MS 200

/* ---- what it wrote ---- */

uint64_t job_kept_from(const struct job *job)
{
    return job->written > NACRE_JOB_BYTES_MAX ? job->written - NACRE_JOB_BYTES_MAX : 0;
}

size_t job_copy(const struct job *job, uint64_t offset, char *ret_bytes, size_t count)
{
    size_t left = (size_t)(job->written - offset), first;
    size_t at = (size_t)(offset % NACRE_JOB_BYTES_MAX);

    if (count > left)
        count = left;
    first = count < NACRE_JOB_BYTES_MAX - at ? count : NACRE_JOB_BYTES_MAX - at;
    memcpy(ret_bytes, job->kept + at, first);
    memcpy(ret_bytes + first, job->kept, count - first);
    return count;
}

static void keep(struct job *job, const char *bytes, size_t count)
{
    (void)pthread_mutex_lock(&job->lock);
    for (size_t done = 0; done < count;) {
        size_t at = (size_t)(job->written % NACRE_JOB_BYTES_MAX);
        size_t some = count - done < NACRE_JOB_BYTES_MAX - at
                          ? count - done : NACRE_JOB_BYTES_MAX - at;

        memcpy(job->kept + at, bytes + done, some);
        job->written += some;
        done += some;
    }
    (void)pthread_cond_broadcast(&job->changed);
    (void)pthread_mutex_unlock(&job->lock);
}

/* ---- its life ---- */

struct pipes {
    int input, output; /* the child's ends */
    int words;         /* for the child */
    int our_input, our_output;
};

static void close_both(int *a, int *b)
{
    nacre_fd_guard(a);
    nacre_fd_guard(b);
    *a = *b = -1;
}

/* At 3 or above: the child's own 0, 1 and 2 are made of them. */
static int moved_up(int fd)
{
    int moved = fd >= 0 && fd <= 2 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : fd;

    if (moved != fd)
        (void)close(fd);
    return moved;
}

static bool write_texts(int fd, char *const *texts)
{
    for (size_t i = 0; texts[i]; i++)
        if (write(fd, texts[i], strlen(texts[i]) + 1) != (ssize_t)strlen(texts[i]) + 1)
            return false;
    return lseek(fd, 0, SEEK_SET) == 0 &&
           fcntl(fd, F_ADD_SEALS,
                 F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) == 0;
}

/* By a memory file: what stands in an argument list is everybody's to read. */
static bool words_open(char *const *words, int *ret_fd)
{
    int fd = moved_up(memfd_create("nacre-words", MFD_CLOEXEC | MFD_ALLOW_SEALING));

    if (fd < 0)
        return false;
    if (!write_texts(fd, words)) {
        (void)close(fd);
        return false;
    }
    *ret_fd = fd;
    return true;
}

static bool pipes_open(struct pipes *pipes)
{
    int in[2] = { -1, -1 }, out[2] = { -1, -1 };

    if (pipe2(in, O_CLOEXEC) != 0)
        return false;
    if (pipe2(out, O_CLOEXEC) != 0) {
        close_both(&in[0], &in[1]);
        return false;
    }
    *pipes = (struct pipes){ moved_up(in[0]), moved_up(out[1]), -1, in[1], out[0] };
    (void)fcntl(pipes->our_input, F_SETFL, O_NONBLOCK);
    (void)fcntl(pipes->our_output, F_SETFL, O_NONBLOCK);
    return pipes->input >= 0 && pipes->output >= 0;
}

static int spawn(const struct job *job, const struct pipes *pipes, pid_t *ret_pid)
{
    static char name[] = "nacre", verb[] = "__job";
    char *const argv[] = { name, verb, NULL };
    posix_spawn_file_actions_t actions;
    const struct nacre_spawn child = { .program = job->program, .argv = argv,
                                       .environment = job->environment,
                                       .actions = &actions, .own_session = true };
    int failed = posix_spawn_file_actions_init(&actions);

    if (failed)
        return failed;
    failed = posix_spawn_file_actions_adddup2(&actions, pipes->input, 0);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(&actions, pipes->output, 1);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(&actions, pipes->output, 2);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(&actions, pipes->words,
                                                  NACRE_JOB_WORDS_FD);
    if (!failed)
        failed = posix_spawn_file_actions_addclosefrom_np(&actions,
                                                          NACRE_JOB_WORDS_FD + 1);
    if (!failed)
        failed = posix_spawn_file_actions_addchdir_np(&actions, job->directory);
    if (!failed)
        failed = nacre_spawn(&child, ret_pid);
    (void)posix_spawn_file_actions_destroy(&actions);
    return failed;
}

/* Until the pipe has no writer any more. */
static void read_all(struct job *job, int fd, int until_ms)
{
    struct pollfd watched = { .fd = fd, .events = POLLIN };
    char bytes[32768];

    while (poll(&watched, 1, until_ms) != 0 || until_ms < 0) {
        ssize_t count = read(fd, bytes, sizeof(bytes));

        if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR))
            return;
        if (count > 0)
            keep(job, bytes, (size_t)count);
    }
}

static bool has_ended(pid_t pid)
{
    siginfo_t info = { .si_pid = 0 };

    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid != 0;
}

static void attend(struct job *job, int fd)
{
    struct pollfd watched = { .fd = fd, .events = POLLIN };
    char bytes[32768];

    while (!has_ended(job->pid)) {
        ssize_t count;

        if (poll(&watched, 1, LOOK_MS) <= 0)
            continue;
        count = read(fd, bytes, sizeof(bytes));
        if (count > 0)
            keep(job, bytes, (size_t)count);
        else if (count == 0)
            watched.fd = -1; /* it has closed its output, and goes on */
    }
    if (watched.fd >= 0)
        read_all(job, fd, LINGER_MS);
}

static void finish(struct job *job)
{
    int status = 0;

    (void)pthread_mutex_lock(&job->lock);
    while (waitpid(job->pid, &status, 0) < 0 && errno == EINTR)
        ;
    /* From here on the number may be another's. */
    job->pid = -1;
    job->exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    job->ended = true;
    job->ended_ms = nacre_clock_wall_ms();
    nacre_fd_guard(&job->input_fd);
    job->input_fd = -1;
    (void)pthread_cond_broadcast(&job->changed);
    (void)pthread_mutex_unlock(&job->lock);
}

static void tell_start(struct job *job, pid_t pid, int input_fd, int failed)
{
    (void)pthread_mutex_lock(&job->lock);
    job->pid = pid;
    job->input_fd = input_fd;
    job->start_errno = failed;
    job->started = true;
    job->ended = failed != 0;
    job->started_ms = nacre_clock_wall_ms();
    (void)pthread_cond_broadcast(&job->changed);
    (void)pthread_mutex_unlock(&job->lock);
}

/* The child's PR_SET_PDEATHSIG follows this thread, which lives as long as it does. */
static void *live(void *data)
{
    struct job *job = data;
    struct pipes pipes = { -1, -1, -1, -1, -1 };
    pid_t pid = -1;
    int failed = pipes_open(&pipes) && words_open(job->words, &pipes.words)
                     ? spawn(job, &pipes, &pid)
                     : EMFILE;

    close_both(&pipes.input, &pipes.output);
    nacre_fd_guard(&pipes.words);
    if (failed) {
        close_both(&pipes.our_input, &pipes.our_output);
        tell_start(job, -1, -1, failed);
        return NULL;
    }
    tell_start(job, pid, pipes.our_input, 0);
    attend(job, pipes.our_output);
    finish(job);
    (void)close(pipes.our_output);
    return NULL;
}

enum nacre_status job_begin(struct job *job, struct nacre_error *err)
{
    int failed = pthread_create(&job->thread, NULL, live, job);

    if (failed)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a thread for a job");
    (void)pthread_mutex_lock(&job->lock);
    while (!job->started)
        (void)pthread_cond_wait(&job->changed, &job->lock);
    failed = job->start_errno;
    (void)pthread_mutex_unlock(&job->lock);
    if (!failed)
        return NACRE_OK;
    (void)pthread_join(job->thread, NULL);
    errno = failed;
    return nacre_fail(err, NACRE_ERR_IO, "starting a job");
}

static bool wait_end(struct job *job, uint64_t wait_ms)
{
    uint64_t until_ns = nacre_clock_ns() + wait_ms * NACRE_NS_PER_MS;
    struct timespec until = { (time_t)(until_ns / NACRE_NS_PER_S),
                              (long)(until_ns % NACRE_NS_PER_S) };

    while (!job->ended &&
           pthread_cond_timedwait(&job->changed, &job->lock, &until) != ETIMEDOUT)
        ;
    return job->ended;
}

void job_end(struct job *job)
{
    (void)pthread_mutex_lock(&job->lock);
    job->stopping = true;
    if (!job->ended && job->pid > 0)
        (void)kill(job->pid, SIGTERM);
    while (!wait_end(job, GRACE_MS))
        if (job->pid > 0)
            (void)kill(job->pid, SIGKILL);
    (void)pthread_mutex_unlock(&job->lock);
}

enum nacre_status job_write(struct job *job, const char *bytes, size_t count, bool end,
                            struct nacre_error *err)
{
    uint64_t until_ns = nacre_clock_ns() + WRITE_MS * NACRE_NS_PER_MS;
    enum nacre_status status = NACRE_OK;
    size_t done = 0;

    (void)pthread_mutex_lock(&job->lock);
    if (job->input_fd < 0)
        status = nacre_fail(err, NACRE_ERR_USAGE,
                            "the command has ended, or its input is closed");
    while (status == NACRE_OK && done < count && job->input_fd >= 0) {
        ssize_t some = write(job->input_fd, bytes + done, count - done);

        if (some > 0)
            done += (size_t)some;
        else if (errno != EAGAIN && errno != EINTR)
            status = nacre_fail(err, NACRE_ERR_USAGE, "the command reads no more input");
        else if (nacre_clock_ns() > until_ns)
            status = nacre_fail(err, NACRE_ERR_TIMEOUT,
                                "the command does not read its input: %zu of %zu bytes "
                                "were taken", done, count);
        else
            (void)wait_end(job, LOOK_MS / 10); /* lets others in */
    }
    if (status == NACRE_OK && end && job->input_fd >= 0) {
        (void)close(job->input_fd);
        job->input_fd = -1;
    }
    (void)pthread_mutex_unlock(&job->lock);
    return status;
}

static void free_list(char **texts)
{
    for (size_t i = 0; texts && texts[i]; i++)
        free(texts[i]);
    free(texts);
}

void job_free(struct job *job)
{
    if (!job)
        return;
    if (job->started && job->start_errno == 0)
        (void)pthread_join(job->thread, NULL);
    (void)pthread_cond_destroy(&job->changed);
    (void)pthread_mutex_destroy(&job->lock);
    free_list(job->words);
    free_list(job->environment);
    free(job->session);
    free(job->agent);
    free(job->title);
    free(job->directory);
    free(job->kept);
    free(job);
}
