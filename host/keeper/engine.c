#include "engine.h"

#include <stdbool.h>
#include <stdlib.h>

#include "fields.h"
#include "nacre/own.h"

/* All that the engine's endpoint is found by: the environment, and then host.yaml. */
static const char *const names[] = {
    "DOCKER_HOST",   "DOCKER_CONTEXT", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH",
    "DOCKER_CONFIG", "HOME",           "engine.host",       "engine.certificates",
};
#define HOST (NACRE_COUNT(names) - 2)
#define CERTIFICATES (NACRE_COUNT(names) - 1)

struct value {
    const char *text;
};

static const struct field value_fields[] = { FIELD(value, text, TEXT) };

static json_t *value_of(size_t i, const struct keeper_configured *configured)
{
    struct value value = { i == HOST           ? configured->host
                           : i == CERTIFICATES ? configured->certificates
                                               : getenv(names[i]) };

    return fields_write(&value, value_fields, NACRE_COUNT(value_fields));
}

json_t *keeper_engine(const struct keeper_configured *configured)
{
    json_t *json = json_object();

    for (size_t i = 0; json && i < NACRE_COUNT(names); i++)
        if (json_object_set_new(json, names[i], value_of(i, configured)) != 0) {
            json_decref(json);
            return NULL;
        }
    return json;
}

enum nacre_status keeper_engine_check(const json_t *theirs,
                                      const struct keeper_configured *configured,
                                      struct nacre_error *err)
{
    for (size_t i = 0; i < NACRE_COUNT(names); i++) {
        json_t *ours = value_of(i, configured);
        bool same = ours && json_equal(ours, json_object_get(theirs, names[i]));

        json_decref(ours);
        if (!same)
            return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                              "the keeper that runs was started with another %s%s, and "
                              "may speak to another engine: end it with `nacre keeper "
                              "--quit`, or set %s as it was", names[i],
                              i >= HOST ? " in host.yaml" : "", names[i]);
    }
    if (json_object_size(theirs) != NACRE_COUNT(names))
        return fields_wrong("engine", err);
    return NACRE_OK;
}
