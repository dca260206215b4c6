/*
 * Trusts the engine as dk_carrier.h says, and no name, label or image: anybody who may
 * load an image could have taken them.
 */
#include "dk_carrier.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "dk_name.h"
#include "dk_tar.h"
#include "init_image.h"
#include "nacre/hash.h"

#define REPOSITORY "nacre-init"
#define LABEL "nacre.init" /* the digest of the layer */
#define INIT_NAME "nacre-init"
#define COVER_NAME "nacre-cover"
#define INIT_DIR "/" INIT_NAME
#define COVER_DIR "/" COVER_NAME

#define LOOK_MS 10000
#define MAKE_MS 60000
#define PAUSE_MS 50 /* while another nacre makes it */
#define STALE_S (7 * 24 * 3600)

struct carrier {
    struct dk_client *client;
    struct dk_caller caller;
    char *tar;
    size_t size;
    char layer[NACRE_HEX];
    char tag[17], name[sizeof(REPOSITORY) + 17];
};

static void carrier_clear(struct carrier *carrier)
{
    free(carrier->tar);
}

static enum nacre_status carrier_init(struct carrier *carrier, struct dk_client *client,
                                      const struct dk_caller *caller,
                                      struct nacre_error *err)
{
    size_t room = dk_tar_room(nacre_init_image_size);
    struct nacre_digest digest;
    char *at;

    *carrier = (struct carrier){
        .client = client,
        .caller = *caller,
        .size = 3 * DK_TAR_BLOCK + room + DK_TAR_END,
    };
    carrier->tar = calloc(1, carrier->size);
    if (!carrier->tar)
        return nacre_fail(err, NACRE_ERR_MEMORY, "an image of nacre's init");
    at = carrier->tar;
    dk_tar_head(at, DK_TAR_DIR, INIT_NAME "/", 0555, 0);
    at += DK_TAR_BLOCK;
    dk_tar_head(at, DK_TAR_FILE, INIT_NAME "/" DK_CARRIED_INIT, 0555,
                nacre_init_image_size);
    at += DK_TAR_BLOCK;
    memcpy(at, nacre_init_image, nacre_init_image_size);
    dk_tar_head(at + room, DK_TAR_DIR, COVER_NAME "/", 0, 0);
    digest = nacre_hash(carrier->tar, carrier->size);
    (void)nacre_digest_hex(&digest, carrier->layer);
    (void)snprintf(carrier->tag, sizeof(carrier->tag), "%.16s", carrier->layer);
    (void)snprintf(carrier->name, sizeof(carrier->name), REPOSITORY "-%s", carrier->tag);
    return NACRE_OK;
}

/* ---- its image ---- */

/* NACRE_ERR_NOT_FOUND: it is not there, or not exactly our layer. */
static enum nacre_status check_image(const struct carrier *carrier, const char *image,
                                     char ret_id[DK_IMAGE_ID], struct nacre_error *err)
{
    NACRE_AUTO(dk_json_guard) json_t *found = NULL;
    enum nacre_status status =
        dk_image_inspect(carrier->client, image,
                         dk_caller_within(&carrier->caller, LOOK_MS), &found, err);
    const json_t *layers =
        json_object_get(json_object_get(found, "RootFS"), "Layers");
    const char *layer = json_string_value(json_array_get(layers, 0));

    if (status != NACRE_OK)
        return status;
    if (json_array_size(layers) != 1 || !layer || strncmp(layer, "sha256:", 7) != 0 ||
        strcmp(layer + 7, carrier->layer) != 0)
        return nacre_fail(err, NACRE_ERR_NOT_FOUND,
                          "the engine's image " REPOSITORY ":%s is not the one that "
                          "nacre makes: remove it", carrier->tag);
    (void)snprintf(ret_id, DK_IMAGE_ID, "%s",
                   json_string_value(json_object_get(found, "Id")));
    return NACRE_OK;
}

static enum nacre_status import(const struct carrier *carrier, char ret_id[DK_IMAGE_ID],
                                struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd = memfd_create("nacre-carrier", MFD_CLOEXEC);
    char change[sizeof("LABEL " LABEL "=") + NACRE_HEX];
    const char *const changes[] = { change, NULL };
    char id[DK_IMAGE_ID];
    enum nacre_status status;

    (void)snprintf(change, sizeof(change), "LABEL " LABEL "=%s", carrier->layer);
    if (fd < 0 || write(fd, carrier->tar, carrier->size) != (ssize_t)carrier->size ||
        lseek(fd, 0, SEEK_SET) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "can't make an image of nacre's init");
    status = dk_image_import(carrier->client, REPOSITORY, carrier->tag, changes, fd,
                             dk_caller_within(&carrier->caller, MAKE_MS), id, err);
    return status == NACRE_OK ? check_image(carrier, id, ret_id, err) : status;
}

/* ---- the carrier ---- */

static const char *volume_at(const json_t *container, const char *path)
{
    const json_t *mounts = json_object_get(container, "Mounts"), *mount;
    size_t i;

    json_array_foreach(mounts, i, mount) {
        const char *type = json_string_value(json_object_get(mount, "Type"));
        const char *place = json_string_value(json_object_get(mount, "Destination"));
        const char *name = json_string_value(json_object_get(mount, "Name"));

        if (type && place && name && strcmp(type, "volume") == 0 &&
            strcmp(place, path) == 0 && dk_name_is_id(name))
            return name;
    }
    return NULL;
}

/* NACRE_ERR_NOT_FOUND: there is none. */
static enum nacre_status look(const struct carrier *carrier,
                              struct dk_carried *ret_carried, struct nacre_error *err)
{
    NACRE_AUTO(dk_json_guard) json_t *found = NULL;
    enum nacre_status status =
        dk_container_inspect(carrier->client, carrier->name,
                             dk_caller_within(&carrier->caller, LOOK_MS), &found, err);
    const char *state = json_string_value(
        json_object_get(json_object_get(found, "State"), "Status"));
    const char *image = json_string_value(json_object_get(found, "Image"));
    const char *init = volume_at(found, INIT_DIR), *cover = volume_at(found, COVER_DIR);
    char id[DK_IMAGE_ID];

    if (status != NACRE_OK)
        return status;
    /* Whoever started it may have written to what it carries. */
    status = state && strcmp(state, "created") == 0 && init && cover && image
                 ? check_image(carrier, image, id, err)
                 : NACRE_ERR_NOT_FOUND;
    if (status == NACRE_ERR_TIMEOUT)
        return status;
    if (status != NACRE_OK)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "the engine's container %s, which should carry nacre's init, is "
                          "not as nacre makes it: remove it", carrier->name);
    (void)snprintf(ret_carried->init, DK_ID, "%s", init);
    (void)snprintf(ret_carried->cover, DK_ID, "%s", cover);
    return NACRE_OK;
}

/* Under its own name, so that of two who make it at once one is told. */
static enum nacre_status make(const struct carrier *carrier, struct nacre_error *err)
{
    NACRE_AUTO(dk_json_guard) json_t *body = NULL;
    char image[DK_IMAGE_ID], tagged[sizeof(REPOSITORY) + 17];
    struct dk_created created;
    enum nacre_status status;

    (void)snprintf(tagged, sizeof(tagged), REPOSITORY ":%s", carrier->tag);
    status = check_image(carrier, tagged, image, err);
    if (status == NACRE_ERR_NOT_FOUND)
        status = import(carrier, image, err);
    if (status != NACRE_OK)
        return status;
    body = json_pack("{s:s, s:[s], s:b, s:{s:s}, s:{s:{}, s:{}}, s:{s:s, s:b, s:{s:s}}}",
                     "Image", image, "Entrypoint", INIT_DIR "/" DK_CARRIED_INIT,
                     "NetworkDisabled", 1, "Labels", LABEL, carrier->layer, "Volumes",
                     INIT_DIR, COVER_DIR, "HostConfig", "NetworkMode", "none",
                     "ReadonlyRootfs", 1, "LogConfig", "Type", "none");
    if (!body)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a carrier of nacre's init");
    return dk_container_create(carrier->client, carrier->name, body,
                               dk_caller_within(&carrier->caller, MAKE_MS), &created,
                               err);
}

/* Those of other versions, a week after they were made: a version that is still in use
 * makes its own again.  A volume that a sandbox has mounted stays until that is gone, and
 * is then the engine's to prune. */
static void sweep(const struct carrier *carrier)
{
    NACRE_AUTO(dk_json_guard) json_t *list = NULL;
    struct nacre_error ignored;
    const json_t *item;
    size_t i;

    if (dk_container_list(carrier->client, LABEL,
                          dk_caller_within(&carrier->caller, LOOK_MS), &list,
                          &ignored) != NACRE_OK)
        return;
    json_array_foreach(list, i, item) {
        const char *layer = json_string_value(
            json_object_get(json_object_get(item, "Labels"), LABEL));
        json_int_t made_s = json_integer_value(json_object_get(item, "Created"));
        char image[sizeof(REPOSITORY) + 17];

        if (!layer || strcmp(layer, carrier->layer) == 0 ||
            made_s + STALE_S > (json_int_t)(nacre_clock_wall_ms() / 1000))
            continue;
        (void)snprintf(image, sizeof(image), REPOSITORY ":%.16s", layer);
        if (dk_container_remove(carrier->client,
                                json_string_value(json_object_get(item, "Id")),
                                dk_caller_within(&carrier->caller, LOOK_MS),
                                &ignored) == NACRE_OK)
            (void)!dk_image_remove(carrier->client, image,
                                   dk_caller_within(&carrier->caller, LOOK_MS),
                                   &ignored);
    }
}

/* Made by us or by another nacre that was first: its name is taken before it is there for
 * others to see. */
static enum nacre_status make_and_look(struct carrier *carrier,
                                       struct dk_carried *ret_carried,
                                       struct nacre_error *err)
{
    const struct timespec pause = { .tv_nsec = PAUSE_MS * NACRE_NS_PER_MS };
    const struct nt_wait wait = dk_caller_within(&carrier->caller, MAKE_MS);
    enum nacre_status status = make(carrier, err);

    if (status == NACRE_OK)
        sweep(carrier);
    else if (status != NACRE_ERR_USAGE)
        return nacre_fail_context(err, "nacre's init can't be brought to the engine");
    while ((status = look(carrier, ret_carried, err)) == NACRE_ERR_NOT_FOUND &&
           !nt_wait_is_over(&wait))
        (void)nanosleep(&pause, NULL);
    return status;
}

enum nacre_status dk_carrier_find(struct dk_client *client,
                                  const struct dk_caller *caller,
                                  struct dk_carried *ret_carried, struct nacre_error *err)
{
    NACRE_AUTO(carrier_clear) struct carrier carrier = { 0 };
    enum nacre_status status = carrier_init(&carrier, client, caller, err);
    uint64_t since_ns;

    if (status == NACRE_OK)
        status = look(&carrier, ret_carried, err);
    if (status != NACRE_ERR_NOT_FOUND)
        return status;
    carrier.caller = dk_caller_pause(caller, &since_ns);
    status = make_and_look(&carrier, ret_carried, err);
    dk_caller_resume(caller, since_ns);
    return status;
}
