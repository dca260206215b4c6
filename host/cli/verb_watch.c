/* Build and test a tool whenever its folder changes. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>

#include "author.h"
#include "nacre/own.h"
#include "nacre/path.h"
#include "report.h"
#include "verbs.h"

#define SETTLE_MS 100 /* an editor writes more than once */
#define EVENTS (IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE | IN_CREATE)

static volatile sig_atomic_t leaving;

static void on_signal(int signal)
{
    (void)signal;
    leaving = 1;
}

static bool watch(int fd, const char *directory, const char *below)
{
    char path[NACRE_PATH_MAX];

    (void)snprintf(path, sizeof(path), "%s%s", directory, below);
    return inotify_add_watch(fd, path, EVENTS) >= 0;
}

/* What the build itself writes is no change. */
static bool is_source(const struct inotify_event *event)
{
    size_t length = event->len ? strlen(event->name) : 0;

    return length > 0 && event->name[0] != '.' &&
           !(length > 5 && strcmp(event->name + length - 5, ".wasm") == 0) &&
           !(length > 4 && strcmp(event->name + length - 4, ".new") == 0);
}

static bool drain(int fd)
{
    char bytes[8192] __attribute__((aligned(__alignof__(struct inotify_event))));
    bool changed = false;
    ssize_t count;

    while ((count = read(fd, bytes, sizeof(bytes))) > 0)
        for (char *at = bytes; at < bytes + count;) {
            const struct inotify_event *event = (const struct inotify_event *)(void *)at;

            changed |= is_source(event);
            at += sizeof(*event) + event->len;
        }
    return changed;
}

/* False: it is time to leave. */
static bool wait_for_change(int fd)
{
    struct pollfd watched = { .fd = fd, .events = POLLIN };

    while (!leaving) {
        if (poll(&watched, 1, -1) < 0)
            continue;
        (void)poll(NULL, 0, SETTLE_MS);
        if (drain(fd))
            return !leaving;
    }
    return false;
}

/* The manifest may have changed as well. */
static int once(const struct cli_args *args, const char *directory)
{
    NACRE_AUTO(nacre_manifest_guard) struct nacre_manifest *manifest = NULL;
    const struct cli_testing testing = { .quiet = true };
    struct nacre_error err;
    enum nacre_status status = cli_author_load(directory, &manifest, &err);

    if (status == NACRE_OK)
        status = cli_author_build(manifest, &err);
    return status == NACRE_OK ? cli_author_test(args, manifest, &testing)
                              : cli_fail(args, &err);
}

static int run(const struct cli_args *args)
{
    NACRE_AUTO(nacre_fd_guard) int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    const char *directory = args->operand_count ? args->operands[0] : ".";
    struct sigaction action = { .sa_handler = on_signal };
    struct nacre_error err;

    if (fd < 0 || !watch(fd, directory, "")) {
        (void)nacre_fail(&err, NACRE_ERR_IO, "watching '%.300s'", directory);
        return cli_fail(args, &err);
    }
    (void)watch(fd, directory, "/src");
    (void)watch(fd, directory, "/tests");
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    do {
        (void)once(args, directory);
        (void)fflush(stdout);
        (void)drain(fd); /* --update and the build write, too */
    } while (wait_for_change(fd));
    return 0;
}

const struct cli_verb cli_verb_watch = {
    .name = "watch",
    .summary = "build and test a tool whenever its folder changes",
    .operands = "[DIR]",
    .about = "Shows what failed, and how many passed. Ends by Ctrl-C.",
    .example = "  nacre watch wordcount",
    .operand_offer = CLI_OFFER_DIRECTORIES,
    .operands_max = 1,
    .run = run,
};
