#include "dk_ways.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void nacre_engine_ways_clear(struct nacre_engine_ways *ways)
{
    for (size_t i = 0; i < ways->count; i++)
        free(ways->paths[i]);
    *ways = (struct nacre_engine_ways){ 0 };
}

/* Where links lead; of what is not there, where its directory's lead. */
static bool find_real(const char *path, char ret_real[PATH_MAX])
{
    char parent[NACRE_PATH_MAX], found[PATH_MAX];
    const char *name = strrchr(path, '/');

    if (realpath(path, ret_real))
        return true;
    if (!name || !name[1])
        return false;
    (void)snprintf(parent, sizeof(parent), "%.*s", (int)(name - path), path);
    return realpath(parent[0] ? parent : "/", found) &&
           snprintf(ret_real, PATH_MAX, "%s%s", found[1] ? found : "", name) < PATH_MAX;
}

static bool add(struct nacre_engine_ways *ways, const char *path)
{
    char name[NACRE_PATH_MAX];

    if (!nacre_path_normalise(path, name, sizeof(name)) || name[0] != '/')
        return true;
    for (size_t i = 0; i < ways->count; i++)
        if (strcmp(ways->paths[i], name) == 0)
            return true;
    assert(ways->count < NACRE_ENGINE_WAYS_MAX);
    ways->paths[ways->count] = strdup(name);
    return ways->paths[ways->count] && ++ways->count;
}

/* By both of its names; "" and NULL are none. */
static bool add_way(struct nacre_engine_ways *ways, const char *path)
{
    char real[PATH_MAX];

    if (!path || !path[0] || strlen(path) >= NACRE_PATH_MAX)
        return true;
    return add(ways, path) && (!find_real(path, real) || add(ways, real));
}

enum nacre_status dk_ways_find(const struct dk_places *places,
                               struct nacre_engine_ways *ret_ways,
                               struct nacre_error *err)
{
    NACRE_AUTO(nacre_engine_ways_clear) struct nacre_engine_ways ways = { .count = 0 };
    const char *const hosts[] = { places->docker_host, places->configured };
    struct dk_endpoint endpoint = { .transport = DK_TRANSPORT_NONE };
    struct nacre_error unusable;
    bool good;

    (void)!dk_endpoint_find(places, &endpoint, &unusable);
    good = add_way(&ways, DK_DEFAULT_SOCKET) && add_way(&ways, endpoint.path) &&
           add_way(&ways, endpoint.key) && add_way(&ways, places->docker_cert_path) &&
           add_way(&ways, places->docker_config) &&
           add_way(&ways, places->configured_certificates);
    for (size_t i = 0; i < NACRE_COUNT(hosts) && good; i++)
        if (hosts[i] && strncmp(hosts[i], "unix://", 7) == 0)
            good = add_way(&ways, hosts[i] + 7);
    if (!good)
        return nacre_fail(err, NACRE_ERR_MEMORY, "where the engine is");
    *ret_ways = ways;
    ways = (struct nacre_engine_ways){ 0 };
    return NACRE_OK;
}

enum nacre_status nacre_engine_ways_find(const char *host, const char *certificates,
                                         struct nacre_engine_ways *ret_ways,
                                         struct nacre_error *err)
{
    struct dk_places places = dk_places_environment();

    places.configured = host;
    places.configured_certificates = certificates;
    return dk_ways_find(&places, ret_ways, err);
}
