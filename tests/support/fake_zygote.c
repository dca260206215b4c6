#include "fake_zygote.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pidfd.h"
#include "wt_share.h"

#define SOCKET_FD 3

struct fake {
    struct wt_share *share;
    const int *fds; /* share, code, control, ... */
};

static void hand_back(struct fake *fake)
{
    atomic_store(&fake->share->word, 0);
    wt_futex_wake(&fake->share->word);
}

static void get_ready(struct fake *fake)
{
    atomic_store(&fake->share->worker_tid, (uint32_t)getpid());
    hand_back(fake);
}

static void await_call(struct fake *fake)
{
    while (atomic_load(&fake->share->word) == 0)
        (void)wt_futex_wait(&fake->share->word, 0, 0);
    atomic_store(&fake->share->begun, 1);
}

static void answer(struct fake *fake, uint32_t status, uint32_t outcome)
{
    fake->share->reply.status = status;
    fake->share->reply.outcome = outcome;
    hand_back(fake);
}

static void sleep_on(void)
{
    for (;;)
        (void)pause();
}

/* ---- before any guest ---- */

static void be_silent(struct fake *fake)
{
    (void)fake;
    sleep_on();
}

static void die_early(struct fake *fake)
{
    (void)fake;
    _exit(0);
}

static void claim_no_walls(struct fake *fake)
{
    fake->share->reply.status = 77;
    memset(fake->share->reply.reason, 'x', sizeof(fake->share->reply.reason));
    hand_back(fake);
    sleep_on();
}

/* ---- when it is called ---- */

static void be_mute(struct fake *fake)
{
    get_ready(fake);
    await_call(fake);
    sleep_on();
}

static void die_late(struct fake *fake)
{
    get_ready(fake);
    await_call(fake);
    _exit(0);
}

/* Dies as if nothing had begun: the supervisor may try again, but not for ever. */
static void die_unbegun(struct fake *fake)
{
    get_ready(fake);
    await_call(fake);
    atomic_store(&fake->share->begun, 0);
    atomic_store(&fake->share->record.output_used[0], 100);
    fake->share->record.denial_count = 1;
    _exit(0);
}

static void scribble(struct fake *fake)
{
    uint32_t number = 2463534242;

    get_ready(fake);
    await_call(fake);
    for (;;) {
        number ^= number << 13;
        number ^= number >> 17;
        number ^= number << 5;
        /* Neither done nor dead: those it would be believed. */
        atomic_store(&fake->share->word, (number | 1) & ~(uint32_t)FUTEX_OWNER_DIED);
        wt_futex_wake(&fake->share->word);
    }
}

static void say_dead(struct fake *fake)
{
    get_ready(fake);
    await_call(fake);
    atomic_store(&fake->share->word, FUTEX_OWNER_DIED | (uint32_t)getpid());
    wt_futex_wake(&fake->share->word);
    sleep_on();
}

static void forge(struct fake *fake, uint32_t status, uint32_t outcome)
{
    get_ready(fake);
    for (;;) {
        await_call(fake);
        memset(fake->share->reply.reason, 'x', sizeof(fake->share->reply.reason));
        fake->share->reply.values_size = UINT32_MAX;
        memset(&fake->share->record, 0xff, sizeof(fake->share->record));
        answer(fake, status, outcome);
    }
}

static void forge_backend(struct fake *fake)
{
    forge(fake, NACRE_ERR_BACKEND, NACRE_OUTCOME_EXITED);
}

static void forge_io(struct fake *fake)
{
    forge(fake, NACRE_ERR_IO, NACRE_OUTCOME_EXITED);
}

static void forge_memory(struct fake *fake)
{
    forge(fake, NACRE_ERR_MEMORY, NACRE_OUTCOME_EXITED);
}

static void forge_denied(struct fake *fake)
{
    forge(fake, NACRE_OK, NACRE_OUTCOME_DENIED);
}

static void forge_outcome(struct fake *fake)
{
    forge(fake, NACRE_OK, UINT32_MAX);
}

/* Output that falls and rises: each rise would be shown anew. */
static void rewind_output(struct fake *fake)
{
    uint64_t most = fake->share->setup.output_bytes_max;

    get_ready(fake);
    await_call(fake);
    for (int i = 0; i < 200; i++) {
        for (int stream = 0; stream < 2; stream++)
            atomic_store(&fake->share->record.output_used[stream],
                         i % 2 ? 0 : UINT64_MAX - most);
        wt_futex_wake(&fake->share->word);
        (void)nanosleep(&(struct timespec){ .tv_nsec = 500000 }, NULL);
    }
    answer(fake, NACRE_OK, NACRE_OUTCOME_EXITED);
    sleep_on();
}

/* Answers at once and never takes its input. */
static void hoard(struct fake *fake)
{
    get_ready(fake);
    for (;;) {
        await_call(fake);
        answer(fake, NACRE_OK, NACRE_OUTCOME_EXITED);
    }
}

/* A supervisor whose mapping lost its end would die of SIGBUS. */
static void shrink(struct fake *fake)
{
    get_ready(fake);
    for (;;) {
        bool held;

        await_call(fake);
        held = ftruncate(fake->fds[0], 0) != 0 && errno == EPERM &&
               ftruncate(fake->fds[0], (off_t)1 << 40) != 0 && errno == EPERM;
        fake->share->reply.exit_status = held ? 42 : 1;
        answer(fake, NACRE_OK, NACRE_OUTCOME_EXITED);
    }
}

static const struct {
    const char *name;
    void (*deed)(struct fake *fake);
} deeds[] = {
    { "silent", be_silent },          { "dies-early", die_early },
    { "no-walls", claim_no_walls },   { "mute", be_mute },
    { "dies-late", die_late },        { "dies-unbegun", die_unbegun },
    { "scribbles", scribble },        { "says-dead", say_dead },
    { "forges-backend", forge_backend }, { "forges-io", forge_io },
    { "forges-memory", forge_memory }, { "forges-denied", forge_denied },
    { "forges-outcome", forge_outcome }, { "rewinds", rewind_output },
    { "hoards", hoard },              { "shrinks", shrink },
};

static _Noreturn void be_worker(const char *name, const int *fds)
{
    struct fake fake = { .fds = fds };
    struct stat info;
    void *mapped;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)signal(SIGUSR1, SIG_IGN); /* that its time is up */
    if (fstat(fds[0], &info) != 0)
        _exit(1);
    mapped = mmap(NULL, (size_t)info.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0],
                  0);
    if (mapped == MAP_FAILED)
        _exit(1);
    fake.share = mapped;
    for (size_t i = 0; i < NACRE_COUNT(deeds); i++)
        if (strcmp(deeds[i].name, name) == 0)
            deeds[i].deed(&fake);
    _exit(1);
}

_Noreturn void fake_zygote_main(const char *deed)
{
    struct wt_message message;
    int fds[WT_FDS_MAX];
    uint32_t count;

    while (wt_receive(SOCKET_FD, &message, fds, &count)) {
        struct wt_message reply = { .request = message.request, .pid = message.pid };
        int pidfd = -1;

        if (message.request == WT_REQUEST_REAP) {
            if (waitpid(message.pid, &reply.status, WNOHANG) <= 0)
                reply.pid = -ECHILD;
        } else {
            reply.pid = fork();
            if (reply.pid == 0)
                be_worker(deed, fds);
            pidfd = nacre_pidfd_open(reply.pid);
        }
        (void)wt_send(SOCKET_FD, &reply, &pidfd, pidfd >= 0);
        if (pidfd >= 0)
            (void)close(pidfd);
        for (uint32_t i = 0; i < count; i++)
            (void)close(fds[i]);
    }
    _exit(0);
}
