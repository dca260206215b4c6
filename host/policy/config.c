/*
 * From a reference to a configuration.  The reference is the caller's, the document may
 * be anybody's.  Nothing but the file that was named is opened: no default path, no
 * included file, nothing of a workspace.
 */
#include <assert.h>
#include <string.h>

#include "config_draft.h"
#include "file.h"
#include "nacre/text.h"

#define PROFILE "clawpy:"

/* A key that only one dialect has at the top of its documents; the first that is there
 * decides. */
static const struct {
    const char *key;
    enum nacre_dialect dialect;
} marks[] = {
    { "claw", NACRE_DIALECT_CKP },
    { "kind", NACRE_DIALECT_CKP },
    { "agents", NACRE_DIALECT_OPENCLAW },
    { "agent", NACRE_DIALECT_CLAWDIS },
    { "sandbox", NACRE_DIALECT_CONFIG_YML },
    { "tools", NACRE_DIALECT_OPENCLAW },
    { "session", NACRE_DIALECT_OPENCLAW },
    { "gateway", NACRE_DIALECT_OPENCLAW },
    { "channels", NACRE_DIALECT_OPENCLAW },
    { "models", NACRE_DIALECT_OPENCLAW },
    { "memory", NACRE_DIALECT_CLAWPY },
    { "cpus", NACRE_DIALECT_CLAWPY },
    { "network", NACRE_DIALECT_CLAWPY },
    { "read_only_root", NACRE_DIALECT_CLAWPY },
    { "scope", NACRE_DIALECT_CLAWPY },
    { "timeout", NACRE_DIALECT_CLAWPY },
};

static enum nacre_dialect recognise(const struct nacre_node *root)
{
    if (root->kind != NACRE_NODE_MAPPING)
        return NACRE_DIALECT_UNSET;
    for (size_t i = 0; i < NACRE_COUNT(marks); i++)
        if (nacre_node_find(root, marks[i].key))
            return marks[i].dialect;
    return NACRE_DIALECT_UNSET;
}

enum nacre_status nacre_config_recognise(const char *source, const char *bytes,
                                         size_t count, enum nacre_dialect *ret_dialect,
                                         struct nacre_error *err)
{
    NACRE_AUTO(nacre_node_guard) struct nacre_node *root = NULL;
    enum nacre_status status = nacre_document_read(source, bytes, count, &root, err);

    if (status == NACRE_OK)
        *ret_dialect = recognise(root);
    return status;
}

/* A file that is two things would be read as one, and the other's guards be missing. */
static enum nacre_status refuse_mixture(const char *source, const struct nacre_node *root,
                                        struct nacre_error *err)
{
    const struct nacre_node *sandbox = nacre_node_find(root, "sandbox");
    static const char *const others[] = { "agents", "agent" };

    for (size_t i = 0; sandbox && i < NACRE_COUNT(others); i++)
        if (nacre_node_find(root, others[i]))
            return nacre_fail_at(
                err, NACRE_ERR_PARSE, source, sandbox->key_place.line,
                sandbox->key_place.column,
                "sandbox is config.yml's, and this file has '%s' too; say all of it in "
                "one of the two",
                others[i]);
    return NACRE_OK;
}

static enum nacre_status read_dialect(const struct nacre_node *root,
                                      struct nacre_config *config,
                                      struct nacre_error *err)
{
    static nacre_dialect_read *const readers[NACRE_DIALECT_COUNT] = {
        [NACRE_DIALECT_OPENCLAW] = nacre_openclaw_read,
        [NACRE_DIALECT_CLAWDIS] = nacre_clawdis_read,
        [NACRE_DIALECT_CONFIG_YML] = nacre_config_yml_read,
        [NACRE_DIALECT_CLAWPY] = nacre_clawpy_read,
    };
    enum nacre_status status;

    config->dialect = recognise(root);
    if (config->dialect == NACRE_DIALECT_CKP)
        return nacre_fail_at(err, NACRE_ERR_USAGE, config->source, 1, 1,
                             "this is a CKP policy (ckp), not a configuration; give it "
                             "with --policy");
    if (!readers[config->dialect])
        return nacre_fail_at(err, NACRE_ERR_PARSE, config->source, root->place.line,
                             root->place.column,
                             "no dialect that is known: expected agents (OpenClaw), "
                             "agent (Clawdis), sandbox (config.yml), or memory, cpus, "
                             "network, read_only_root, scope, timeout (Clawpy)");
    status = refuse_mixture(config->source, root, err);
    return status == NACRE_OK ? readers[config->dialect](root, config, err) : status;
}

enum nacre_status nacre_config_parse(const char *source, const char *bytes, size_t count,
                                     struct nacre_config **ret_config,
                                     struct nacre_error *err)
{
    NACRE_AUTO(nacre_node_guard) struct nacre_node *root = NULL;
    NACRE_AUTO(nacre_config_guard) struct nacre_config *config = NULL;
    enum nacre_status status = nacre_document_read(source, bytes, count, &root, err);

    if (status == NACRE_OK)
        status = nacre_config_new(source, &config, err);
    if (status == NACRE_OK)
        status = read_dialect(root, config, err);
    if (status != NACRE_OK)
        return status;
    config->digest = nacre_hash(bytes, count);
    *ret_config = nacre_config_take(&config);
    return NACRE_OK;
}

static enum nacre_status load_profile(const char *reference,
                                      struct nacre_config **ret_config,
                                      struct nacre_error *err)
{
    NACRE_AUTO(nacre_config_guard) struct nacre_config *config = NULL;
    const char *name = reference + strlen(PROFILE);
    const char *text = nacre_clawpy_profile(name);
    char shown[NACRE_SHOWN];
    enum nacre_status status;

    if (!text)
        return nacre_fail(err, NACRE_ERR_NOT_FOUND,
                          "configuration '%s': the profiles of Clawpy are agent and "
                          "heartbeat",
                          nacre_text_shown(shown, reference));
    status = nacre_config_parse(reference, text, strlen(text), &config, err);
    if (status == NACRE_OK)
        status = nacre_schema_copy(name, &config->profile.text, err);
    if (status == NACRE_OK)
        *ret_config = nacre_config_take(&config);
    return status;
}

enum nacre_status nacre_config_load(const char *reference,
                                    struct nacre_config **ret_config,
                                    struct nacre_error *err)
{
    NACRE_AUTO(nacre_buf_clear)
    struct nacre_buf buf = NACRE_BUF(NACRE_DOCUMENT_BYTES_MAX);
    NACRE_AUTO(nacre_config_guard) struct nacre_config *config = NULL;
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    enum nacre_status status;

    if (strncmp(reference, PROFILE, strlen(PROFILE)) == 0)
        return load_profile(reference, ret_config, err);
    fd = nacre_policy_file_open(reference);
    if (fd < 0)
        return nacre_policy_file_fail("configuration", reference, err);
    status = nacre_policy_file_read(fd, "configuration", reference, &buf, err);
    if (status == NACRE_OK)
        status = nacre_config_parse(reference, buf.bytes, buf.size, &config, err);
    if (status == NACRE_OK)
        status = nacre_policy_file_real("configuration", reference, &config->file, err);
    if (status == NACRE_OK)
        *ret_config = nacre_config_take(&config);
    return status;
}
