/* The command is the policy's and trusted as far as its container goes; what it prints is
 * anybody's. */
#include "dk_setup.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "dk_last.h"
#include "dk_readback.h"

#define REPOSITORY "nacre-setup"
#define LABEL "nacre.setup"
#define SETUP_MS 900000
#define ENGINE_MS 60000
#define SLICE_MS 100
#define SHM_BYTES (64 << 20)

/* One that is under way: its container goes with it. */
struct setup {
    struct dk_site *site;
    const char *command;
    char name[DK_NAME];
    bool exists;
    struct dk_stream *stream;
    struct dk_last last;
    uint64_t start_ns, told_ns;
};

static void setup_end(struct setup *setup)
{
    struct nacre_error ignored;

    dk_stream_free(setup->stream);
    /* What stays, stays labelled for the next sweep. */
    if (setup->exists)
        (void)!dk_container_remove(setup->site->client, setup->name,
                                   dk_within_ms(ENGINE_MS), &ignored);
}

/* The name of the result: of the same base and command it is the same. */
static void key_of(const char *base, const char *command, char ret_hex[NACRE_HEX])
{
    struct nacre_hasher hasher;
    struct nacre_digest digest;

    nacre_hash_init(&hasher);
    nacre_hash_add_text(&hasher, "nacre setup 1");
    nacre_hash_add_text(&hasher, base);
    nacre_hash_add_text(&hasher, command);
    digest = nacre_hash_end(&hasher);
    (void)nacre_digest_hex(&digest, ret_hex);
}

/* NACRE_ERR_NOT_FOUND: there is none yet, or something else has its name. */
static enum nacre_status find_made(struct dk_site *site, const char *key,
                                   char image[DK_IMAGE_ID], struct nacre_error *err)
{
    NACRE_AUTO(dk_json_guard) json_t *found = NULL;
    char name[sizeof(REPOSITORY) + NACRE_HEX];
    const char *label;
    enum nacre_status status;

    (void)snprintf(name, sizeof(name), REPOSITORY ":%.16s", key);
    status = dk_image_inspect(site->client, name, dk_within_ms(ENGINE_MS), &found, err);
    if (status != NACRE_OK)
        return status;
    label = json_string_value(json_object_get(
        json_object_get(json_object_get(found, "Config"), "Labels"), LABEL));
    if (!label || strcmp(label, key) != 0)
        return nacre_fail(err, NACRE_ERR_NOT_FOUND, "%s is another image", name);
    (void)snprintf(image, DK_IMAGE_ID, "%s",
                   json_string_value(json_object_get(found, "Id")));
    return NACRE_OK;
}

static json_t *body_of(const struct setup *setup, const char *base)
{
    char owner[16];

    (void)snprintf(owner, sizeof(owner), "%u", (unsigned)geteuid());
    return json_pack(
        "{s:s, s:s, s:s, s:[ss], s:[s], s:s, s:b, s:b, s:b, s:b, s:b, s:{s:[s]},"
        " s:{s:s, s:s}, s:{s:s, s:{s:s, s:{}}, s:s, s:s, s:i, s:b, s:b, s:b, s:{s:s}}}",
        "Image", base, "User", "0:0", "WorkingDir", "/", "Entrypoint", "/bin/sh", "-c",
        "Cmd", setup->command, "Hostname", "nacre", "OpenStdin", 0, "AttachStdout", 1,
        "AttachStderr", 1, "Tty", 0, "NetworkDisabled", 1, "Healthcheck", "Test", "NONE",
        "Labels", DK_OWNER_LABEL, owner, DK_TOKEN_LABEL,
        dk_owner_token(setup->site->owner), "HostConfig", "NetworkMode", "none",
        "LogConfig", "Type", "none", "Config", "IpcMode", "private", "CgroupnsMode",
        "private", "ShmSize", SHM_BYTES, "AutoRemove", 0, "Privileged", 0,
        "ReadonlyRootfs", 0, "RestartPolicy", "Name", "no");
}

static enum nacre_status create(struct setup *setup, const char *base,
                                struct nacre_error *err)
{
    NACRE_AUTO(dk_json_guard) json_t *body = body_of(setup, base);
    NACRE_AUTO(dk_json_guard) json_t *inspect = NULL;
    struct dk_client *client = setup->site->client;
    struct dk_created created;
    enum nacre_status status;

    if (!body)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a setup command's container");
    dk_owner_name(setup->site->owner, setup->name);
    setup->exists = true; /* perhaps, also when the engine's answer is lost */
    status = dk_container_create(client, setup->name, body, dk_within_ms(ENGINE_MS),
                                 &created, err);
    if (status == NACRE_OK && created.warnings[0])
        status = nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                            "the engine can't make the container: %.400s",
                            created.warnings);
    if (status == NACRE_OK)
        status = dk_container_inspect(client, setup->name, dk_within_ms(ENGINE_MS),
                                      &inspect, err);
    if (status == NACRE_OK)
        status = dk_readback(body, inspect, err);
    if (status == NACRE_OK)
        status = dk_attach(client, setup->name, dk_within_ms(ENGINE_MS), &setup->stream,
                           err);
    if (status == NACRE_OK)
        status = dk_container_start(client, setup->name, dk_within_ms(ENGINE_MS), err);
    return status;
}

static void tell(struct setup *setup)
{
    const struct nacre_executor_options *options = setup->site->options;
    uint64_t now = nacre_clock_ns();

    if (!options->on_progress || now - setup->told_ns < NACRE_NS_PER_S)
        return;
    setup->told_ns = now;
    options->on_progress(options->on_progress_data, "running the setup command",
                         (now - setup->start_ns) / NACRE_NS_PER_MS);
}

/* Reads what it says until it says no more: one that nobody reads would stand still. */
static enum nacre_status follow(struct setup *setup, const _Atomic int *cancelled,
                                uint64_t deadline_ns, struct nacre_error *err)
{
    char bytes[4096];

    for (;;) {
        enum dk_output output;
        ssize_t got = dk_stream_read_any(setup->stream, bytes, sizeof(bytes), &output);
        struct pollfd ready = { .fd = dk_stream_fd(setup->stream), .events = POLLIN };

        if (got == 0)
            return NACRE_OK;
        if (got > 0)
            dk_last_add(&setup->last, bytes, (size_t)got);
        else if (errno != EAGAIN)
            return nacre_fail(err, NACRE_ERR_IO, "the engine's stream broke");
        if (cancelled && atomic_load(cancelled))
            return nacre_fail(err, NACRE_ERR_UNAVAILABLE, "cancelled");
        if (nacre_clock_ns() >= deadline_ns)
            return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                              "it did not end within %d minutes", SETUP_MS / 60000);
        tell(setup);
        if (got < 0)
            (void)poll(&ready, 1, SLICE_MS);
    }
}

static enum nacre_status run(struct setup *setup, const _Atomic int *cancelled,
                             struct nacre_error *err)
{
    uint64_t deadline_ns = dk_within_ms(SETUP_MS);
    char shown[DK_LAST_SHOWN];
    enum nacre_status status = follow(setup, cancelled, deadline_ns, err);
    int code = 0;

    if (status == NACRE_OK)
        status = dk_container_wait(setup->site->client, setup->name,
                                   dk_within_ms(ENGINE_MS), &code, err);
    if (status != NACRE_OK || code == 0)
        return status;
    return nacre_fail(err, NACRE_ERR_UNAVAILABLE, "it ended with status %d, saying: %s",
                      code, dk_last_shown(&setup->last, shown));
}

/* A container of somebody's that is made from this image is nobody's leftover. */
static enum nacre_status keep(struct setup *setup, const char *key,
                              char image[DK_IMAGE_ID], struct nacre_error *err)
{
    NACRE_AUTO(dk_json_guard) json_t *config =
        json_pack("{s:{s:s, s:s, s:s}}", "Labels", LABEL, key, DK_OWNER_LABEL, "",
                  DK_TOKEN_LABEL, "");
    char tag[17];

    if (!config)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a setup command's image");
    (void)snprintf(tag, sizeof(tag), "%.16s", key);
    return dk_commit(setup->site->client, setup->name, REPOSITORY, tag, config,
                     dk_within_ms(SETUP_MS), image, err);
}

enum nacre_status dk_setup_image(struct dk_site *site, const char *command,
                                 const _Atomic int *cancelled, char image[DK_IMAGE_ID],
                                 struct nacre_error *err)
{
    NACRE_AUTO(setup_end)
    struct setup setup = { .site = site, .command = command,
                           .start_ns = nacre_clock_ns() };
    char key[NACRE_HEX];
    enum nacre_status status;

    key_of(image, command, key);
    status = find_made(site, key, image, err);
    if (status != NACRE_ERR_NOT_FOUND)
        return status;
    status = create(&setup, image, err);
    if (status == NACRE_OK)
        status = run(&setup, cancelled, err);
    if (status == NACRE_OK)
        status = keep(&setup, key, image, err);
    return status == NACRE_OK ? status
                              : nacre_fail_context(err, "container.setup_command");
}
