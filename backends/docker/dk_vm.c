/* What QEMU writes to its standard output is the guest's: passed on, never read.  Its
 * complaints are shown escaped and cut. */
#include "dk_vm.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dk_last.h"
#include "dk_thread.h"
#include "nacre/clock.h"

/* Longer than any machine is wanted; it ends by being cancelled. */
#define FOREVER_MS (UINT64_C(3650) * 24 * 3600 * 1000)
#define PASS_MS 3000 /* less than what the owner of a box may take for a piece of output */
#define LAST_WORD_MS 2500 /* for the news of QEMU's end to come after the channel's */

struct dk_vm {
    struct nt_box *around, *inside;
    const char *const *words; /* until it has started */
    int far_fd;               /* QEMU's end of the channel */
    int done_fd;              /* an eventfd: QEMU has ended */
    _Atomic int cancelled;
    bool started; /* the thread */
    pthread_t thread;
    struct dk_last last;
    /* When it is done. */
    struct nacre_result *result;
    enum nacre_status status;
    struct nacre_error err;
};

/* ---- QEMU, in a thread of its own ---- */

/* A machine whose owner reads no more is given up. */
static void pass_on(struct dk_vm *vm, const char *bytes, size_t count)
{
    uint64_t until = nacre_clock_ns() + PASS_MS * NACRE_NS_PER_MS;

    while (count > 0) {
        struct pollfd ready = { .fd = vm->far_fd, .events = POLLOUT };
        ssize_t put = send(vm->far_fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (put > 0) {
            bytes += put;
            count -= (size_t)put;
            continue;
        }
        if ((put < 0 && errno != EAGAIN && errno != EINTR) || nacre_clock_ns() >= until) {
            atomic_store(&vm->cancelled, SIGKILL);
            return;
        }
        (void)poll(&ready, 1, 100);
    }
}

static void take_output(void *data, int stream, const char *bytes, size_t count)
{
    struct dk_vm *vm = data;

    if (stream == 1)
        pass_on(vm, bytes, count);
    else
        dk_last_add(&vm->last, bytes, count);
}

static void *attend(void *data)
{
    static const char *const environment[] = { "PATH=/usr/bin:/bin", NULL };
    struct dk_vm *vm = data;
    const struct nacre_request request = {
        .input_fd = vm->far_fd,
        .on_output = take_output,
        .on_output_data = vm,
        .stream_only = true,
    };
    const struct nt_command command = {
        .start = { .arguments = vm->words, .environment = environment, .directory = "/",
                   .wall_ms_max = FOREVER_MS, .input = true },
        .output_bytes_max = UINT64_MAX,
        .request = &request,
        .cancelled = &vm->cancelled,
    };

    vm->status = nt_box_run(vm->around, &command, vm->result, &vm->err);
    (void)shutdown(vm->far_fd, SHUT_RDWR);
    (void)eventfd_write(vm->done_fd, 1);
    return NULL;
}

static bool is_done(const struct dk_vm *vm, int wait_ms)
{
    struct pollfd done = { .fd = vm->done_fd, .events = POLLIN };

    return poll(&done, 1, wait_ms) > 0;
}

/* ---- the machine ---- */

void dk_vm_free(struct dk_vm *vm)
{
    if (!vm)
        return;
    nt_box_free(vm->inside);
    atomic_store(&vm->cancelled, SIGKILL);
    if (vm->started)
        (void)pthread_join(vm->thread, NULL);
    if (vm->far_fd >= 0)
        (void)close(vm->far_fd);
    if (vm->done_fd >= 0)
        (void)close(vm->done_fd);
    nacre_result_free(vm->result);
    free(vm);
}

struct nt_box *dk_vm_box(struct dk_vm *vm)
{
    return vm->inside;
}

static enum nacre_status start(struct dk_vm *vm, struct nt_stream *ret_stream,
                               struct nacre_error *err)
{
    int ends[2];
    enum nacre_status status;

    vm->done_fd = eventfd(0, EFD_CLOEXEC);
    if (vm->done_fd < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "a machine's channel");
    vm->far_fd = ends[1];
    status = nt_stream_fd(ends[0], ret_stream, err);
    if (status != NACRE_OK)
        return status;
    if (!dk_thread_start(&vm->thread, attend, vm)) {
        ret_stream->ops->close(ret_stream->stream);
        return nacre_fail(err, NACRE_ERR_MEMORY, "a thread for a machine");
    }
    vm->started = true;
    return NACRE_OK;
}

enum nacre_status dk_vm_open(const struct dk_vm_order *order, struct dk_vm **ret_vm,
                             struct nacre_error *err)
{
    NACRE_AUTO(dk_vm_guard) struct dk_vm *vm = calloc(1, sizeof(*vm));
    struct nt_stream stream;
    bool for_memory;
    enum nacre_status status;

    if (!vm)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a machine");
    vm->far_fd = vm->done_fd = -1;
    vm->around = order->around;
    vm->words = order->words;
    status = nacre_result_new(&vm->result, err);
    if (status == NACRE_OK)
        status = start(vm, &stream, err);
    if (status != NACRE_OK)
        return status;
    status = nt_box_open_machine(&stream, order->machine, order->config, order->wait,
                                 &vm->inside, err);
    if (status == NACRE_ERR_IO)
        dk_vm_tell_end(vm, &for_memory, err);
    if (status != NACRE_OK)
        return status;
    *ret_vm = dk_vm_take(&vm);
    return NACRE_OK;
}

static void describe(const struct dk_vm *vm, char *ret_text, size_t size)
{
    const struct nacre_result *result = vm->result;

    if (vm->status != NACRE_OK)
        (void)snprintf(ret_text, size, "%.200s", vm->err.text);
    else if (result->outcome == NACRE_OUTCOME_OUT_OF_MEMORY)
        (void)snprintf(ret_text, size, "the kernel killed QEMU for memory");
    else if (result->signal)
        (void)snprintf(ret_text, size, "QEMU was killed by signal %d", result->signal);
    else
        (void)snprintf(ret_text, size, "QEMU ended with status %d", result->exit_status);
}

void dk_vm_tell_end(struct dk_vm *vm, bool *ret_for_memory, struct nacre_error *err)
{
    char how[256], said[DK_LAST_SHOWN];

    *ret_for_memory = false;
    if (!is_done(vm, LAST_WORD_MS))
        return;
    describe(vm, how, sizeof(how));
    *ret_for_memory = vm->status == NACRE_OK &&
                      vm->result->outcome == NACRE_OUTCOME_OUT_OF_MEMORY;
    (void)dk_last_shown(&vm->last, said);
    errno = 0; /* the sentence says it all */
    (void)nacre_fail(err, NACRE_ERR_IO, "the machine has ended: %s%s%.300s", how,
                     said[0] ? ", saying: " : "", said);
}
