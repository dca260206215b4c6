#include "dk_kata.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "nacre/text.h"

#define VIRTIO "stat /sys/bus/virtio/devices/virtio0"

const char *const dk_kata_questions[] = { DK_SENTRY, DK_BOOT_ID, DK_VERSION, VIRTIO,
                                          NULL };

/* "kata", "kata-fc", "kata-runtime", but not "katana". */
static bool begins(const char *text, const char *word)
{
    size_t length = strlen(word);

    return strncmp(text, word, length) == 0 && !isalpha((unsigned char)text[length]);
}

/* What stands behind `lead`; all of it where it does not begin so. */
static const char *behind(const char *text, const char *lead)
{
    return strncmp(text, lead, strlen(lead)) == 0 ? text + strlen(lead) : text;
}

/* How much it looks like one that is called `word`: 0 not at all. */
static int likeness_of(const char *name, const json_t *runtime, const char *word)
{
    bool is_it = begins(behind(dk_runtime_program(runtime), "containerd-shim-"), word) ||
                 begins(behind(dk_runtime_says(runtime, "runtimeType"),
                               "io.containerd."), word);

    return 2 * is_it + begins(name, word);
}

static int like_firecracker(const char *name, const json_t *runtime)
{
    return likeness_of(name, runtime, "kata-fc");
}

static int like_kata(const char *name, const json_t *runtime)
{
    return likeness_of(name, runtime, "kata");
}

const char *dk_kata_firecracker(const json_t *info)
{
    return dk_runtime_best(info, like_firecracker);
}

const char *dk_kata_runtime(const json_t *info)
{
    return dk_runtime_best(info, like_kata);
}

/* An engine writes "6.18-rc1" as "6.18.0-rc1". */
static bool is_release(const char *said, const char *release)
{
    char longer[sizeof(((struct utsname *)0)->release) + 8];
    int used = 0;

    (void)sscanf(release, "%*u.%*u%n", &used);
    (void)snprintf(longer, sizeof(longer), "%.*s.0%s", used, release, release + used);
    return strcmp(said, release) == 0 ||
           (release[used] != '.' && strcmp(said, longer) == 0);
}

/* Elsewhere each kernel's boot id is another than ours, the engine's own too: an alias of
 * runc would pass for a machine. */
static bool is_engine_here(const struct dk_site *site)
{
    struct utsname ours;

    return site->boot_id[0] && uname(&ours) == 0 &&
           is_release(dk_runtime_says(site->info, "KernelVersion"), ours.release);
}

enum nacre_status dk_kata_prove(const struct dk_site *site, const struct nt_box *box,
                                const char *runtime, struct nacre_error *err)
{
    char shown[NACRE_SHOWN];
    enum nacre_status status =
        dk_runtime_has_kernel(site, box, runtime, "a machine's", err);

    if (status != NACRE_OK)
        return status;
    (void)nacre_text_shown(shown, runtime);
    if (!is_engine_here(site))
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "the engine's runtime '%s' can't be proved to be a machine's: "
                          "the engine is on another kernel than nacre; run nacre where "
                          "the engine is",
                          shown);
    if (dk_runtime_answers(box, DK_SENTRY))
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "the engine's runtime '%s' is not a machine's: the kernel "
                          "inside is gVisor's sentry",
                          shown);
    if (!dk_runtime_answers(box, DK_BOOT_ID) || !dk_runtime_answers(box, VIRTIO))
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "the engine's runtime '%s' is not a machine's: the kernel "
                          "inside has no virtio bus",
                          shown);
    return NACRE_OK;
}
