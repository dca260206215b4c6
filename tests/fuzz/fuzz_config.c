/* Any bytes at all: a whole configuration, or an error with its place, and never both. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "nacre/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_box(const struct nacre_box_rules *box)
{
    assert((box->mode_place.line > 0) == (box->mode != NACRE_MODE_UNSET));
    assert((box->scope_place.line > 0) == (box->scope != NACRE_SCOPE_UNSET));
    assert(box->network_place.line == 0 || box->network != NACRE_NETWORK_UNSET);
    assert(box->memory_bytes.place.line == 0 || box->memory_bytes.value >= 1u << 20);
    assert(box->container.cpus_nano.place.line == 0 ||
           box->container.cpus_nano.value > 0);
    assert(box->timeout_ms.place.line == 0 || box->timeout_ms.value > 0);
    for (size_t i = 0; i < box->binds.count; i++) {
        assert(strchr("/~", box->binds.items[i].host[0]));
        assert(box->binds.items[i].guest[0] == '/');
    }
    for (size_t i = 0; i < box->denied_paths.count; i++)
        assert(box->denied_paths.items[i].text[0] == '/');
    for (size_t i = 0; i < box->fixed_hosts.count; i++)
        assert(strchr(box->fixed_hosts.items[i].text, '='));
    for (size_t i = 0; i < box->container.ulimits.count; i++)
        assert(strchr(box->container.ulimits.items[i].text, '='));
    assert(!box->container_prefix.text || strlen(box->container_prefix.text) <= 22);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    NACRE_AUTO(nacre_config_guard) struct nacre_config *config = NULL;
    struct nacre_error err = { .status = NACRE_OK };
    enum nacre_status status =
        nacre_config_parse("fuzz", (const char *)data, size, &config, &err);

    assert(status == err.status);
    assert((status == NACRE_OK) == (config != NULL));
    assert((status == NACRE_OK) == (err.text[0] == '\0'));
    if (status == NACRE_ERR_PARSE)
        assert(err.line > 0 && err.column > 0 && strcmp(err.file, "fuzz") == 0);
    if (status != NACRE_OK)
        return 0;
    assert(config->dialect != NACRE_DIALECT_UNSET);
    assert(config->dialect != NACRE_DIALECT_CKP);
    check_box(&config->all.box);
    assert(!config->all.id);
    for (size_t i = 0; i < config->agent_count; i++) {
        check_box(&config->agents[i].box);
        assert(nacre_config_agent(config, config->agents[i].id) == &config->agents[i]);
    }
    for (size_t i = 0; i < config->note_count; i++)
        assert(config->notes[i].place.line > 0 && config->notes[i].text[0]);
    return 0;
}
