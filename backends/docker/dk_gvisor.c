/* What the engine says about runsc, and what init says about its kernel: see
 * dk_runtime.h for how little of it is believed. */
#include "dk_gvisor.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "nacre/text.h"

const char *const dk_gvisor_questions[] = { DK_SENTRY, DK_BOOT_ID, DK_VERSION, NULL };

/* runsc's own tests take walls down with these. */
static bool is_weakened(const json_t *runtime)
{
    const json_t *arguments = json_object_get(runtime, "runtimeArgs");

    for (size_t i = 0; i < json_array_size(arguments); i++) {
        const char *text = json_string_value(json_array_get(arguments, i));

        if (!text || strcasestr(text, "TESTONLY"))
            return true;
    }
    return false;
}

/* How much it looks like runsc: 0 not at all. */
static int likeness(const char *name, const json_t *runtime)
{
    bool is_named = strcmp(name, "runsc") == 0 || strcmp(name, "gvisor") == 0;
    bool is_runsc = strcmp(dk_runtime_program(runtime), "runsc") == 0 ||
                    strncmp(dk_runtime_says(runtime, "runtimeType"),
                            "io.containerd.runsc.", 20) == 0;

    return is_weakened(runtime) ? 0 : 2 * is_runsc + is_named;
}

const char *dk_gvisor_runtime(const json_t *info)
{
    return dk_runtime_best(info, likeness);
}

enum nacre_status dk_gvisor_prove(const struct dk_site *site, const struct nt_box *box,
                                  struct nacre_error *err)
{
    size_t count;
    const char *version = nt_box_answer(box, DK_VERSION, &count);
    char shown[NACRE_SHOWN], shown_name[NACRE_SHOWN];
    enum nacre_status status =
        dk_runtime_has_kernel(site, box, site->gvisor, "gVisor", err);

    if (status != NACRE_OK)
        return status;
    if (!dk_runtime_answers(box, DK_SENTRY) || !dk_runtime_answers(box, DK_VERSION))
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "the engine's runtime '%s' is not gVisor: the kernel inside, "
                          "'%s', is not its sentry",
                          nacre_text_shown(shown_name, site->gvisor),
                          nacre_text_shown(shown, version ? version : "unknown"));
    return NACRE_OK;
}

/* ---- how it ends ---- */

#define LOOK_MS 10000
#define LAST_WORD_MS 1500 /* for the engine to tell how a container died */
#define WORDS 16384 /* of a command line; a container's id stands early */

static bool is_runsc(const char *word)
{
    const char *slash = strrchr(word, '/');

    return strncmp(slash ? slash + 1 : word, "runsc", 5) == 0;
}

/* Its program, or the script that its interpreter runs, is runsc, and it is about this
 * container, whose id nobody else's is. */
static bool is_about(const char *pid, const char *id)
{
    char path[64], words[WORDS];
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    const char *second;
    ssize_t count;

    (void)snprintf(path, sizeof(path), "/proc/%.20s/cmdline", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    count = fd < 0 ? -1 : read(fd, words, sizeof(words) - 1);
    if (count <= 0)
        return false;
    words[count] = '\0';
    second = words + strlen(words) + 1;
    return (is_runsc(words) || (second < words + count && is_runsc(second))) &&
           memmem(words, (size_t)count, id, strlen(id));
}

/* On a platform that does not work here (kvm under another hypervisor) it spins for ever,
 * and the engine waits for it.  False: some are not ours to end. */
static bool end_runsc(const char *id)
{
    DIR *listing = opendir("/proc");
    const struct dirent *entry;
    bool all = listing != NULL;

    while (listing && (entry = readdir(listing))) {
        NACRE_AUTO(nacre_fd_guard) int fd = -1;

        if (!isdigit((unsigned char)entry->d_name[0]) || !is_about(entry->d_name, id))
            continue;
        /* Held, then looked at once more: a number can be another's by now. */
        fd = (int)syscall(SYS_pidfd_open, (pid_t)strtol(entry->d_name, NULL, 10), 0);
        if (fd >= 0 && is_about(entry->d_name, id))
            all &= syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) == 0;
    }
    if (listing)
        (void)closedir(listing);
    return all;
}

bool dk_gvisor_ran_out(struct dk_client *client, const char *id, uint64_t since_s)
{
    const struct timespec pause = { .tv_nsec = 50 * (long)NACRE_NS_PER_MS };
    const struct nt_wait wait = dk_within_ms(LAST_WORD_MS);
    bool found = false;

    while (!found && !nt_wait_is_over(&wait)) {
        struct nacre_error ignored;

        if (dk_container_ran_out(client, id, since_s, dk_within_ms(LOOK_MS), &found,
                                 &ignored) != NACRE_OK)
            return false;
        if (!found)
            (void)nanosleep(&pause, NULL);
    }
    return found;
}

enum nacre_status dk_gvisor_give_up(struct dk_client *client, const char *id,
                                    uint64_t since_s, enum nacre_status status,
                                    struct nacre_error *err)
{
    /* What takes so long spins, as far as anybody can tell. */
    if (status == NACRE_ERR_TIMEOUT)
        return nacre_fail_context(
            err, end_runsc(id) ? "gVisor does not come up here: register runsc with "
                                 "--platform=systrap or --platform=ptrace"
                               : "gVisor does not come up here, and runsc is not ours to "
                                 "end");
    if (strstr(err->text, "exit status 137") ||
        (status == NACRE_ERR_IO && dk_gvisor_ran_out(client, id, since_s)))
        return nacre_fail_context(err, "memory_mb is too little for gVisor itself, "
                                       "before any command: raise it");
    return status;
}
