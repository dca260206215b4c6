#ifndef NACRE_TEST_SESSION_WORDS_H
#define NACRE_TEST_SESSION_WORDS_H

/* Sessions for tables of tests.  After <cmocka.h>. */

#include <jansson.h>

#include "config_words.h"
#include "nacre/session.h"

static inline void json_guard(json_t **owned)
{
    json_decref(*owned);
}

static inline struct nacre_session *settle(const struct nacre_config *config,
                                           const char *agent, const char *key)
{
    struct nacre_session_ask ask = { .agent = agent, .session = key, .home = HOME };
    struct nacre_session *session = NULL;
    struct nacre_error err;

    if (nacre_session_settle(config, &ask, &session, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    return session;
}

static inline struct nacre_plan *draft(const struct nacre_session *session)
{
    struct nacre_request request = { 0 };
    struct nacre_plan *plan = NULL;
    struct nacre_error err;

    nacre_session_request(session, &request);
    if (nacre_plan_draft(session->shell, &request, &plan, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    return plan;
}

static inline const char *text_at(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? text : "-";
}

/* Of an agent and of all, with something of every kind. */
static inline struct nacre_config *config_of_two(enum nacre_scope scope)
{
    struct nacre_config *config = config_of(NACRE_DIALECT_OPENCLAW);
    struct nacre_box_rules *all = &config->all.box;
    struct nacre_box_rules *own = &agent_of(config, "work")->box;

    set_mode(all, NACRE_MODE_ALL, 10);
    set_scope(all, scope, 10);
    set_text(&all->container.image, "all:1", 11);
    add_rules(&all->container.environment, "A=1 B=1", 12);
    add_rules(&all->container.ulimits, "stack=10:20 core=0:0", 15);
    add_rules(&all->container.tmpfs, "/scratch", 18);
    add_bind(&all->binds, "/srv/all", "/all", false, 19);
    all->pids = (struct nacre_limit){ 10, at(20) };
    all->prune_idle_hours = (struct nacre_limit){ 1, at(21) };
    all->network = NACRE_NETWORK_ALLOW_ALL;
    all->network_place = at(22);
    own->place = at(30);
    set_text(&own->container.image, "own:1", 31);
    set_text(&own->container_prefix, "own-", 31);
    add_rules(&own->container.environment, "B=2 C=2", 32);
    add_rules(&own->container.ulimits, "core=1:1", 35);
    add_rules(&own->container.tmpfs, "/own-scratch", 38);
    add_bind(&own->binds, "~/own", "/own", true, 39);
    own->pids = (struct nacre_limit){ 20, at(40) };
    own->prune_idle_hours = (struct nacre_limit){ 2, at(41) };
    own->network = NACRE_NETWORK_DENY;
    own->network_place = at(42);
    return config;
}

#endif
