/*
 * Who may have a command run outside the sandbox.  Every gate that the file has must let
 * this sender through; without a sender none does.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "nacre/text.h"
#include "settle.h"

struct sender {
    const char *provider; /* "" when nobody is named */
    size_t provider_length;
    const char *id;
};

static void shut(struct nacre_session *session, const char *gate,
                 const struct nacre_agent_rules *agent, enum nacre_key key,
                 const struct sender *sender, struct nacre_place place)
{
    struct nacre_gate *added = &session->elevated.gates[session->elevated.gate_count++];
    char provider[32];
    size_t used;

    (void)snprintf(added->gate, sizeof(added->gate), "%s", gate);
    added->place = place;
    if (!nacre_config_key(session->config, agent, key, added->key))
        (void)snprintf(added->key, sizeof(added->key), "(none in this dialect)");
    used = strlen(added->key);
    if (sender && sender->provider_length > 0)
        (void)snprintf(added->key + used, sizeof(added->key) - used, ".%s",
                       nacre_text_show(provider, sizeof(provider), sender->provider,
                                       sender->provider_length));
}

/* "provider:sender", where the sender may be written with its provider once more. */
static bool lets_through(const char *entry, const struct sender *sender)
{
    const char *colon = strchr(entry, ':');
    const char *id = colon ? colon + 1 : "";
    size_t length = colon ? (size_t)(colon - entry) : 0;

    if (length == 0 || length != sender->provider_length || !sender->id[0] ||
        strncasecmp(entry, sender->provider, length) != 0)
        return false;
    if (strncasecmp(id, sender->provider, length) == 0 && id[length] == ':')
        id += length + 1;
    return strcmp(id, "*") == 0 || strcasecmp(id, sender->id) == 0;
}

static bool is_listed(const struct nacre_rules *from, const struct sender *sender)
{
    for (size_t i = 0; i < from->count; i++)
        if (lets_through(from->items[i].text, sender))
            return true;
    return false;
}

static bool is_off(const struct nacre_flag *enabled)
{
    return enabled->place.line > 0 && !enabled->on;
}

void nacre_session_elevation(const struct nacre_agent_rules *agent, const char *sender,
                             struct nacre_session *session)
{
    const struct nacre_elevated_rules *all = &session->config->all.elevated;
    const struct nacre_elevated_rules *own = agent ? &agent->elevated : NULL;
    const char *colon = sender ? strchr(sender, ':') : NULL;
    struct sender who = { "", 0, "" };

    if (colon)
        who = (struct sender){ sender, (size_t)(colon - sender), colon + 1 };
    session->elevated.enabled = session->config->dialect == NACRE_DIALECT_OPENCLAW;
    if (!session->elevated.enabled || is_off(&all->enabled))
        shut(session, "enabled", NULL, NACRE_KEY_ELEVATED_ENABLED, NULL,
             all->enabled.place);
    if (own && is_off(&own->enabled))
        shut(session, "enabled", agent, NACRE_KEY_ELEVATED_ENABLED, NULL,
             own->enabled.place);
    session->elevated.enabled = session->elevated.gate_count == 0;
    if (!is_listed(&all->allow_from, &who))
        shut(session, "allowFrom", NULL, NACRE_KEY_ELEVATED_FROM, &who,
             all->allow_from.place);
    if (own && own->allow_from.place.line > 0 && !is_listed(&own->allow_from, &who))
        shut(session, "allowFrom", agent, NACRE_KEY_ELEVATED_FROM, &who,
             own->allow_from.place);
    session->elevated.allowed = session->elevated.gate_count == 0;
}
