#ifndef NACRE_TEST_SESSION_SCENE_H
#define NACRE_TEST_SESSION_SCENE_H

/* Sessions made by hand, in a scene: state in ./state, workspaces in ./root, the agent's
 * own in ./agent.  After scene.h. */

#include <limits.h>

#include "nacre/clock.h"
#include "nacre/sessions.h"

struct hand {
    struct nacre_config config;
    struct nacre_policy shell;
    struct nacre_session session;
    char root[NACRE_PATH_MAX], box[NACRE_PATH_MAX + 64], agents[NACRE_PATH_MAX];
    char key[128], scope_key[128], agent[64];
};

static char session_state[NACRE_PATH_MAX];

/* Scope session, access none, of the configuration "here". */
static inline void hand_make(struct hand *hand, const char *key)
{
    *hand = (struct hand){ .config = { .source = (char *)"here",
                                       .dialect = NACRE_DIALECT_OPENCLAW } };
    (void)scene_path(hand->root, "root");
    (void)scene_path(hand->agents, "agent");
    (void)scene_path(session_state, "state");
    (void)snprintf(hand->key, sizeof(hand->key), "%s", key);
    (void)snprintf(hand->scope_key, sizeof(hand->scope_key), "%s", key);
    (void)snprintf(hand->agent, sizeof(hand->agent), "main");
    hand->shell.level = NACRE_LEVEL_CONTAINER;
    hand->session = (struct nacre_session){
        .config = &hand->config, .agent = hand->agent, .key = hand->key,
        .scope = NACRE_SCOPE_SESSION, .access = NACRE_ACCESS_NONE, .sandboxed = true,
        .scope_key = hand->scope_key, .workspace_root = hand->root,
        .workspace = hand->agents, .box_workspace = hand->box, .shell = &hand->shell,
    };
    nacre_session_slug(key, hand->session.slug);
    nacre_session_box_name("box-", key, hand->session.box_name);
    (void)snprintf(hand->box, sizeof(hand->box), "%s/%s", hand->root,
                   hand->session.slug);
}

static inline void hand_scope(struct hand *hand, enum nacre_scope scope,
                              const char *scope_key)
{
    hand->session.scope = scope;
    (void)snprintf(hand->scope_key, sizeof(hand->scope_key), "%s", scope_key);
    nacre_session_slug(scope_key, hand->session.slug);
    nacre_session_box_name("box-", scope_key, hand->session.box_name);
    (void)snprintf(hand->box, sizeof(hand->box), "%s/%s", hand->root,
                   hand->session.slug);
}

static inline uint64_t in_seconds(uint64_t seconds)
{
    return nacre_clock_ns() + seconds * NACRE_NS_PER_S;
}

static inline enum nacre_status hand_open(const struct hand *hand, uint64_t deadline_ns,
                                          struct nacre_session_hold **ret_hold,
                                          struct nacre_error *err)
{
    const struct nacre_session_open_options options = { .state_dir = session_state,
                                                        .deadline_ns = deadline_ns };

    return nacre_session_open(&hand->session, &options, ret_hold, err);
}

/* Opens and lets go. */
static inline void hand_use(const struct hand *hand)
{
    struct nacre_session_hold *hold = NULL;
    struct nacre_error err;

    if (hand_open(hand, in_seconds(10), &hold, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    nacre_session_hold_free(hold);
}

/* How many names lie in a directory; -1: there is none.  With `ending`, of those that end
 * so. */
static inline int count_names(const char *path, const char *ending)
{
    DIR *dir = opendir(path);
    const struct dirent *entry;
    int count = 0;

    if (!dir)
        return -1;
    while ((entry = readdir(dir))) {
        size_t length = strlen(entry->d_name), tail = strlen(ending);

        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
                 length >= tail && strcmp(entry->d_name + length - tail, ending) == 0;
    }
    (void)closedir(dir);
    return count;
}

static inline int records(void)
{
    return count_names("state/sessions", ".json");
}

/* ---- warm sandboxes that are none ---- */

struct fake_boxes {
    int asked;
    char which[8][128], scope_keys[8][128]; /* "": any */
    bool forced;
    uint32_t left; /* a command runs in each */
    int jobs_asked;
    uint32_t jobs; /* in the background of every session */
};

static inline enum nacre_status fake_end(void *data, const char *which,
                                         const char *scope_key, bool force,
                                         uint32_t *ret_ended, uint32_t *ret_left,
                                         struct nacre_error *err)
{
    struct fake_boxes *boxes = data;

    (void)err;
    (void)snprintf(boxes->scope_keys[boxes->asked % 8], 128, "%s",
                   scope_key ? scope_key : "");
    (void)snprintf(boxes->which[boxes->asked++ % 8], 128, "%s", which);
    boxes->forced |= force;
    *ret_ended = 0;
    *ret_left = force ? 0 : boxes->left;
    return NACRE_OK;
}

static inline enum nacre_status fake_end_jobs(void *data, const char *key,
                                              uint32_t *ret_ended,
                                              struct nacre_error *err)
{
    struct fake_boxes *boxes = data;

    (void)key;
    (void)err;
    boxes->jobs_asked++;
    *ret_ended = boxes->jobs;
    return NACRE_OK;
}

static inline struct nacre_sessions_end fake_ending(const char *key, bool force,
                                                    struct fake_boxes *boxes)
{
    return (struct nacre_sessions_end){ .key = key,
                                        .force = force,
                                        .deadline_ns = in_seconds(10),
                                        .end_jobs = fake_end_jobs,
                                        .jobs_data = boxes };
}

/* ---- dying on the way ---- */

struct dying {
    int left; /* steps until then */
};

static inline void die_at(void *data, const char *name)
{
    struct dying *dying = data;

    (void)name;
    if (dying->left-- == 0)
        (void)raise(SIGKILL);
}

#endif
