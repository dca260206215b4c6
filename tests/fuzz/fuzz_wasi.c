/*
 * The shims' argument decoding: the input is a program of calls.  Each call is one
 * byte for the function and, for each parameter, one byte that picks an interesting
 * number or says that four raw ones follow; the rest of the input is the guest's
 * memory to begin with.  The files are few, small and made anew for each input.
 *
 * The guest's door is hostile too: what it says, all at once and then nothing more, is the
 * input from its end backwards, in messages that are often nearly right.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "nacre/clock.h"
#include "nacre/door_wire.h"
#include "nacre/own.h"
#include "nacre/tree.h"
#include "nacre_wasi.h"

#define MEMORY 4096
#define CALLS_MAX 32

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static const int64_t interesting[] = {
    0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 100, 255, 256, 1024, MEMORY - 64, MEMORY - 8,
    MEMORY - 1, MEMORY, UINT32_MAX, INT32_MAX, INT64_MAX, INT64_MIN,
};

struct input {
    const uint8_t *bytes;
    size_t count;
};

static uint8_t take(struct input *input)
{
    if (input->count == 0)
        return 0;
    input->count--;
    return *input->bytes++;
}

static int64_t take_number(struct input *input)
{
    uint8_t choice = take(input);
    uint32_t raw = 0;

    if (choice < NACRE_COUNT(interesting))
        return interesting[choice];
    if (choice < 200)
        return choice;
    for (int i = 0; i < 4; i++)
        raw = raw << 8 | take(input);
    return raw;
}

#define SAID_MAX 8

/* Each message is five bytes of the input, and what follows it is zeros or the input. */
static void let_door_speak(int fd, const uint8_t *bytes, size_t count)
{
    for (int i = 0; i < SAID_MAX && count >= 5; i++) {
        const uint8_t *at = bytes + count - 5;
        struct nacre_door_message message = {
            .what = at[0] < 128 ? (at[0] & 1 ? NACRE_DOOR_DATA : NACRE_DOOR_ANSWER) : at[0],
            .code = at[1] < 128 ? NACRE_HTTP_OK : at[1] & 15,
            .handle = at[2],
            .number = at[3],
            .size = at[4] < 240 ? at[4] : UINT32_C(1) << (at[4] - 240 + 8),
        };
        uint8_t body[256] = { 0 };
        size_t size = message.size < sizeof(body) ? message.size : sizeof(body);

        memcpy(body, bytes, size < count ? size : count);
        if (send(fd, &message, sizeof(message), MSG_DONTWAIT) < 0 ||
            send(fd, body, size, MSG_DONTWAIT) < 0)
            return;
        count -= 5;
    }
}

static int make_tree(int top_fd)
{
    int fd;

    (void)mkdirat(top_fd, "in", 0700);
    (void)mkdirat(top_fd, "in/d", 0700);
    (void)mkdirat(top_fd, "scratch", 0700);
    (void)symlinkat("d", top_fd, "in/l");
    (void)symlinkat("../..", top_fd, "in/d/u");
    fd = openat(top_fd, "in/f", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0)
        (void)close(fd);
    return openat(top_fd, "in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Memory begins with paths, so that the smallest numbers already mean something. */
static void fill_memory(unsigned char *memory, struct input *input)
{
    static const char seed[] = "f\0d/f\0l/x\0d/u/in\0../x\0new\0d/\0key";
    /* At 1024, one of the interesting numbers: a request that is in order. */
    static const uint32_t ask[] = { 1100, 3, 1104, 8, 1112, 5, 1120, 4 };

    memset(memory, 0, MEMORY);
    memcpy(memory, seed, sizeof(seed));
    memcpy(memory + 1024, ask, sizeof(ask));
    if (input->count > 0)
        memcpy(memory + 64, input->bytes,
               input->count < MEMORY - 64 ? input->count : MEMORY - 64);
}

static void call(struct nacre_wasi *wasi, const char *name, const int64_t *numbers)
{
    uint32_t count;
    const struct nacre_wasi_function *functions = nacre_wasi_functions(&count);
    union nacre_wasi_cell cells[16];

    for (int i = 0; i < 16; i++)
        cells[i].i64 = numbers[i];
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(functions[i].name, name) == 0)
            (void)functions[i].call(wasi, cells);
}

/* With a response and a secret open: nearly every input would fail to get that far. */
static void begin_in_the_middle(struct nacre_wasi *wasi, unsigned char *memory)
{
    memcpy(memory + 2048, "key", 3);
    call(wasi, "http_request", (const int64_t[16]){ 1024, 3072 });
    call(wasi, "path_open", (const int64_t[16]){ 5, 0, 2048, 3, 0, 2, 0, 0, 3072 });
}

static void run_calls(struct nacre_wasi *wasi, struct input *input, unsigned char *memory,
                      bool in_the_middle)
{
    uint32_t function_count;
    const struct nacre_wasi_function *functions = nacre_wasi_functions(&function_count);

    fill_memory(memory, input);
    if (in_the_middle)
        begin_in_the_middle(wasi, memory);
    for (int i = 0; i < CALLS_MAX && input->count > 0; i++) {
        const struct nacre_wasi_function *function =
            &functions[take(input) % function_count];
        union nacre_wasi_cell cells[16];

        memset(cells, 0, sizeof(cells));
        for (size_t at = 0; function->signature[at] != ':'; at++)
            cells[at].i64 = take_number(input);
        if (function->call(wasi, cells) == NACRE_WASI_UNWIND)
            return;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    static const char *const denied[] = { "d/x", "later" };
    char top[64];
    NACRE_AUTO(nacre_heap_guard) unsigned char *memory = malloc(MEMORY);
    NACRE_AUTO(nacre_heap_guard) unsigned char *output = malloc(2 * 4096);
    struct input input = { bytes, count };
    struct nacre_wasi_memory guest_memory = { memory, MEMORY };
    static struct nacre_wasi_record record;
    struct nacre_wasi *wasi = NULL;
    struct nacre_error err;
    uint8_t options = take(&input);
    NACRE_AUTO(nacre_fd_guard) int top_fd = -1;
    NACRE_AUTO(nacre_fd_guard) int in_fd = -1;
    NACRE_AUTO(nacre_fd_guard) int scratch_fd = -1;
    NACRE_AUTO(nacre_fd_guard) int line_fd = -1;
    NACRE_AUTO(nacre_fd_guard) int door_fd = -1;
    int line[2];

    /* In memory where that is possible: a tree is made and removed for each input. */
    (void)snprintf(top, sizeof(top), "%s/nacre-fuzz-XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!memory || !output || !mkdtemp(top))
        abort();
    top_fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    in_fd = make_tree(top_fd);
    scratch_fd = openat(top_fd, "scratch", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    memset(&record, 0, sizeof(record));
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line) != 0)
        abort();
    line_fd = line[0];
    door_fd = line[1];
    if (options & 64)
        (void)send(door_fd,
                   &(struct nacre_door_message){ NACRE_DOOR_ANSWER, NACRE_HTTP_OK, 1, 200,
                                                 0 },
                   sizeof(struct nacre_door_message), MSG_DONTWAIT);
    let_door_speak(door_fd, bytes, count);
    /* A door that has gone, or one that keeps the guest waiting until its deadline. */
    if (options & 16)
        (void)shutdown(door_fd, SHUT_WR);
    {
        struct nacre_wasi_mount mounts[] = {
            { .guest = "/in", .fd = in_fd, .writable = true, .is_root = options & 1,
              .denied = denied, .denied_count = options & 2 ? 2 : 0 },
            { .guest = "/own", .fd = -1, .writable = true },
        };
        static const struct nacre_secret_file secrets[] = {
            { "key", (const unsigned char *)"value", 5 },
            { "f", (const unsigned char *)"", 0 },
        };
        struct nacre_wasi_config config = {
            .mounts = mounts, .mount_count = 2, .scratch_fd = scratch_fd,
            .open_files_max = 8, .scratch_bytes_max = 100000, .scratch_files_max = 20,
            .without_openat2 = options & 4,
            .has_door = options & 8, .door_fd = line_fd,
        };
        struct nacre_wasi_call call = {
            .input_fd = -1,
            .deadline_ns = nacre_clock_ns() + 5 * NACRE_NS_PER_MS,
            .memory = &guest_memory,
            .record = &record,
            .output = { output, output + 4096 },
            .output_bytes_max = 4096,
            .secret_files = secrets,
            .secret_file_count = options & 32 ? 2 : 0,
        };

        if (nacre_wasi_new(&config, &wasi, &err) != NACRE_OK ||
            nacre_wasi_begin(wasi, &call, &err) != NACRE_OK)
            abort();
        run_calls(wasi, &input, memory, options & 64);
        /* Only the line to the door may be spoilt, and only if there is one. */
        if (nacre_wasi_end(wasi, &err) != NACRE_OK && !(options & 8))
            abort();
        nacre_wasi_free(wasi);
    }
    /* Nothing was made beside the two directories, and they can be removed. */
    if (faccessat(top_fd, "x", F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
        nacre_tree_remove(AT_FDCWD, top, &err) != NACRE_OK)
        abort();
    return 0;
}
