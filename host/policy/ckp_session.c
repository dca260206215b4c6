/* A session's policy as CKP, and what of the session, its sandbox and its tools is not in
 * a policy at all. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "ckp_losses.h"
#include "nacre/own.h"
#include "nacre/session.h"
#include "nacre/text.h"

static const struct nacre_box_rules nothing;

/* What was written, of the session alone: which line said it, and why it is lost. */
static enum nacre_status lose_words(const struct nacre_session *session,
                                    struct nacre_losses *losses, struct nacre_error *err)
{
    const struct {
        const struct nacre_source *source;
        const char *word, *why;
    } words[] = {
        { &session->mode_source, nacre_mode_name(session->mode),
          "CKP does not say for which sessions a policy holds" },
        { &session->scope_source, nacre_scope_name(session->scope),
          "give --scope to each run" },
        { &session->access_source, nacre_access_name(session->access),
          "give --workspace to each run" },
        { &session->root_source, session->workspace_root,
          "give --workspace to each run" },
    };
    enum nacre_status status = NACRE_OK;
    char shown[NACRE_SHOWN];

    for (size_t i = 0; i < NACRE_COUNT(words) && status == NACRE_OK; i++)
        if (words[i].source->from != NACRE_FROM_DEFAULT && words[i].word)
            status = nacre_loss_add(losses, words[i].source->key, words[i].source->place,
                                    err, "'%s'; %s",
                                    nacre_text_shown(shown, words[i].word), words[i].why);
    return status;
}

/* The guest's side is in the policy; which directory of this host it is, is not. */
static enum nacre_status lose_binds(const struct nacre_bind_rules *binds,
                                    struct nacre_losses *losses, struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;

    for (size_t i = 0; i < binds->count && status == NACRE_OK; i++) {
        const struct nacre_bind_rule *bind = &binds->items[i];
        char host[NACRE_SHOWN], guest[64], key[32];

        (void)snprintf(key, sizeof(key), "binds[%zu]", i);
        (void)nacre_text_shown(host, bind->host);
        (void)nacre_text_show(guest, sizeof(guest), bind->guest, strlen(bind->guest));
        status = nacre_loss_add(losses, key, bind->place, err,
                                "'%s' is the host's side of '%s'; give --mount to each "
                                "run",
                                host, guest);
    }
    return status;
}

static enum nacre_status lose_tools(const struct nacre_tool_list *list,
                                    struct nacre_losses *losses, struct nacre_error *err)
{
    char names[160] = "";
    size_t used = 0;

    if (list->source.from == NACRE_FROM_DEFAULT)
        return NACRE_OK;
    for (uint32_t i = 0; i < list->count && used < sizeof(names); i++) {
        char shown[NACRE_SHOWN];

        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
                                 i > 0 ? ", " : "",
                                 nacre_text_shown(shown, list->names[i]));
    }
    if (used >= sizeof(names))
        memcpy(names + sizeof(names) - 4, "...", 4);
    return nacre_loss_add(losses, list->source.key, list->source.place, err,
                          "a policy holds for tools, it does not choose them: %s",
                          names[0] ? names : "(none)");
}

static enum nacre_status lose_all_tools(const struct nacre_session *session,
                                        struct nacre_losses *losses,
                                        struct nacre_error *err)
{
    const struct nacre_tool_list *const lists[] = {
        &session->tools_profile,
        &session->tools_global.allow, &session->tools_global.deny,
        &session->tools_agent.allow,  &session->tools_agent.deny,
        &session->tools_box.allow,    &session->tools_box.deny,
    };
    enum nacre_status status = NACRE_OK;

    for (size_t i = 0; i < NACRE_COUNT(lists) && status == NACRE_OK; i++)
        status = lose_tools(lists[i], losses, err);
    return status;
}

/* The rest of a `sandbox`, of all agents or of one. */
static enum nacre_status lose_box(const struct nacre_box_rules *box,
                                  struct nacre_losses *losses, struct nacre_error *err)
{
    const struct {
        const char *key;
        struct nacre_place place;
        const char *why;
    } rows[] = {
        { "container_prefix", box->container_prefix.place,
          "nacre names sandboxes itself" },
        { "session_tools_visibility", box->session_tools_visibility.place,
          "it is the agent's own" },
        { "browser", box->browser.place, "CKP has no browsers" },
        { "prune.idle_hours", box->prune_idle_hours.place,
          "how long a sandbox is kept is not the policy's" },
        { "prune.age_days", box->prune_age_days.place,
          "how long a sandbox is kept is not the policy's" },
    };
    enum nacre_status status = lose_binds(&box->binds, losses, err);

    for (size_t i = 0; i < NACRE_COUNT(rows) && status == NACRE_OK; i++)
        if (rows[i].place.line > 0)
            status = nacre_loss_add(losses, rows[i].key, rows[i].place, err, "%s",
                                    rows[i].why);
    return status;
}

static enum nacre_status lose_elevated(const struct nacre_elevated_rules *elevated,
                                       struct nacre_losses *losses,
                                       struct nacre_error *err)
{
    if (elevated->place.line == 0)
        return NACRE_OK;
    return nacre_loss_add(losses, "tools.elevated", elevated->place, err,
                          "CKP has no elevation: what must not be sandboxed gets a "
                          "policy of level none");
}

static enum nacre_status lose_session(const struct nacre_session *session,
                                      struct nacre_losses *losses,
                                      struct nacre_error *err)
{
    const struct nacre_config *config = session->config;
    const struct nacre_agent_rules *agent = nacre_config_agent(config, session->agent);
    enum nacre_status status = lose_words(session, losses, err);

    if (status == NACRE_OK)
        status = lose_box(&config->all.box, losses, err);
    if (status == NACRE_OK)
        status = lose_box(agent ? &agent->box : &nothing, losses, err);
    if (status == NACRE_OK)
        status = lose_all_tools(session, losses, err);
    if (status == NACRE_OK)
        status = lose_elevated(&config->all.elevated, losses, err);
    if (status == NACRE_OK && agent)
        status = lose_elevated(&agent->elevated, losses, err);
    if (status == NACRE_OK && config->main_key.text)
        status = nacre_loss_add(losses, "session.mainKey", config->main_key.place, err,
                                "CKP does not say for which sessions a policy holds");
    return status;
}

enum nacre_status nacre_ckp_write_session(const struct nacre_session *session,
                                          struct nacre_buf *out,
                                          struct nacre_losses *losses,
                                          struct nacre_error *err)
{
    char about[512], source[NACRE_SHOWN], key[NACRE_SHOWN], agent[NACRE_SHOWN];
    enum nacre_status status;

    (void)snprintf(about, sizeof(about), "From %s (%s): session %s of agent %s.",
                   nacre_text_shown(source, session->config->source),
                   nacre_dialect_name(session->config->dialect),
                   nacre_text_shown(key, session->key),
                   nacre_text_shown(agent, session->agent));
    status = nacre_ckp_write(session->shell, about, out, losses, err);
    return status == NACRE_OK ? lose_session(session, losses, err) : status;
}
