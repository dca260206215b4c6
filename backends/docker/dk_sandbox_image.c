/* Images are made from Debian's packages, in one of two ways.  What the engine and
 * mmdebstrap say is shown escaped, never obeyed. */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dk_maker.h"
#include "dk_sandbox_image.h"
#include "dk_tar.h"
#include "nacre/text.h"

#define BASE "debian:bookworm-slim"

#define PULL_MS 180000
#define BUILD_MS 1800000
#define GRACE_MS 2000
#define LAST 180 /* bytes of a complaint: so many fit into an error, with another */
#define SCRIPT_MAX 4096 /* with its packages and what runs it */

static const char only_base[] = "FROM " BASE "\n";

/* ---- from a Dockerfile ---- */

static enum nacre_status make_context(const char *dockerfile, int *ret_fd,
                                      struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd = memfd_create("nacre-context", MFD_CLOEXEC);
    size_t count = strlen(dockerfile);
    char tar[16 * DK_TAR_BLOCK] = "";

    if (count > sizeof(tar) - DK_TAR_BLOCK - DK_TAR_END)
        return nacre_fail(err, NACRE_ERR_TOO_BIG, "the Dockerfile of an image");
    dk_tar_head(tar, DK_TAR_FILE, "Dockerfile", 0644, count);
    memcpy(tar + DK_TAR_BLOCK, dockerfile, count);
    if (fd < 0 || write(fd, tar, sizeof(tar)) != (ssize_t)sizeof(tar) ||
        lseek(fd, 0, SEEK_SET) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "can't make the context of a build");
    *ret_fd = nacre_fd_take(&fd);
    return NACRE_OK;
}

static enum nacre_status build(struct dk_client *client, const char *name,
                               const char *dockerfile, uint32_t within_ms,
                               const struct dk_progress *progress,
                               struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    char id[DK_IMAGE_ID];
    enum nacre_status status = make_context(dockerfile, &fd, err);

    return status != NACRE_OK ? status
                              : dk_image_build(client, name, fd, progress,
                                               dk_within_ms(within_ms), id, err);
}

static void write_dockerfile(const struct dk_recipe *recipe, char ret_text[SCRIPT_MAX])
{
    int used;

    assert(!recipe->script || !strchr(recipe->script, '\''));
    used = snprintf(ret_text, SCRIPT_MAX,
                        "FROM " BASE "\n"
                        "RUN apt-get update"
                        " && apt-get install -y --no-install-recommends %s%s%s%s"
                        " && rm -rf /var/lib/apt/lists/*\n"
                        "CMD [\"/bin/bash\"]\n",
                        recipe->packages, recipe->script ? " && sh -ec '" : "",
                        recipe->script ? recipe->script : "", recipe->script ? "'" : "");

    assert(used > 0 && used < SCRIPT_MAX);
}

/* The base alone comes first: it tells soon whether a registry can be reached. */
static enum nacre_status from_dockerfile(struct dk_client *client,
                                         const struct dk_recipe *recipe,
                                         const char *name,
                                         const struct dk_progress *progress,
                                         struct nacre_error *err)
{
    char whole[SCRIPT_MAX];
    struct nacre_error ignored;
    enum nacre_status status =
        build(client, DK_SANDBOX_PULLED, only_base, PULL_MS, progress, err);

    if (status != NACRE_OK)
        return nacre_fail_context(err, "from " BASE);
    write_dockerfile(recipe, whole);
    status = build(client, name, whole, BUILD_MS, progress, err);
    (void)!dk_image_remove(client, DK_SANDBOX_PULLED, dk_within_ms(PULL_MS), &ignored);
    return status == NACRE_OK ? status : nacre_fail_context(err, "from a Dockerfile");
}

/* ---- by mmdebstrap ---- */

/* Its words; without a script there is no hook, and the words end a little earlier. */
struct words {
    char packages[SCRIPT_MAX], hook[SCRIPT_MAX];
    const char *argv[8];
};

static void write_words(const struct dk_recipe *recipe, struct words *ret_words)
{
    size_t count = 0;
    int used = snprintf(ret_words->packages, SCRIPT_MAX, "--include=%s",
                        recipe->packages);

    assert(used > 0 && used < SCRIPT_MAX);
    for (char *at = ret_words->packages; *at; at++)
        if (*at == ' ')
            *at = ',';
    ret_words->argv[count++] = "mmdebstrap";
    ret_words->argv[count++] = "--variant=minbase";
    /* What is cut off is thrown away: nothing has to be on the disk before the end. */
    ret_words->argv[count++] = "--dpkgopt=force-unsafe-io";
    ret_words->argv[count++] = ret_words->packages;
    if (recipe->script) {
        used = snprintf(ret_words->hook, SCRIPT_MAX,
                        "--customize-hook=chroot \"$1\" sh -ec '%s'", recipe->script);
        assert(used > 0 && used < SCRIPT_MAX);
        ret_words->argv[count++] = ret_words->hook;
    }
    ret_words->argv[count++] = "bookworm";
    ret_words->argv[count++] = "-";
    ret_words->argv[count] = NULL;
}

static enum nacre_status start(struct dk_maker *maker, const struct dk_recipe *recipe,
                               struct nacre_error *err)
{
    struct words words;
    enum nacre_status status;

    write_words(recipe, &words);
    status = dk_maker_start(words.argv, maker, err);
    if (status == NACRE_ERR_NOT_FOUND)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "there is no program mmdebstrap here: install the package "
                          "mmdebstrap");
    return status;
}

/* NACRE_OK when it ended well; else its last words. */
static enum nacre_status judge(const struct dk_maker *maker, int status,
                               struct nacre_error *err)
{
    char bytes[LAST], shown[LAST + 64];
    off_t end;
    ssize_t count;

    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return NACRE_OK;
    end = lseek(maker->errors_fd, 0, SEEK_END);
    count = pread(maker->errors_fd, bytes, sizeof(bytes), end > LAST ? end - LAST : 0);
    return nacre_fail(err, NACRE_ERR_UNAVAILABLE, "mmdebstrap failed, saying: %s",
                      nacre_text_show(shown, sizeof(shown), bytes,
                                      count > 0 ? (size_t)count : 0));
}

/* An import of what was cut off would be an image too: it gets its name at the end. */
static enum nacre_status from_mmdebstrap(struct dk_client *client,
                                         const struct dk_recipe *recipe,
                                         const char *repository, const char *tag,
                                         struct nacre_error *err)
{
    static const char *const changes[] = { "CMD [\"/bin/bash\"]", NULL };
    NACRE_AUTO(dk_maker_end) struct dk_maker maker = DK_MAKER_NONE;
    struct nacre_error ignored, said;
    char id[DK_IMAGE_ID];
    enum nacre_status imported, status = start(&maker, recipe, err);
    int ended = -1;

    if (status != NACRE_OK)
        return status;
    imported = dk_image_import(client, DK_SANDBOX_MADE_NAME, DK_SANDBOX_MADE_TAG, changes,
                               maker.out_fd, dk_within_ms(BUILD_MS), id, err);
    nacre_fd_guard(&maker.out_fd);
    maker.out_fd = -1;
    /* Its complaint is the cause, an import that came to nothing only the effect.  Its
     * output is at an end, so that it should be, too. */
    status = imported;
    if (dk_maker_has_ended(&maker, GRACE_MS, &ended) &&
        judge(&maker, ended, &said) != NACRE_OK) {
        *err = said;
        status = said.status;
    }
    if (status == NACRE_OK)
        status = dk_image_tag(client, id, repository, tag, dk_within_ms(PULL_MS), err);
    (void)!dk_image_remove(client, DK_SANDBOX_MADE_NAME ":" DK_SANDBOX_MADE_TAG,
                           dk_within_ms(PULL_MS), &ignored);
    return status;
}

/* ---- either ---- */

/* "name:tag" into its two parts; no tag means "latest". */
static bool split(const char *name, char ret_repository[256], char ret_tag[128])
{
    const char *slash = strrchr(name, '/');
    const char *colon = strrchr(slash ? slash : name, ':');
    size_t length = colon ? (size_t)(colon - name) : strlen(name);

    if (length == 0 || length >= 256 || strchr(name, '@') ||
        (colon && (strlen(colon + 1) == 0 || strlen(colon + 1) >= 128)))
        return false;
    (void)snprintf(ret_repository, 256, "%.*s", (int)length, name);
    (void)snprintf(ret_tag, 128, "%s", colon ? colon + 1 : "latest");
    return true;
}

static void say(const struct dk_progress *progress, const char *text)
{
    if (progress->said)
        progress->said(progress->data, text);
}

enum nacre_status dk_sandbox_image(struct dk_client *client,
                                   const struct dk_recipe *recipe, const char *name,
                                   const struct dk_progress *progress,
                                   struct nacre_error *err)
{
    char repository[256], tag[128], shown[NACRE_SHOWN], text[sizeof(err->text) + 64];
    struct nacre_error first;
    enum nacre_status status;

    if (!name)
        name = recipe->tag;
    if (!split(name, repository, tag))
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "'%s' can't be the name of an image to make: give name:tag",
                          nacre_text_shown(shown, name));
    say(progress, "building from " BASE);
    status = from_dockerfile(client, recipe, name, progress->said ? progress : NULL,
                             &first);
    if (status == NACRE_OK || status == NACRE_ERR_USAGE || status == NACRE_ERR_MEMORY) {
        if (status != NACRE_OK)
            *err = first;
        return status;
    }
    (void)snprintf(text, sizeof(text), "that came to nothing: %s", first.text);
    say(progress, text);
    say(progress, "making it on this machine by mmdebstrap; that takes minutes");
    status = from_mmdebstrap(client, recipe, repository, tag, err);
    if (status == NACRE_OK)
        return NACRE_OK;
    (void)snprintf(text, sizeof(text), "%s", err->text);
    return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                      "neither way to make the image works: %.220s; and %.240s",
                      first.text, text);
}
