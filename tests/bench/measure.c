#include "measure.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BLOCK_CALLS 50
#define WARM_UP_CALLS 100
#define LIVE_BEFORE 2
#define LIVE_COUNTED 8
#define PROCESSES_MAX 32768
#define COUNT_MAX 10000000

void measure_die(const char *format, ...)
{
    va_list arguments;

    (void)fprintf(stderr, "%s: ", program_invocation_short_name);
    va_start(arguments, format);
    (void)vfprintf(stderr, format, arguments);
    va_end(arguments);
    (void)fputc('\n', stderr);
    /* Not exit(): other threads may be inside the engine. */
    _exit(1);
}

uint64_t measure_now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint32_t measure_count(const char *text)
{
    char *end;
    unsigned long value;

    errno = 0;
    value = strtoul(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || *end || errno || value == 0 ||
        value > COUNT_MAX)
        measure_die("expected a number from 1 to %d instead of '%s'", COUNT_MAX, text);
    return (uint32_t)value;
}

void measure_print(const char *row, const char *metric, uint64_t value)
{
    if (printf("%s\t%s\t%" PRIu64 "\n", row, metric, value) < 0 || fflush(stdout) != 0)
        measure_die("can't write the findings: %s", strerror(errno));
}

static void *allocate(size_t count, size_t size)
{
    void *room = calloc(count, size);

    if (!room)
        measure_die("out of memory");
    return room;
}

/* ---- times ---- */

static int by_size(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;

    return (*a > *b) - (*a < *b);
}

static void run_block(const struct measure_variant *variant, uint64_t *ret_samples,
                      uint32_t count)
{
    if (variant->enter)
        variant->enter(variant->data);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t start = measure_now_ns();

        variant->call(variant->data);
        ret_samples[i] = measure_now_ns() - start;
    }
    if (variant->leave)
        variant->leave(variant->data);
}

/* How many calls of a variant fall on the first `count` calls of the others. */
static uint32_t share_of(const struct measure_variant *variant, uint32_t count)
{
    uint32_t one_in = variant->one_in ? variant->one_in : 1;

    return (count + one_in - 1) / one_in;
}

static void report_times(struct measure_variant *variant, uint32_t count)
{
    uint64_t *samples = variant->samples_ns;

    qsort(samples, count, sizeof(*samples), by_size);
    measure_print(variant->row, "p50_ns", samples[count / 2]);
    measure_print(variant->row, "p99_ns", samples[(uint64_t)count * 99 / 100]);
    free(samples);
    variant->samples_ns = NULL;
}

void measure_by_turns(struct measure_variant *variants, size_t variant_count,
                      uint32_t count)
{
    uint64_t warm_up[WARM_UP_CALLS];

    for (size_t v = 0; v < variant_count; v++) {
        variants[v].samples_ns = allocate(count, sizeof(uint64_t));
        run_block(&variants[v], warm_up,
                  share_of(&variants[v], count < WARM_UP_CALLS ? count : WARM_UP_CALLS));
    }
    for (uint32_t done = 0; done < count; done += BLOCK_CALLS) {
        uint32_t block = count - done < BLOCK_CALLS ? count - done : BLOCK_CALLS;

        for (size_t v = 0; v < variant_count; v++) {
            uint32_t before = share_of(&variants[v], done);

            run_block(&variants[v], variants[v].samples_ns + before,
                      share_of(&variants[v], done + block) - before);
        }
    }
    for (size_t v = 0; v < variant_count; v++)
        report_times(&variants[v], share_of(&variants[v], count));
}

/* ---- programs ---- */

void measure_program(void *data)
{
    char **arguments = data;
    posix_spawn_file_actions_t actions;
    int status = -1, failed;
    pid_t pid;

    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY,
                                           0);
    (void)posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY,
                                           0);
    failed = posix_spawnp(&pid, arguments[0], &actions, NULL, arguments, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (failed)
        measure_die("%s: %s", arguments[0], strerror(failed));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        measure_die("%s failed: status %#x", arguments[0], (unsigned)status);
}

size_t measure_programs(char **words, struct measure_variant *ret_variants, size_t max)
{
    size_t count = 0;

    while (*words) {
        if (count == max || !words[1])
            measure_die("at most %zu programs, each after the name of its row", max);
        ret_variants[count++] = (struct measure_variant){
            .row = words[0], .call = measure_program, .data = words + 1
        };
        while (*words && strcmp(*words, "+") != 0)
            words++;
        if (*words)
            *words++ = NULL;
    }
    return count;
}

/* ---- clients ---- */

struct crowd {
    pthread_barrier_t start;
    uint32_t count;
    void (*call)(void *data, uint32_t client);
    void *data;
};

struct client {
    struct crowd *crowd;
    uint32_t number;
    pthread_t thread;
    uint64_t start_ns, end_ns; /* its own: whoever waits for it may be scheduled late */
};

static void *be_client(void *data)
{
    struct client *client = data;
    struct crowd *crowd = client->crowd;

    crowd->call(crowd->data, client->number);
    (void)pthread_barrier_wait(&crowd->start);
    client->start_ns = measure_now_ns();
    for (uint32_t i = 0; i < crowd->count; i++)
        crowd->call(crowd->data, client->number);
    client->end_ns = measure_now_ns();
    return NULL;
}

void measure_clients(const char *row, const char *metric, uint32_t clients,
                     uint32_t count, void (*call)(void *data, uint32_t client),
                     void *data)
{
    struct crowd crowd = { .count = count, .call = call, .data = data };
    struct client client[MEASURE_CLIENTS_MAX];
    uint64_t start_ns = UINT64_MAX, end_ns = 0;

    if (clients > MEASURE_CLIENTS_MAX)
        measure_die("at most %d clients", MEASURE_CLIENTS_MAX);
    (void)pthread_barrier_init(&crowd.start, NULL, clients);
    for (uint32_t i = 0; i < clients; i++) {
        client[i] = (struct client){ .crowd = &crowd, .number = i };
        if (pthread_create(&client[i].thread, NULL, be_client, &client[i]) != 0)
            measure_die("can't start a thread");
    }
    for (uint32_t i = 0; i < clients; i++) {
        (void)pthread_join(client[i].thread, NULL);
        start_ns = client[i].start_ns < start_ns ? client[i].start_ns : start_ns;
        end_ns = client[i].end_ns > end_ns ? client[i].end_ns : end_ns;
    }
    (void)pthread_barrier_destroy(&crowd.start);
    measure_print(row, metric,
                  (uint64_t)clients * count * 1000000000u / (end_ns - start_ns + 1));
}

/* ---- memory ---- */

struct process {
    int pid, parent;
    bool ours;
};

static int parent_of(int pid)
{
    char path[64], line[1024];
    const char *after_name;
    int parent = -1;
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    file = fopen(path, "re");
    if (!file)
        return -1;
    /* The name may hold anything, parentheses included; the last one ends it. */
    if (fgets(line, sizeof(line), file) && (after_name = strrchr(line, ')')) != NULL)
        (void)sscanf(after_name, ") %*c %d", &parent);
    (void)fclose(file);
    return parent;
}

static uint64_t pss_bytes(int pid)
{
    char path[64], line[256];
    uint64_t kilobytes = 0;
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", pid);
    file = fopen(path, "re");
    if (!file)
        return 0;
    while (fgets(line, sizeof(line), file) && kilobytes == 0)
        (void)sscanf(line, "Pss: %" SCNu64 " kB", &kilobytes);
    (void)fclose(file);
    return kilobytes * 1024;
}

static size_t list_processes(struct process *ret_processes)
{
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    size_t count = 0;

    if (!proc)
        measure_die("/proc: %s", strerror(errno));
    while ((entry = readdir(proc)) && count < PROCESSES_MAX) {
        int pid = atoi(entry->d_name);

        if (pid > 0)
            ret_processes[count++] =
                (struct process){ pid, parent_of(pid), pid == (int)getpid() };
    }
    (void)closedir(proc);
    return count;
}

uint64_t measure_memory_bytes(void)
{
    static struct process processes[PROCESSES_MAX];
    size_t count = list_processes(processes);
    uint64_t sum = 0;
    bool changed = true;

    while (changed) {
        changed = false;
        for (size_t i = 0; i < count; i++)
            for (size_t j = 0; j < count && !processes[i].ours; j++)
                if (processes[j].ours && processes[i].parent == processes[j].pid)
                    processes[i].ours = changed = true;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t bytes = processes[i].ours ? pss_bytes(processes[i].pid) : 0;

        if (processes[i].ours && bytes == 0)
            return 0;
        sum += bytes;
    }
    return sum;
}

void measure_live(const char *row, void (*start)(void *data, uint32_t number), void *data)
{
    uint64_t before, after;

    for (uint32_t i = 0; i < LIVE_BEFORE; i++)
        start(data, i);
    before = measure_memory_bytes();
    for (uint32_t i = 0; i < LIVE_COUNTED; i++)
        start(data, LIVE_BEFORE + i);
    after = measure_memory_bytes();
    if (before == 0 || after == 0) {
        (void)printf("%s\tunavailable\tonly root may see a jailed process's memory\n",
                     row);
        return;
    }
    measure_print(row, "bytes", after > before ? (after - before) / LIVE_COUNTED : 0);
}
