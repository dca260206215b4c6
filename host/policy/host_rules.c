/*
 * host.yaml: what the operator of this machine wants of nacre itself.  It is trusted, so
 * that nobody else may be able to write it; and strict like a policy, because a misspelt
 * line would be a guard that is not there.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "nacre/approval.h"
#include "nacre/buf.h"
#include "nacre/text.h"
#include "node.h"
#include "schema.h"

#define WAIT_MS_MAX 86400000

static void free_list(char **texts)
{
    for (size_t i = 0; texts && texts[i]; i++)
        free(texts[i]);
    free(texts);
}

void nacre_host_rules_free(struct nacre_host_rules *rules)
{
    if (!rules)
        return;
    free(rules->soul);
    free_list(rules->command);
    free_list(rules->require);
    free(rules->engine_host);
    free(rules->engine_certificates);
    free(rules);
}

static enum nacre_status read_list(const struct nacre_reading *at,
                                   const struct nacre_node *list, char ***ret_texts,
                                   struct nacre_error *err)
{
    size_t count = 0;

    if (list->count == 0)
        return NACRE_READING_FAIL(at, list->place, err, "%s: an empty list says nothing",
                                  at->where);
    *ret_texts = calloc(list->count + 1, sizeof(**ret_texts));
    if (!*ret_texts)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for host.yaml");
    for (const struct nacre_node *node = list->first; node; node = node->next, count++) {
        struct nacre_reading entry = nacre_reading_entry(at, count);
        enum nacre_status status = nacre_schema_want_text(&entry, node, err);

        if (status == NACRE_OK)
            status = nacre_schema_copy(node->text, &(*ret_texts)[count], err);
        if (status != NACRE_OK)
            return status;
    }
    return NACRE_OK;
}

static enum nacre_status want_absolute(const struct nacre_reading *at,
                                       struct nacre_place place, const char *path,
                                       struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    if (path[0] == '/')
        return NACRE_OK;
    return NACRE_READING_FAIL(at, place, err, "%s: expected an absolute path, found '%s'",
                              at->where, nacre_text_shown(shown, path));
}

static enum nacre_status set_soul(const struct nacre_reading *at,
                                  const struct nacre_node *node, void *target,
                                  struct nacre_error *err)
{
    struct nacre_host_rules *rules = target;
    enum nacre_status status = want_absolute(at, node->place, node->text, err);

    return status == NACRE_OK ? nacre_schema_copy(node->text, &rules->soul, err) : status;
}

static enum nacre_status set_command(const struct nacre_reading *at,
                                     const struct nacre_node *node, void *target,
                                     struct nacre_error *err)
{
    struct nacre_host_rules *rules = target;
    enum nacre_status status = read_list(at, node, &rules->command, err);

    return status == NACRE_OK
               ? want_absolute(at, node->first->place, rules->command[0], err)
               : status;
}

static enum nacre_status set_require(const struct nacre_reading *at,
                                     const struct nacre_node *node, void *target,
                                     struct nacre_error *err)
{
    return read_list(at, node, &((struct nacre_host_rules *)target)->require, err);
}

/* What it leads to is judged by who goes there. */
static enum nacre_status set_engine_host(const struct nacre_reading *at,
                                         const struct nacre_node *node, void *target,
                                         struct nacre_error *err)
{
    struct nacre_host_rules *rules = target;
    char shown[NACRE_SHOWN];

    if ((strncmp(node->text, "unix:///", 8) != 0 || !node->text[8]) &&
        (strncmp(node->text, "tcp://", 6) != 0 || !node->text[6]))
        return NACRE_READING_FAIL(at, node->place, err,
                                  "%s: expected unix:///path or tcp://host:port, found "
                                  "'%s'", at->where, nacre_text_shown(shown, node->text));
    rules->engine_place = node->place;
    return nacre_schema_copy(node->text, &rules->engine_host, err);
}

static enum nacre_status set_certificates(const struct nacre_reading *at,
                                          const struct nacre_node *node, void *target,
                                          struct nacre_error *err)
{
    struct nacre_host_rules *rules = target;
    enum nacre_status status = want_absolute(at, node->place, node->text, err);

    rules->certificates_place = node->place;
    return status == NACRE_OK
               ? nacre_schema_copy(node->text, &rules->engine_certificates, err)
               : status;
}

static enum nacre_status judge_engine(const struct nacre_reading *at,
                                      const struct nacre_host_rules *rules,
                                      struct nacre_error *err)
{
    if (!rules->engine_certificates ||
        (rules->engine_host && strncmp(rules->engine_host, "tcp://", 6) == 0))
        return NACRE_OK;
    return NACRE_READING_FAIL(at, rules->certificates_place, err,
                              "engine.certificates: they are for an engine.host of "
                              "tcp://host:port, and %s",
                              rules->engine_host ? "this one is a socket"
                                                 : "there is none");
}

static const struct nacre_schema_key approvals_keys[] = {
    { .name = "soul", .type = NACRE_SCHEMA_TEXT, .set = set_soul },
    { .name = "command", .type = NACRE_SCHEMA_LIST, .set = set_command },
    { .name = "wait_ms", .type = NACRE_SCHEMA_LIMIT, .min = 1, .max = WAIT_MS_MAX,
      .offset = offsetof(struct nacre_host_rules, wait_ms) },
    { .name = "require", .type = NACRE_SCHEMA_LIST, .set = set_require },
};
static const struct nacre_schema approvals = { approvals_keys,
                                               NACRE_COUNT(approvals_keys) };
static const struct nacre_schema_key engine_keys[] = {
    { .name = "host", .type = NACRE_SCHEMA_TEXT, .set = set_engine_host },
    { .name = "certificates", .type = NACRE_SCHEMA_TEXT, .set = set_certificates },
};
static const struct nacre_schema engine = { engine_keys, NACRE_COUNT(engine_keys) };
static const struct nacre_schema_key keys[] = {
    { .name = "approvals", .type = NACRE_SCHEMA_SECTION, .section = &approvals },
    { .name = "engine", .type = NACRE_SCHEMA_SECTION, .section = &engine },
};
static const struct nacre_schema schema = { keys, NACRE_COUNT(keys) };

/* NACRE_ERR_NOT_FOUND when there is none. */
static enum nacre_status read_file(const char *path, struct nacre_buf *buf,
                                   struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard)
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    char shown[NACRE_SHOWN];
    struct stat info;

    (void)nacre_text_shown(shown, path);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return nacre_fail(err, NACRE_ERR_NOT_FOUND, "%s: no such file", shown);
    if (fd < 0 || fstat(fd, &info) < 0)
        return nacre_fail(err, NACRE_ERR_IO, "%s", shown);
    if (!S_ISREG(info.st_mode) || (info.st_uid != geteuid() && info.st_uid != 0) ||
        (info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "%s: it has to be a plain file of this user's or root's that "
                          "nobody else can write", shown);
    return nacre_buf_read(buf, fd, err);
}

enum nacre_status nacre_host_rules_load(const char *path,
                                        struct nacre_host_rules **ret_rules,
                                        struct nacre_error *err)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf buf = NACRE_BUF(NACRE_DOCUMENT_BYTES_MAX);
    NACRE_AUTO(nacre_node_guard) struct nacre_node *root = NULL;
    NACRE_AUTO(nacre_host_rules_guard)
    struct nacre_host_rules *rules = calloc(1, sizeof(*rules));
    struct nacre_reading at = { .source = path };
    enum nacre_status status;

    if (!rules)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for host.yaml");
    if (!path) {
        *ret_rules = nacre_host_rules_take(&rules);
        return NACRE_OK;
    }
    status = read_file(path, &buf, err);
    if (status == NACRE_OK)
        status = nacre_yaml_read(path, buf.bytes ? buf.bytes : "", buf.size, &root, err);
    if (status == NACRE_OK)
        status = nacre_schema_read(&schema, &at, root, rules, err);
    if (status == NACRE_OK)
        status = judge_engine(&at, rules, err);
    if (status != NACRE_OK && status != NACRE_ERR_NOT_FOUND)
        return status;
    *ret_rules = nacre_host_rules_take(&rules);
    return NACRE_OK;
}
