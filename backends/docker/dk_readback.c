/*
 * Reads what an engine says about a container.  The engine is not trusted: it may be
 * old, broken or another program that speaks its API.
 */
#include "dk_readback.h"

#include <stdlib.h>
#include <string.h>

#include "dk_api.h"
#include "nacre/text.h"

/* Absent, null, false, 0, "", [] and {} are one and the same to an engine. */
static bool is_empty(const json_t *value)
{
    return !value || json_is_null(value) || json_is_false(value) ||
           (json_is_integer(value) && json_integer_value(value) == 0) ||
           (json_is_string(value) && json_string_length(value) == 0) ||
           (json_is_array(value) && json_array_size(value) == 0) ||
           (json_is_object(value) && json_object_size(value) == 0);
}

static enum nacre_status differs(const char *field, const json_t *asked,
                                 const json_t *got, struct nacre_error *err)
{
    NACRE_AUTO(nacre_heap_guard) char *was = json_dumps(asked, JSON_ENCODE_ANY);
    NACRE_AUTO(nacre_heap_guard) char *is = json_dumps(got, JSON_ENCODE_ANY);
    char shown_was[NACRE_SHOWN], shown_is[NACRE_SHOWN], shown_field[NACRE_SHOWN];

    return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                      "the engine made another container than it was asked for: %s is "
                      "%s, asked for was %s",
                      nacre_text_shown(shown_field, field),
                      nacre_text_shown(shown_is, is ? is : "nothing"),
                      nacre_text_shown(shown_was, was ? was : "nothing"));
}

static bool same(const json_t *asked, const json_t *got);

/* What was asked for of an object; an engine may add empty members of its own. */
static bool same_object(const json_t *asked, const json_t *got)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)asked, key, value)
        if (!same(value, json_object_get(got, key)))
            return false;
    json_object_foreach((json_t *)got, key, value)
        if (!json_object_get(asked, key) && !is_empty(value))
            return false;
    return true;
}

static bool same(const json_t *asked, const json_t *got)
{
    if (is_empty(asked) || is_empty(got))
        return is_empty(asked) && is_empty(got);
    if (json_is_object(asked) && json_is_object(got))
        return same_object(asked, got);
    if (json_is_array(asked) && json_is_array(got)) {
        if (json_array_size(asked) != json_array_size(got))
            return false;
        for (size_t i = 0; i < json_array_size(asked); i++)
            if (!same(json_array_get(asked, i), json_array_get(got, i)))
                return false;
        return true;
    }
    return json_equal(asked, got);
}

/* "CAP_NET_RAW" and "NET_RAW" are one, and newer engines answer with the first. */
static bool same_capabilities(const json_t *asked, const json_t *got)
{
    if (is_empty(asked) || is_empty(got))
        return is_empty(asked) && is_empty(got);
    if (json_array_size(asked) != json_array_size(got))
        return false;
    for (size_t i = 0; i < json_array_size(asked); i++) {
        const char *was = json_string_value(json_array_get(asked, i));
        const char *is = json_string_value(json_array_get(got, i));

        if (!was || !is ||
            strcmp(strncmp(was, "CAP_", 4) == 0 ? was + 4 : was,
                   strncmp(is, "CAP_", 4) == 0 ? is + 4 : is) != 0)
            return false;
    }
    return true;
}

/* Of HostConfig, what an engine fills in though nobody asked, and why it is harmless. */
static const char *const filled_in[] = {
    "MaskedPaths",    /* where none were asked for: the engine's own */
    "Isolation",      /* "default"; another is only for Windows */
    "Runtime",        /* which one is judged by init's report */
    "ConsoleSize",    /* of a terminal that is not there */
    "MemorySwappiness",
    "Cgroup",
    "ContainerIDFile",
};

static bool is_filled_in(const char *key)
{
    for (size_t i = 0; i < NACRE_COUNT(filled_in); i++)
        if (strcmp(filled_in[i], key) == 0)
            return true;
    return false;
}

static enum nacre_status host_config(const json_t *asked, const json_t *got,
                                     struct nacre_error *err)
{
    const char *key;
    json_t *value;

    if (!json_is_object(got))
        return differs("HostConfig", asked, got, err);
    json_object_foreach((json_t *)asked, key, value) {
        const json_t *is = json_object_get(got, key);
        bool capabilities = strcmp(key, "CapAdd") == 0 || strcmp(key, "CapDrop") == 0;

        if (!(capabilities ? same_capabilities(value, is) : same(value, is)))
            return differs(key, value, is, err);
    }
    json_object_foreach((json_t *)got, key, value)
        if (!json_object_get(asked, key) && !is_empty(value) && !is_filled_in(key))
            return differs(key, NULL, value, err);
    return NACRE_OK;
}

/* Of Config: an image adds its own environment and labels, which no command sees. */
static enum nacre_status config(const json_t *asked, const json_t *got,
                                struct nacre_error *err)
{
    static const char *const compared[] = {
        "User",        "WorkingDir",   "Entrypoint",   "Cmd", "Hostname",
        "OpenStdin",   "StdinOnce",    "AttachStdin",  "AttachStdout",
        "AttachStderr", "Tty",         "NetworkDisabled", "Healthcheck",
    };
    const char *key;
    json_t *value;

    for (size_t i = 0; i < NACRE_COUNT(compared); i++)
        if (!same(json_object_get(asked, compared[i]), json_object_get(got, compared[i])))
            return differs(compared[i], json_object_get(asked, compared[i]),
                           json_object_get(got, compared[i]), err);
    json_object_foreach(json_object_get(asked, "Labels"), key, value)
        if (!json_equal(value, json_object_get(json_object_get(got, "Labels"), key)))
            return differs("Labels", value,
                           json_object_get(json_object_get(got, "Labels"), key), err);
    return NACRE_OK;
}

static const json_t *mount_at(const json_t *mounts, const char *destination)
{
    for (size_t i = 0; i < json_array_size(mounts); i++) {
        const json_t *mount = json_array_get(mounts, i);
        const char *text = json_string_value(json_object_get(mount, "Destination"));

        if (text && strcmp(text, destination) == 0)
            return mount;
    }
    return NULL;
}

/* What is to be found as `Source` of a bind is the `Name` of a volume. */
static const char *source_key(const json_t *asked)
{
    const char *type = json_string_value(json_object_get(asked, "Type"));

    return type && strcmp(type, "volume") == 0 ? "Name" : "Source";
}

/* An image that declares volumes would add writable places that nobody granted. */
static enum nacre_status mounts(const json_t *asked, const json_t *got,
                                struct nacre_error *err)
{
    if (json_array_size(asked) != json_array_size(got))
        return differs("Mounts", asked, got, err);
    for (size_t i = 0; i < json_array_size(asked); i++) {
        const json_t *was = json_array_get(asked, i);
        const json_t *is =
            mount_at(got, json_string_value(json_object_get(was, "Target")));

        if (!is ||
            !json_equal(json_object_get(was, "Type"), json_object_get(is, "Type")) ||
            !json_equal(json_object_get(was, "Source"),
                        json_object_get(is, source_key(was))) ||
            json_is_true(json_object_get(was, "ReadOnly")) ==
                json_is_true(json_object_get(is, "RW")))
            return differs("Mounts", was, is, err);
    }
    return NACRE_OK;
}

enum nacre_status dk_readback(const json_t *body, const json_t *inspect,
                              struct nacre_error *err)
{
    const json_t *host = json_object_get(body, "HostConfig");
    enum nacre_status status;

    if (!json_equal(json_object_get(body, "Image"), json_object_get(inspect, "Image")))
        return differs("Image", json_object_get(body, "Image"),
                       json_object_get(inspect, "Image"), err);
    status = config(body, json_object_get(inspect, "Config"), err);
    if (status == NACRE_OK)
        status = host_config(host, json_object_get(inspect, "HostConfig"), err);
    if (status == NACRE_OK)
        status = mounts(json_object_get(host, "Mounts"),
                        json_object_get(inspect, "Mounts"), err);
    return status;
}
