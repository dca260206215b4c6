/* What a configuration means for one session: who asks, and which line decides. */
#include <dirent.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fail_alloc.h"
#include "session_words.h"

/* ---- the matrix ---- */

static const char *given(const char *word)
{
    return strcmp(word, "-") == 0 ? NULL : word;
}

static enum nacre_mode mode_of(const char *word)
{
    return strcmp(word, "off") == 0   ? NACRE_MODE_OFF
           : strcmp(word, "all") == 0 ? NACRE_MODE_ALL
                                      : NACRE_MODE_NON_MAIN;
}

static enum nacre_scope scope_of(const char *word)
{
    return strcmp(word, "session") == 0 ? NACRE_SCOPE_SESSION
           : strcmp(word, "agent") == 0 ? NACRE_SCOPE_AGENT
                                        : NACRE_SCOPE_SHARED;
}

static enum nacre_access access_of(const char *word)
{
    return strcmp(word, "none") == 0 ? NACRE_ACCESS_NONE
           : strcmp(word, "ro") == 0 ? NACRE_ACCESS_RO
                                     : NACRE_ACCESS_RW;
}

struct cell {
    char mode[16], scope[16], access[16], agent[16], asked[64]; /* asked */
    char key[64], sandboxed[16], level[16], scope_key[64], name[80], host[128],
        mount[128], writes[8]; /* expected */
};

/* What is at `guest`, by the mounts that explain names. */
static const char *host_of(const json_t *mounts, const char *guest)
{
    const json_t *mount;
    size_t i;

    json_array_foreach(mounts, i, mount)
        if (strcmp(text_at(mount, "guest"), guest) == 0)
            return text_at(mount, "host");
    return "-";
}

static bool same(const char *what, const char *got, const char *wanted)
{
    if (strcmp(got, wanted) == 0)
        return true;
    print_error("%s is %s, not %s\n", what, got, wanted);
    return false;
}

/* File tools at level wasm see the same, and nothing of it is refused. */
static bool files_can_run(const struct nacre_session *session, const char *host)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = NULL;
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
    struct nacre_request request = { 0 };
    struct nacre_error err;

    nacre_session_request(session, &request);
    assert_int_equal(request.unsandboxed, !session->sandboxed);
    assert_int_equal(nacre_result_new(&denials, &err), NACRE_OK);
    if (nacre_plan_make(session->files, &request, &plan, denials, &err) != NACRE_OK) {
        print_error("file tools: %s\n", err.text);
        return false;
    }
    return same("/workspace of files", plan->mounts[0].host, host);
}

static bool check_cell(const struct cell *cell, const struct nacre_session *session,
                       const json_t *told)
{
    const json_t *box = json_object_get(told, "sandbox");
    const json_t *plan = json_object_get(told, "plan");
    const json_t *plans = json_object_get(plan, "mounts");
    bool boxed = strcmp(cell->sandboxed, "sandboxed") == 0;
    bool good = session->sandboxed == boxed;
    bool writes = strcmp(cell->writes, "on") == 0;
    struct nacre_answer answer;
    struct nacre_error err;

    good &= json_is_true(json_object_get(box, "sessionIsSandboxed")) == boxed;
    good &= same("the key", text_at(told, "sessionKey"), cell->key);
    good &= same("the level", text_at(json_object_get(told, "exec"), "level"),
                 cell->level);
    good &= same("the plan's level", text_at(plan, "level"), cell->level);
    good &= same("the scope key", text_at(box, "scopeKey"), cell->scope_key);
    good &= same("the container", text_at(box, "containerName"), cell->name);
    good &= same("/workspace", host_of(json_object_get(box, "mounts"), "/workspace"),
                 cell->host);
    good &= same("/agent", host_of(json_object_get(box, "mounts"), "/agent"),
                 cell->mount);
    good &= !boxed || same("the plan's /workspace", host_of(plans, "/workspace"),
                           cell->host);
    good &= !boxed || same("the plan's /agent", host_of(plans, "/agent"), cell->mount);
    good &= json_is_true(json_object_get(plan, "runnable"));
    good &= nacre_session_tool(session, "write", &answer, &err) == NACRE_OK &&
            answer.allowed == writes;
    good &= files_can_run(session, cell->host);
    good &= session->files->level == NACRE_LEVEL_WASM &&
            session->files->filesystem.mounts.items[0].writable == writes;
    return good;
}

static void every_cell_of_the_matrix_holds(void **state)
{
    FILE *file = fopen(NACRE_SUITES_DIR "/sessions/matrix.txt", "re");
    int cells = 0, failures = 0;
    char line[1024];

    (void)state;
    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        NACRE_AUTO(nacre_config_guard) struct nacre_config *config =
            config_of(NACRE_DIALECT_OPENCLAW);
        NACRE_AUTO(nacre_session_guard) struct nacre_session *session = NULL;
        NACRE_AUTO(json_guard) json_t *told = NULL;
        struct cell cell;

        if (line[0] == '#')
            continue;
        assert_int_equal(sscanf(line,
                                "%15s %15s %15s %15s %63s | %63s %15s %15s %63s %79s "
                                "%127s %127s %7s",
                                cell.mode, cell.scope, cell.access, cell.agent,
                                cell.asked, cell.key, cell.sandboxed, cell.level,
                                cell.scope_key, cell.name, cell.host, cell.mount,
                                cell.writes),
                         13);
        set_mode(&config->all.box, mode_of(cell.mode), 4);
        set_scope(&config->all.box, scope_of(cell.scope), 5);
        set_access(&config->all.box, access_of(cell.access), 6);
        session = settle(config, given(cell.agent), given(cell.asked));
        told = nacre_session_json(session, NULL);
        assert_non_null(told);
        cells++;
        if (check_cell(&cell, session, told))
            continue;
        failures++;
        print_error("  in: %s\n", line);
    }
    (void)fclose(file);
    assert_true(cells >= 100);
    assert_int_equal(failures, 0);
}

/* ---- who asks ---- */

static void a_session_and_an_agent_that_disagree_are_refused(void **state)
{
    static const struct {
        const char *agent, *session, *text;
    } rows[] = {
        { "main", "agent:work:x", "one of the agent 'work', not of 'main'" },
        { NULL, "agent:", "agent:ID:NAME" },
        { NULL, "agent:work", "agent:ID:NAME" },
        { NULL, "agent::x", "agent:ID:NAME" },
        { NULL, "agent:work:", "agent:ID:NAME" },
        { NULL, "a\nb", "control character" },
        { NULL, "a\x7f", "control character" },
        { NULL, " \t", "blank" },
        { NULL, "\xff", "not UTF-8" },
    };
    NACRE_AUTO(nacre_config_guard) struct nacre_config *config =
        config_of(NACRE_DIALECT_OPENCLAW);
    char longest[514];

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct nacre_session_ask ask = { .agent = rows[i].agent,
                                         .session = rows[i].session, .home = HOME };
        struct nacre_session *session = NULL;
        struct nacre_error err;

        assert_int_equal(nacre_session_settle(config, &ask, &session, &err),
                         NACRE_ERR_USAGE);
        assert_null(session);
        if (!strstr(err.text, rows[i].text))
            fail_msg("row %zu: %s", i, err.text);
    }
    memset(longest, 'a', 513);
    longest[513] = '\0';
    assert_int_equal(
        nacre_session_settle(
            config, &(struct nacre_session_ask){ .session = longest, .home = HOME },
            &(struct nacre_session *){ NULL }, &(struct nacre_error){ 0 }),
        NACRE_ERR_USAGE);
}

static void the_main_session_is_known_by_its_key_alone(void **state)
{
    static const struct {
        const char *main_key, *agent, *session;
        bool is_main;
    } rows[] = {
        { NULL, NULL, NULL, true },      { NULL, NULL, "main", true },
        { NULL, NULL, " main ", true },  { NULL, NULL, "agent:main:main", true },
        { NULL, NULL, "Agent:MAIN:main", true },
        { NULL, NULL, "MAIN", false },   { NULL, NULL, "agent:main:x", false },
        { NULL, "work", "work", false }, { NULL, "work", "main", true },
        { NULL, "work", NULL, true },    { NULL, NULL, "agent:work:main", true },
        { NULL, NULL, "agent:work:work", false },
        { "home", NULL, "home", true },  { " HOME ", NULL, "home", true },
        { "home", NULL, "main", false }, { "home", NULL, "agent:main:home", true },
        { "home", NULL, NULL, true },    { "", NULL, "main", true },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        NACRE_AUTO(nacre_config_guard) struct nacre_config *config =
            config_of(NACRE_DIALECT_OPENCLAW);
        NACRE_AUTO(nacre_session_guard) struct nacre_session *session = NULL;

        set_mode(&config->all.box, NACRE_MODE_NON_MAIN, 4);
        if (rows[i].main_key)
            set_text(&config->main_key, rows[i].main_key, 3);
        session = settle(config, rows[i].agent, rows[i].session);
        if (session->is_main != rows[i].is_main ||
            session->sandboxed == rows[i].is_main)
            fail_msg("row %zu: %s is %sthe main session", i, session->key,
                     session->is_main ? "" : "not ");
    }
}

static void two_agents_never_meet_under_a_bare_key(void **state)
{
    NACRE_AUTO(nacre_config_guard) struct nacre_config *config =
        config_of(NACRE_DIALECT_OPENCLAW);
    NACRE_AUTO(nacre_session_guard) struct nacre_session *a = settle(config, "a", "x");
    NACRE_AUTO(nacre_session_guard) struct nacre_session *b = settle(config, "b", "x");
    NACRE_AUTO(nacre_session_guard) struct nacre_session *same =
        settle(config, NULL, "agent:a:x");

    (void)state;
    assert_string_not_equal(a->scope_key, b->scope_key);
    assert_string_not_equal(a->box_name, b->box_name);
    assert_string_equal(a->scope_key, same->scope_key);
    assert_string_equal(a->box_name, same->box_name);
}

static void clawpy_has_names_of_its_own(void **state)
{
    static const struct {
        const char *profile, *agent, *session;
        enum nacre_scope scope; /* UNSET: the profile's */
        const char *name;
    } rows[] = {
        { "agent", NULL, "7", NACRE_SCOPE_UNSET, "agent_main_session_7" },
        { NULL, "work", "7", NACRE_SCOPE_UNSET, "agent_work_session_7" },
        { NULL, NULL, "agent:work:7", NACRE_SCOPE_UNSET, "agent_work_session_7" },
        { NULL, NULL, "a/b", NACRE_SCOPE_UNSET, "agent_main_session_a-b-fbdc0df3" },
        { NULL, "work", "7", NACRE_SCOPE_AGENT, "agent_work" },
        { "heartbeat", NULL, "7", NACRE_SCOPE_UNSET, "heartbeat_worker" },
        { "heartbeat", "work", "7", NACRE_SCOPE_UNSET, "heartbeat_worker_work" },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        NACRE_AUTO(nacre_config_guard) struct nacre_config *config =
            config_of(NACRE_DIALECT_CLAWPY);
        NACRE_AUTO(nacre_session_guard) struct nacre_session *session = NULL;

        if (rows[i].profile)
            set_text(&config->profile, rows[i].profile, 1);
        if (rows[i].scope)
            set_scope(&config->all.box, rows[i].scope, 2);
        session = settle(config, rows[i].agent, rows[i].session);
        assert_true(session->sandboxed);
        assert_string_equal(session->box_name, rows[i].name);
    }
}

/* ---- precedence ---- */

static void the_agents_line_is_over_that_of_all_over_the_default(void **state)
{
    (void)state;
    for (int all = 0; all < 2; all++) {
        for (int own = 0; own < 2; own++) {
            NACRE_AUTO(nacre_config_guard) struct nacre_config *config =
                config_of(NACRE_DIALECT_OPENCLAW);
            struct nacre_agent_rules *agent = agent_of(config, "work");
            NACRE_AUTO(nacre_session_guard) struct nacre_session *session = NULL;
            enum nacre_from from = own   ? NACRE_FROM_AGENT
                                   : all ? NACRE_FROM_GLOBAL
                                         : NACRE_FROM_DEFAULT;
            int line = own ? 20 : all ? 10 : 0;

            if (all) {
                set_mode(&config->all.box, NACRE_MODE_ALL, 10);
                set_scope(&config->all.box, NACRE_SCOPE_AGENT, 10);
                set_access(&config->all.box, NACRE_ACCESS_RO, 10);
                set_text(&config->all.box.workspace_root, "/srv/all", 10);
            }
            if (own) {
                set_mode(&agent->box, NACRE_MODE_NON_MAIN, 20);
                set_scope(&agent->box, NACRE_SCOPE_SESSION, 20);
                set_access(&agent->box, NACRE_ACCESS_RW, 20);
                set_text(&agent->box.workspace_root, "~/own", 20);
            }
            session = settle(config, "Work", "x");
            assert_int_equal(session->mode, own   ? NACRE_MODE_NON_MAIN
                                            : all ? NACRE_MODE_ALL
                                                  : NACRE_MODE_OFF);
            assert_int_equal(session->access, own   ? NACRE_ACCESS_RW
                                              : all ? NACRE_ACCESS_RO
                                                    : NACRE_ACCESS_NONE);
            assert_int_equal(session->scope, all && !own ? NACRE_SCOPE_AGENT
                                                         : NACRE_SCOPE_SESSION);
            assert_string_equal(session->workspace_root,
                                own   ? HOME "/own"
                                : all ? "/srv/all"
                                      : HOME "/.openclaw/sandboxes");
            assert_int_equal(session->mode_source.from, from);
            assert_int_equal(session->scope_source.from, from);
            assert_int_equal(session->access_source.from, from);
            assert_int_equal(session->root_source.from, from);
            assert_int_equal(session->mode_source.place.line, line);
            assert_string_equal(session->mode_source.key,
                                own ? "agents.entries.work.sandbox.mode"
                                    : "agents.defaults.sandbox.mode");
        }
    }
}

static bool has_text(const struct nacre_rules *rules, const char *text)
{
    for (size_t i = 0; i < rules->count; i++)
        if (strcmp(rules->items[i].text, text) == 0)
            return true;
    return false;
}

static void env_and_ulimits_merge_and_binds_are_appended(void **state)
{
    NACRE_AUTO(nacre_config_guard) struct nacre_config *config =
        config_of_two(NACRE_SCOPE_AGENT);
    NACRE_AUTO(nacre_session_guard) struct nacre_session *session =
        settle(config, "work", "x");
    const struct nacre_container_rules *made = &session->shell->container;

    (void)state;
    assert_string_equal(made->image.text, "own:1");
    assert_int_equal(made->image.place.line, 31);
    assert_int_equal(made->environment.count, 3);
    assert_true(has_text(&made->environment, "A=1"));
    assert_true(has_text(&made->environment, "B=2"));
    assert_true(has_text(&made->environment, "C=2"));
    assert_int_equal(made->ulimits.count, 2);
    assert_true(has_text(&made->ulimits, "stack=10:20"));
    assert_true(has_text(&made->ulimits, "core=1:1"));
    assert_int_equal(made->tmpfs.count, 1);
    assert_string_equal(made->tmpfs.items[0].text, "/own-scratch");
    assert_int_equal(session->mount_count, 2);
    assert_string_equal(session->mounts[0].guest, "/all");
    assert_int_equal(session->mounts[0].mode, 'r');
    assert_string_equal(session->mounts[1].host, HOME "/own");
    assert_int_equal(session->mounts[1].mode, 'w');
    assert_int_equal(session->shell->limits.max_processes.value, 20);
    assert_int_equal(session->shell->network.mode, NACRE_NETWORK_DENY);
    assert_int_equal(session->prune_idle_ms, 2 * 3600 * 1000);
    assert_int_equal(session->prune_age_ms, 7 * 24 * 3600 * 1000);
    assert_memory_equal(session->box_name, "own-agent-work-", 15);
}

static void under_shared_an_agents_own_settings_do_not_apply(void **state)
{
    NACRE_AUTO(nacre_config_guard) struct nacre_config *config =
        config_of_two(NACRE_SCOPE_SHARED);
    NACRE_AUTO(nacre_session_guard) struct nacre_session *session =
        settle(config, "work", "x");
    const struct nacre_container_rules *made = &session->shell->container;

    (void)state;
    assert_string_equal(made->image.text, "all:1");
    assert_int_equal(made->environment.count, 2);
    assert_true(has_text(&made->environment, "B=1"));
    assert_true(has_text(&made->ulimits, "core=0:0"));
    assert_string_equal(made->tmpfs.items[0].text, "/scratch");
    assert_int_equal(session->mount_count, 1);
    assert_int_equal(session->shell->limits.max_processes.value, 10);
    assert_int_equal(session->shell->network.mode, NACRE_NETWORK_ALLOW_ALL);
    assert_int_equal(session->prune_idle_ms, 3600 * 1000);
    assert_string_equal(session->box_name, "openclaw-sbx-shared-d18aac96");
    assert_int_equal(session->note_count, 1);
    assert_int_equal(session->notes[0].place.line, 30);
}

static void an_agent_without_a_directory_has_one_apart_from_mains(void **state)
{
    static const struct {
        const char *all, *own, *agent, *workspace;
    } rows[] = {
        { NULL, NULL, "main", HOME "/.openclaw/workspace" },
        { NULL, NULL, "other", HOME "/.openclaw/workspace-other" },
        { "/srv/w", NULL, "main", "/srv/w" },
        { "/srv/w", NULL, "other", "/srv/w/other" },
        { "/srv/w", "~/mine", "other", HOME "/mine" },
        { "/srv/w/../x/", NULL, "main", "/srv/x" },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        NACRE_AUTO(nacre_config_guard) struct nacre_config *config =
            config_of(NACRE_DIALECT_OPENCLAW);
        NACRE_AUTO(nacre_session_guard) struct nacre_session *session = NULL;

        if (rows[i].all)
            set_text(&config->all.workspace, rows[i].all, 3);
        if (rows[i].own)
            set_text(&agent_of(config, "other")->workspace, rows[i].own, 4);
        session = settle(config, rows[i].agent, NULL);
        assert_string_equal(session->workspace, rows[i].workspace);
    }
}

/* ---- what people write ---- */

static void settle_file(const char *path)
{
    static const char *const keys[] = { NULL, "x", "agent:work:main" };
    NACRE_AUTO(nacre_config_guard) struct nacre_config *config = NULL;
    struct nacre_error err;

    if (nacre_config_load(path, &config, &err) != NACRE_OK)
        fail_msg("%s: %s", path, err.text);
    for (size_t i = 0; i < NACRE_COUNT(keys); i++) {
        struct nacre_session_ask ask = { .session = keys[i], .home = HOME };
        NACRE_AUTO(nacre_session_guard) struct nacre_session *session = NULL;
        NACRE_AUTO(json_guard) json_t *told = NULL;

        if (nacre_session_settle(config, &ask, &session, &err) != NACRE_OK)
            fail_msg("%s: %s", path, err.text);
        told = nacre_session_json(session, "exec");
        if (!told)
            fail_msg("%s can't be told", path);
    }
}

static void every_configuration_that_is_read_can_be_settled(void **state)
{
    static const char *const dialects[] = { "openclaw", "clawdis", "config-yml",
                                            "clawpy" };
    int files = 0;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(dialects); i++) {
        char folder[512], path[1024];
        struct dirent *entry;
        DIR *dir;

        (void)snprintf(folder, sizeof(folder), "%s/%s/valid", NACRE_SUITES_DIR,
                       dialects[i]);
        dir = opendir(folder);
        assert_non_null(dir);
        while ((entry = readdir(dir))) {
            if (entry->d_name[0] == '.' || strstr(entry->d_name, ".expect"))
                continue;
            (void)snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
            settle_file(path);
            files++;
        }
        (void)closedir(dir);
    }
    assert_true(files >= 20);
}

/* ---- memory ---- */

static void a_session_is_settled_whole_or_not_at_all_when_memory_is_short(void **state)
{
    NACRE_AUTO(nacre_config_guard) struct nacre_config *config =
        config_of_two(NACRE_SCOPE_AGENT);
    struct nacre_session_ask ask = { .agent = "work", .session = "x", .home = HOME };
    int after = 0;

    (void)state;
    set_access(&config->all.box, NACRE_ACCESS_RO, 50);
    for (;; after++) {
        struct nacre_session *session = NULL;
        struct nacre_error err;
        enum nacre_status status;

        fail_alloc_after(after);
        status = nacre_session_settle(config, &ask, &session, &err);
        fail_alloc_after(-1);
        if (status == NACRE_OK) {
            nacre_session_free(session);
            break;
        }
        assert_int_equal(status, NACRE_ERR_MEMORY);
        assert_null(session);
    }
    assert_true(after > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cell_of_the_matrix_holds),
        cmocka_unit_test(a_session_and_an_agent_that_disagree_are_refused),
        cmocka_unit_test(the_main_session_is_known_by_its_key_alone),
        cmocka_unit_test(two_agents_never_meet_under_a_bare_key),
        cmocka_unit_test(clawpy_has_names_of_its_own),
        cmocka_unit_test(the_agents_line_is_over_that_of_all_over_the_default),
        cmocka_unit_test(env_and_ulimits_merge_and_binds_are_appended),
        cmocka_unit_test(under_shared_an_agents_own_settings_do_not_apply),
        cmocka_unit_test(an_agent_without_a_directory_has_one_apart_from_mains),
        cmocka_unit_test(every_configuration_that_is_read_can_be_settled),
        cmocka_unit_test(a_session_is_settled_whole_or_not_at_all_when_memory_is_short),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
