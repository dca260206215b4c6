/*
 * Values of OpenClaw's and Clawdis's `sandbox` that need more than a row in a table.  The
 * document is untrusted; every text is read to its end or refused.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "claw.h"
#include "nacre/egress.h"
#include "nacre/text.h"

/* ---- scope, network, session ---- */

enum nacre_status nacre_claw_per_session(const struct nacre_reading *at,
                                         const struct nacre_node *node, void *target,
                                         struct nacre_error *err)
{
    struct nacre_config_draft *draft = target;
    struct nacre_box_rules *box = &draft->rules.box;

    if (node->kind != NACRE_NODE_BOOLEAN)
        return nacre_schema_fail_type(at, node, "true or false", err);
    if (box->scope_place.line > 0)
        return nacre_config_note(draft->config, node->key_place, false, err,
                                 "%s: without effect, because scope is said too",
                                 at->where);
    box->scope = strcmp(node->text, "true") == 0 ? NACRE_SCOPE_SESSION
                                                 : NACRE_SCOPE_SHARED;
    box->scope_place = node->place;
    return NACRE_OK;
}

enum nacre_status nacre_claw_network(const struct nacre_reading *at,
                                     const struct nacre_node *node, void *target,
                                     struct nacre_error *err)
{
    static const char *const words[] = { "none", "bridge" };
    struct nacre_config_draft *draft = target;
    struct nacre_box_rules *box = &draft->rules.box;
    const char *nearest;
    char shown[NACRE_SHOWN];

    box->network_place = node->place;
    box->network = NACRE_NETWORK_DENY;
    if (strcmp(node->text, "none") == 0)
        return NACRE_OK;
    box->network = NACRE_NETWORK_ALLOW_ALL;
    if (strcmp(node->text, "bridge") == 0)
        return NACRE_OK;
    if (strcmp(node->text, "host") == 0)
        return NACRE_READING_FAIL(
            at, node->place, err,
            "%s: 'host' is refused in any configuration: it would be the host's own "
            "network; write none or bridge",
            at->where);
    if (strncmp(node->text, "container:", strlen("container:")) == 0)
        return NACRE_READING_FAIL(
            at, node->place, err,
            "%s: 'container:' is refused in any configuration: it would join another "
            "container's network; write none or bridge",
            at->where);
    nearest = nacre_text_nearest(node->text, words, NACRE_COUNT(words));
    return NACRE_READING_FAIL(
        at, node->place, err,
        "%s: '%s' is refused: what passes a network of the engine's own is not judged "
        "here; write none or bridge%s%s%s",
        at->where, nacre_text_shown(shown, node->text), nearest ? "; did you mean '" : "",
        nearest ? nearest : "", nearest ? "'?" : "");
}

enum nacre_status nacre_claw_main_key(const struct nacre_reading *at,
                                      const struct nacre_node *node, void *target,
                                      struct nacre_error *err)
{
    struct nacre_config_draft *draft = target;
    struct nacre_rule *key = &draft->config->main_key;

    if (node->text[strspn(node->text, " \t\r\n")] == '\0')
        return NACRE_READING_FAIL(at, node->place, err, "%s must not be empty",
                                  at->where);
    key->place = node->place;
    return nacre_schema_copy(node->text, &key->text, err);
}

/*
 * A name is the prefix, 41 letters that stand for the session, and cut at 63: with a
 * longer prefix the cut would take the end, and two sessions could share a sandbox.
 */
#define PREFIX_MAX 22

enum nacre_status nacre_claw_prefix(const struct nacre_reading *at,
                                    const struct nacre_node *node, char **ret_text,
                                    struct nacre_error *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789._-";
    const char *text = node->text;
    char shown[NACRE_SHOWN];

    if (text[0] == '\0' || strlen(text) > PREFIX_MAX || strchr("._-", text[0]) ||
        text[strspn(text, letters)] != '\0')
        return NACRE_READING_FAIL(at, node->place, err,
                                  "%s: expected 1 to %d letters, digits, '.', '_' and "
                                  "'-', the first a letter or digit; found '%s'",
                                  at->where, PREFIX_MAX, nacre_text_shown(shown, text));
    return nacre_schema_copy(text, ret_text, err);
}

/* ---- env, setupCommand ---- */

static enum nacre_status new_rules(const struct nacre_node *node,
                                   struct nacre_rules *rules, struct nacre_error *err)
{
    rules->place = node->key_place;
    if (node->count == 0)
        return NACRE_OK;
    rules->items = calloc(node->count, sizeof(*rules->items));
    return rules->items ? NACRE_OK
                        : nacre_fail(err, NACRE_ERR_MEMORY,
                                     "no memory for the configuration");
}

/* "first" + "between" + "second", malloc'ed. */
static enum nacre_status join(const char *first, const char *between, const char *second,
                              char **ret_text, struct nacre_error *err)
{
    size_t size = strlen(first) + strlen(between) + strlen(second) + 1;
    char *text = malloc(size);

    if (!text)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the configuration");
    (void)snprintf(text, size, "%s%s%s", first, between, second);
    *ret_text = text;
    return NACRE_OK;
}

enum nacre_status nacre_claw_env(const struct nacre_reading *at,
                                 const struct nacre_node *node, void *target,
                                 struct nacre_error *err)
{
    struct nacre_config_draft *draft = target;
    struct nacre_rules *rules = &draft->rules.box.container.environment;
    char shown[NACRE_SHOWN];
    enum nacre_status status = new_rules(node, rules, err);

    for (const struct nacre_node *child = node->first; child && status == NACRE_OK;
         child = child->next) {
        struct nacre_rule *rule = &rules->items[rules->count];

        if (child->key[0] == '\0' || strchr(child->key, '='))
            return NACRE_READING_FAIL(at, child->key_place, err,
                                      "%s: '%s' is no name of a variable", at->where,
                                      nacre_text_shown(shown, child->key));
        status = nacre_schema_want_text(at, child, err);
        if (status == NACRE_OK)
            status = join(child->key, "=", child->text, &rule->text, err);
        if (status != NACRE_OK)
            return status;
        rule->place = child->place;
        rules->count++;
    }
    return status;
}

enum nacre_status nacre_claw_setup(const struct nacre_reading *at,
                                   const struct nacre_node *node, void *target,
                                   struct nacre_error *err)
{
    struct nacre_config_draft *draft = target;
    struct nacre_rule *rule = &draft->rules.box.container.setup_command;
    enum nacre_status status = NACRE_OK;
    size_t index = 0;

    if (node->kind != NACRE_NODE_TEXT && node->kind != NACRE_NODE_LIST)
        return nacre_schema_fail_type(at, node, "a text or a list of texts", err);
    rule->place = node->place;
    if (node->kind == NACRE_NODE_TEXT)
        status = nacre_schema_copy(node->text, &rule->text, err);
    for (const struct nacre_node *line = node->first; line && status == NACRE_OK;
         line = line->next) {
        NACRE_AUTO(nacre_heap_guard) char *before = rule->text;
        struct nacre_reading entry = nacre_reading_entry(at, index++);

        rule->text = NULL;
        status = nacre_schema_want_text(&entry, line, err);
        if (status == NACRE_OK)
            status = join(before ? before : "", before ? "\n" : "", line->text,
                          &rule->text, err);
    }
    if (status == NACRE_OK &&
        (!rule->text || rule->text[strspn(rule->text, " \t\r\n")] == '\0'))
        return NACRE_READING_FAIL(at, node->place, err,
                                  "%s must not be empty; give a command, or remove it",
                                  at->where);
    return status;
}

/* ---- ulimits ---- */

/* Digits without a unit, for both sides. */
static bool is_limit(const char *text)
{
    uint64_t value;

    return nacre_text_u64(text, INT64_MAX, &value);
}

struct pair {
    char soft[24], hard[24];
};

static enum nacre_status fail_limit(const struct nacre_reading *at,
                                    const struct nacre_node *node,
                                    struct nacre_error *err)
{
    char shown[NACRE_NODE_SHOWN];

    return NACRE_READING_FAIL(at, node->place, err,
                              "%s: expected a number, \"SOFT:HARD\" or {soft, hard} with "
                              "soft not above hard; found %s",
                              at->where, nacre_node_shown(node, shown));
}

static enum nacre_status read_side(const struct nacre_reading *at,
                                   const struct nacre_node *node, char ret_text[24],
                                   struct nacre_error *err)
{
    if (node->kind != NACRE_NODE_NUMBER || strlen(node->text) >= 24 ||
        !is_limit(node->text))
        return nacre_schema_fail_type(at, node, "a whole number in decimal digits", err);
    (void)snprintf(ret_text, 24, "%s", node->text);
    return NACRE_OK;
}

static enum nacre_status set_soft(const struct nacre_reading *at,
                                  const struct nacre_node *node, void *target,
                                  struct nacre_error *err)
{
    return read_side(at, node, ((struct pair *)target)->soft, err);
}

static enum nacre_status set_hard(const struct nacre_reading *at,
                                  const struct nacre_node *node, void *target,
                                  struct nacre_error *err)
{
    return read_side(at, node, ((struct pair *)target)->hard, err);
}

static const struct nacre_schema_key pair_keys[] = {
    { NACRE_ROW_SET("soft", ANY, set_soft) },
    { NACRE_ROW_SET("hard", ANY, set_hard) },
};
static const struct nacre_schema pair_schema = NACRE_SCHEMA_OF(pair_keys);

static enum nacre_status read_pair(const struct nacre_reading *at,
                                   const struct nacre_node *node, struct pair *ret_pair,
                                   struct nacre_error *err)
{
    struct pair pair = { .soft = "" };
    enum nacre_status status = NACRE_OK;
    uint64_t soft = 0, hard = 0;
    size_t length;

    if (node->kind == NACRE_NODE_MAPPING) {
        status = nacre_schema_read(&pair_schema, at, node, &pair, err);
    } else if ((node->kind == NACRE_NODE_NUMBER || node->kind == NACRE_NODE_TEXT) &&
               strlen(node->text) < sizeof(pair.soft) + sizeof(pair.hard)) {
        length = strcspn(node->text, ":");
        (void)snprintf(pair.soft, sizeof(pair.soft), "%.*s", (int)length, node->text);
        if (node->text[length] == ':')
            (void)snprintf(pair.hard, sizeof(pair.hard), "%s", node->text + length + 1);
        if (node->text[length] == ':' && pair.hard[0] == '\0')
            return fail_limit(at, node, err);
    }
    if (status != NACRE_OK)
        return status;
    if (pair.soft[0] == '\0')
        memcpy(pair.soft, pair.hard, sizeof(pair.soft));
    if (pair.hard[0] == '\0')
        memcpy(pair.hard, pair.soft, sizeof(pair.hard));
    if (!nacre_text_u64(pair.soft, INT64_MAX, &soft) ||
        !nacre_text_u64(pair.hard, INT64_MAX, &hard) || soft > hard)
        return fail_limit(at, node, err);
    *ret_pair = pair;
    return NACRE_OK;
}

enum nacre_status nacre_claw_ulimits(const struct nacre_reading *at,
                                     const struct nacre_node *node, void *target,
                                     struct nacre_error *err)
{
    static const char *const names[] = {
        "core",  "cpu",    "data",  "fsize",  "locks",  "memlock",    "msgqueue", "nice",
        "nofile", "nproc", "rss",   "rtprio", "rttime", "sigpending", "stack",
    };
    struct nacre_config_draft *draft = target;
    struct nacre_rules *rules = &draft->rules.box.container.ulimits;
    enum nacre_status status = new_rules(node, rules, err);

    for (const struct nacre_node *child = node->first; child && status == NACRE_OK;
         child = child->next) {
        struct nacre_node name = { .kind = NACRE_NODE_TEXT, .text = child->key,
                                   .place = child->key_place };
        struct nacre_rule *rule = &rules->items[rules->count];
        struct nacre_reading inner;
        char value[2 * sizeof(struct pair)];
        struct pair pair;
        size_t index;

        status = nacre_schema_read_choice(at, &name, names, NACRE_COUNT(names), &index,
                                          err);
        if (status != NACRE_OK)
            return status;
        inner = nacre_reading_key(at, names[index]);
        status = read_pair(&inner, child, &pair, err);
        if (status != NACRE_OK)
            return status;
        (void)snprintf(value, sizeof(value), "%s:%s", pair.soft, pair.hard);
        status = join(names[index], "=", value, &rule->text, err);
        if (status != NACRE_OK)
            return status;
        rule->place = child->place;
        rules->count++;
        if (strcmp(pair.soft, pair.hard) != 0 &&
            (strcmp(names[index], "nofile") == 0 || strcmp(names[index], "nproc") == 0))
            status = nacre_config_note(draft->config, child->place, false, err,
                                       "%s: %s holds, soft and hard: inside nothing "
                                       "raises it to %s",
                                       inner.where, pair.soft, pair.hard);
    }
    return status;
}

/* ---- names and addresses ---- */

static enum nacre_status read_address(const struct nacre_reading *at,
                                      const struct nacre_node *node, const char *text,
                                      char ret_text[NACRE_ADDRESS_TEXT],
                                      struct nacre_error *err)
{
    struct nacre_address address;
    size_t length = strlen(text);
    char shown[NACRE_SHOWN];

    if (length > 2 && text[0] == '[' && text[length - 1] == ']') {
        text++;
        length -= 2;
    }
    if (!nacre_address_parse(text, length, &address))
        return NACRE_READING_FAIL(at, node->place, err,
                                  "%s: '%s' is no address; write one like 192.0.2.1 or "
                                  "2001:db8::1",
                                  at->where, nacre_text_shown(shown, text));
    (void)nacre_address_text(&address, ret_text);
    return NACRE_OK;
}

enum nacre_status nacre_claw_resolver(const struct nacre_reading *at,
                                      const struct nacre_node *node, char **ret_text,
                                      struct nacre_error *err)
{
    char text[NACRE_ADDRESS_TEXT];
    enum nacre_status status = read_address(at, node, node->text, text, err);

    return status == NACRE_OK ? nacre_schema_copy(text, ret_text, err) : status;
}

enum nacre_status nacre_claw_extra_host(const struct nacre_reading *at,
                                        const struct nacre_node *node, char **ret_text,
                                        struct nacre_error *err)
{
    NACRE_AUTO(nacre_heap_guard) char *text = NULL;
    struct nacre_egress_host host;
    char address[NACRE_ADDRESS_TEXT], shown[NACRE_SHOWN], *colon;
    struct nacre_error why;
    enum nacre_status status = nacre_schema_copy(node->text, &text, err);

    if (status != NACRE_OK)
        return status;
    (void)nacre_text_shown(shown, node->text);
    colon = strchr(text, ':');
    if (!colon || colon == text)
        return NACRE_READING_FAIL(at, node->place, err,
                                  "%s: '%s' is not NAME:ADDRESS, like "
                                  "api.local:192.0.2.1",
                                  at->where, shown);
    *colon++ = '\0';
    if (strcmp(colon, "host-gateway") == 0)
        return NACRE_READING_FAIL(
            at, node->place, err,
            "%s: 'host-gateway' is refused: it is the host itself; name an address",
            at->where);
    status = read_address(at, node, colon, address, err);
    if (status != NACRE_OK)
        return status;
    status = nacre_egress_host_read(text, &host, &why);
    if (status != NACRE_OK)
        return nacre_fail_at(err, status, at->source, node->place.line,
                             node->place.column, "%s: '%s': %.300s", at->where, shown,
                             why.text);
    if (host.below || host.is_address)
        status = NACRE_READING_FAIL(at, node->place, err,
                                    "%s: '%s': a fixed answer needs the name of one host",
                                    at->where, shown);
    else
        status = join(host.name, "=", address, ret_text, err);
    nacre_egress_host_clear(&host);
    return status;
}

/* ---- what would come from elsewhere ---- */

enum nacre_status nacre_claw_include(const struct nacre_reading *at,
                                     const struct nacre_node *node, void *target,
                                     struct nacre_error *err)
{
    (void)target;
    return NACRE_READING_FAIL(
        at, node->key_place, err,
        "%s: other files are not read; write here what the included one says about "
        "sandboxes and tools",
        at->where);
}

static bool has_variable(const char *text)
{
    static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    static const char rest[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

    while ((text = strstr(text, "${"))) {
        text += 2;
        if (*text && strchr(first, *text) && text[strspn(text, rest)] == '}')
            return true;
    }
    return false;
}

enum nacre_status nacre_claw_refuse_variables(const struct nacre_reading *at,
                                              const struct nacre_node *node,
                                              struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;
    char shown[NACRE_SHOWN];

    if (node->kind == NACRE_NODE_TEXT && has_variable(node->text))
        return NACRE_READING_FAIL(
            at, node->place, err,
            "%s: '%s' would be filled in from OpenClaw's environment, which is not known "
            "here; write the value, or keep it as a secret of nacre's",
            at->where, nacre_text_shown(shown, node->text));
    for (const struct nacre_node *child = node->first; child && status == NACRE_OK;
         child = child->next)
        status = nacre_claw_refuse_variables(at, child, err);
    return status;
}
