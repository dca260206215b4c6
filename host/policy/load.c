/*
 * From a reference to a policy.  The reference is the caller's; the file it leads to
 * may be anybody's, and is read as file.h says.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "model.h"
#include "nacre/buf.h"
#include "nacre/path.h"
#include "nacre/text.h"
#include "node.h"

#define CLAW_SCHEME "claw://"

/* What claw://local/sandbox/NAME[@VERSION] or a plain name asks for. */
struct wanted {
    char name[64];
    char version[64]; /* "" when any will do */
};

static enum nacre_status fail_reference(struct nacre_error *err, const char *reference,
                                        const char *fault)
{
    char shown[NACRE_SHOWN];

    return nacre_fail(err, NACRE_ERR_USAGE, "policy '%s': %s",
                      nacre_text_shown(shown, reference), fault);
}

static enum nacre_status read_policy(int fd, const char *path,
                                     struct nacre_policy **ret_policy,
                                     struct nacre_error *err)
{
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL;
    NACRE_AUTO(nacre_buf_clear)
    struct nacre_buf buf = NACRE_BUF(NACRE_DOCUMENT_BYTES_MAX);
    enum nacre_status status = nacre_policy_file_read(fd, "policy", path, &buf, err);

    if (status == NACRE_OK)
        status = nacre_policy_parse(path, buf.bytes, buf.size, &policy, err);
    if (status == NACRE_OK)
        status = nacre_policy_file_real("policy", path, &policy->file, err);
    if (status == NACRE_OK)
        *ret_policy = nacre_policy_take(&policy);
    return status;
}

static enum nacre_status load_file(const char *path, struct nacre_policy **ret_policy,
                                   struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd = nacre_policy_file_open(path);

    return fd < 0 ? nacre_policy_file_fail("policy", path, err)
                  : read_policy(fd, path, ret_policy, err);
}

static enum nacre_status fail_not_found(const struct wanted *wanted,
                                        const char *const policy_dirs[],
                                        struct nacre_error *err)
{
    char searched[360] = "";
    size_t used = 0;

    if (!policy_dirs || !policy_dirs[0])
        return nacre_fail(
            err, NACRE_ERR_NOT_FOUND,
            "policy '%s': there is no policy directory to search; give a file, "
            "like ./%s.yaml",
            wanted->name, wanted->name);
    for (size_t i = 0; policy_dirs[i] && used < sizeof(searched); i++) {
        char shown[NACRE_SHOWN];

        used +=
            (size_t)snprintf(searched + used, sizeof(searched) - used, "%s%s",
                             i > 0 ? ", " : "", nacre_text_shown(shown, policy_dirs[i]));
    }
    return nacre_fail(err, NACRE_ERR_NOT_FOUND, "policy '%s': no %s.yaml in %s",
                      wanted->name, wanted->name, searched);
}

/* A file may not answer to a name that is not its own. */
static enum nacre_status check_identity(const struct wanted *wanted,
                                        const struct nacre_policy *policy,
                                        struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    if (strcmp(policy->name, wanted->name) != 0)
        return nacre_fail_at(
            err, NACRE_ERR_PARSE, policy->source, policy->name_place.line,
            policy->name_place.column,
            "metadata.name is '%s', but the file was found by the name '%s'; "
            "they must be equal",
            policy->name, wanted->name);
    if (wanted->version[0] == '\0')
        return NACRE_OK;
    if (!policy->version)
        return nacre_fail_at(err, NACRE_ERR_PARSE, policy->source,
                             policy->name_place.line, policy->name_place.column,
                             "version %s was asked for, but metadata.version is missing",
                             wanted->version);
    if (strcmp(policy->version, wanted->version) != 0)
        return nacre_fail_at(err, NACRE_ERR_PARSE, policy->source,
                             policy->version_place.line, policy->version_place.column,
                             "version %s was asked for, but metadata.version is '%s'",
                             wanted->version, nacre_text_shown(shown, policy->version));
    return NACRE_OK;
}

static enum nacre_status load_wanted(const struct wanted *wanted,
                                     const char *const policy_dirs[],
                                     struct nacre_policy **ret_policy,
                                     struct nacre_error *err)
{
    for (size_t i = 0; policy_dirs && policy_dirs[i]; i++) {
        NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL;
        NACRE_AUTO(nacre_fd_guard) int fd = -1;
        char path[NACRE_PATH_MAX], shown[NACRE_SHOWN];
        int length =
            snprintf(path, sizeof(path), "%s/%s.yaml", policy_dirs[i], wanted->name);
        enum nacre_status status;

        if (length < 0 || (size_t)length >= sizeof(path))
            return fail_reference(err, policy_dirs[i],
                                  "the policy directory's name is too long");
        fd = nacre_policy_file_open(path);
        if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
            continue;
        /* Not skipped: a later directory must not replace what can't be read here. */
        if (fd < 0)
            return nacre_fail(err, NACRE_ERR_IO, "policy '%s'",
                              nacre_text_shown(shown, path));
        status = read_policy(fd, path, &policy, err);
        if (status == NACRE_OK)
            status = check_identity(wanted, policy, err);
        if (status == NACRE_OK)
            *ret_policy = nacre_policy_take(&policy);
        return status;
    }
    return fail_not_found(wanted, policy_dirs, err);
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Why `rest`, what follows claw://, is not a local sandbox; always something. */
static const char *uri_fault(const char *rest)
{
    static const char *const kinds[] = {
        "identity/", "provider/",    "channel/", "tool/",  "skill/",
        "memory/",   "world-model/", "policy/",  "swarm/", "telemetry/",
    };

    if (starts_with(rest, "registry/"))
        return "no registry is known here; copy the policy into a policy directory";
    if (starts_with(rest, "local/"))
        rest += strlen("local/");
    for (size_t i = 0; i < NACRE_COUNT(kinds); i++)
        if (starts_with(rest, kinds[i]))
            return "not a sandbox; expected claw://local/sandbox/NAME";
    if (strstr(rest, "/sandbox/"))
        return "unknown authority; the only one is local: claw://local/sandbox/NAME";
    return "expected claw://local/sandbox/NAME[@VERSION] or claw://sandbox/NAME";
}

static enum nacre_status read_uri(const char *uri, struct wanted *ret_wanted,
                                  struct nacre_error *err)
{
    const char *rest = uri + strlen(CLAW_SCHEME), *name, *at;
    struct wanted wanted = { .version = "" };
    bool alias = starts_with(rest, "sandbox/");
    size_t length;

    assert(starts_with(uri, CLAW_SCHEME));
    if (strchr(rest, '%'))
        return fail_reference(err, uri, "a claw URI has no percent escapes");
    if (!alias && !starts_with(rest, "local/sandbox/"))
        return fail_reference(err, uri, uri_fault(rest));
    name = rest + strlen(alias ? "sandbox/" : "local/sandbox/");
    at = strchr(name, '@');
    length = at ? (size_t)(at - name) : strlen(name);
    if (at && alias)
        return fail_reference(err, uri,
                              "the short form has no version; write "
                              "claw://local/sandbox/NAME@VERSION");
    if (at &&
        (!nacre_policy_is_version(at + 1) || strlen(at + 1) >= sizeof(wanted.version)))
        return fail_reference(err, uri, "the version must be like 1.0.0 or 1.0.0-rc.1");
    if (length >= sizeof(wanted.name))
        return fail_reference(err, uri, "a name has at most 63 characters");
    memcpy(wanted.name, name, length);
    if (!nacre_policy_is_name(wanted.name))
        return fail_reference(err, uri, "a name is made of letters, digits and hyphens");
    if (at)
        memcpy(wanted.version, at + 1, strlen(at + 1));
    *ret_wanted = wanted;
    return NACRE_OK;
}

static bool is_path(const char *reference)
{
    const char *dot = strrchr(reference, '.');

    return strchr(reference, '/') ||
           (dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0));
}

enum nacre_status nacre_policy_load(const char *reference,
                                    const char *const policy_dirs[],
                                    struct nacre_policy **ret_policy,
                                    struct nacre_error *err)
{
    struct wanted wanted = { .version = "" };
    enum nacre_status status;

    if (starts_with(reference, CLAW_SCHEME)) {
        status = read_uri(reference, &wanted, err);
        return status == NACRE_OK ? load_wanted(&wanted, policy_dirs, ret_policy, err)
                                  : status;
    }
    if (strstr(reference, "://"))
        return fail_reference(err, reference,
                              "only claw:// URIs, names and files are policies; expected "
                              "claw://local/sandbox/NAME");
    if (is_path(reference))
        return load_file(reference, ret_policy, err);
    if (!nacre_policy_is_name(reference))
        return fail_reference(
            err, reference,
            "a name is 1 to 63 letters, digits and hyphens; a file is given "
            "with a '/' or ends in .yaml");
    memcpy(wanted.name, reference, strlen(reference));
    return load_wanted(&wanted, policy_dirs, ret_policy, err);
}
