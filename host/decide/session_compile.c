/*
 * From what a configuration says to the policies that a session's tools run by.  Their
 * source and places are the configuration's, so that a denial names its line.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "defaults.h"
#include "model.h"
#include "nacre/path.h"
#include "nacre/text.h"
#include "schema.h"
#include "settle.h"

#define BOX(member) offsetof(struct nacre_box_rules, member)
#define MIB ((uint64_t)1 << 20)

#define WORKSPACE "/workspace"
#define AGENT_WORKSPACE "/agent"

static const struct nacre_box_rules nothing;

struct making {
    struct nacre_session *session;
    struct nacre_box_view view;
    struct nacre_error *err;
};

static enum nacre_status no_memory(struct nacre_error *err)
{
    return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a session's policy");
}

/* ---- what every one of them has ---- */

static enum nacre_status start(const struct making *making, enum nacre_level level,
                               struct nacre_place place, struct nacre_policy **ret_policy)
{
    const struct nacre_config *config = making->session->config;
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL;
    enum nacre_status status = nacre_policy_new(config->source, &policy, making->err);

    if (status == NACRE_OK)
        status = nacre_schema_copy(making->session->slug, &policy->name, making->err);
    if (status == NACRE_OK && config->file)
        status = nacre_schema_copy(config->file, &policy->file, making->err);
    if (status != NACRE_OK)
        return status;
    policy->digest = config->digest;
    policy->level = level;
    policy->level_place = place;
    policy->runtime = level == NACRE_LEVEL_CONTAINER ? NACRE_RUNTIME_DOCKER
                      : level == NACRE_LEVEL_WASM    ? NACRE_RUNTIME_WASMTIME
                                                     : NACRE_RUNTIME_NATIVE;
    if (!nacre_box_alias(&making->view,
                         making->session->mode_source.from == NACRE_FROM_AGENT,
                         NACRE_KEY_MODE, "level", 0, policy) ||
        !nacre_box_limit(&making->view, BOX(timeout_ms), NACRE_KEY_TIMEOUT,
                         "resource_limits.timeout_ms", &policy->limits.timeout_ms,
                         policy) ||
        !nacre_box_limit(&making->view, BOX(output_bytes), NACRE_KEY_OUTPUT,
                         "resource_limits.max_output_bytes",
                         &policy->limits.max_output_bytes, policy))
        return no_memory(making->err);
    if (policy->limits.timeout_ms.place.line == 0 &&
        nacre_config_defaults(config)->timeout_ms > 0)
        policy->limits.timeout_ms.value = nacre_config_defaults(config)->timeout_ms;
    *ret_policy = nacre_policy_take(&policy);
    return NACRE_OK;
}

/* Elsewhere 0 means "unlimited"; nothing here does. */
static enum nacre_status check_limits(const struct making *making,
                                      const struct nacre_policy *policy)
{
    const struct nacre_limit *limits[] = {
        &policy->limits.cpu_shares,     &policy->limits.max_processes,
        &policy->limits.max_open_files, &policy->limits.timeout_ms,
        &policy->limits.max_output_bytes,
    };

    for (size_t i = 0; i < NACRE_COUNT(limits); i++)
        if (limits[i]->value == 0)
            return nacre_fail_at(making->err, NACRE_ERR_PARSE, policy->source,
                                 limits[i]->place.line, limits[i]->place.column,
                                 "0 would be no limit at all: give a number above 0, or "
                                 "leave it out");
    return NACRE_OK;
}

/* A profile's own default is a promise, not a fallback: it is enforced as if it had been
 * written where the settings begin. */
static struct nacre_place promised(const struct making *making)
{
    return making->view.all->place.line > 0 ? making->view.all->place
                                            : (struct nacre_place){ 1, 1 };
}

static enum nacre_status set_memory(const struct making *making,
                                    struct nacre_policy *policy)
{
    uint64_t by_default = nacre_config_defaults(making->session->config)->memory_bytes;
    struct nacre_limit bytes = { by_default, { 0 } };

    if (!nacre_box_limit(&making->view, BOX(memory_bytes), NACRE_KEY_MEMORY,
                         "resource_limits.memory_mb", &bytes, policy))
        return no_memory(making->err);
    if (bytes.place.line == 0 && by_default == 0)
        return NACRE_OK;
    if (bytes.place.line == 0)
        bytes.place = promised(making);
    policy->limits.memory_mb.value = bytes.value < MIB ? 1 : bytes.value / MIB;
    policy->limits.memory_mb.place = bytes.place;
    if (bytes.value % MIB != 0 && policy->level == NACRE_LEVEL_CONTAINER)
        nacre_session_note(making->session, bytes.place,
                           "%" PRIu64 " bytes of memory are no whole MiB: %" PRIu64
                           " MiB hold", bytes.value, policy->limits.memory_mb.value);
    return NACRE_OK;
}

/* ---- network ---- */

static enum nacre_status set_network(const struct making *making,
                                     struct nacre_policy *policy)
{
    const struct nacre_box_view *view = &making->view;
    bool of_agent = view->own->network_place.line > 0;
    const struct nacre_box_rules *said = of_agent ? view->own : view->all;
    char hosts[NACRE_CONFIG_KEY];
    enum nacre_status status;

    policy->network.mode = said->network_place.line > 0
                               ? said->network
                               : nacre_config_defaults(view->config)->network;
    policy->network.mode_place = said->network_place;
    if (!nacre_box_alias(view, of_agent, NACRE_KEY_NETWORK, "capabilities.network.mode",
                         0, policy))
        return no_memory(making->err);
    if (!nacre_config_key(view->config, NULL, NACRE_KEY_ALLOWED_HOSTS, hosts))
        nacre_alias_fix(policy,
                        policy->network.mode == NACRE_NETWORK_DENY
                            ? "set it to bridge: every public host, by nacre's door"
                            : "set it to none: then nothing is reachable");
    status = nacre_box_list(view, BOX(allowed_hosts), NACRE_KEY_ALLOWED_HOSTS,
                            "capabilities.network.allowed_hosts",
                            &policy->network.allowed_hosts, policy, making->err);
    if (status == NACRE_OK)
        status = nacre_box_list(view, BOX(denied_hosts), NACRE_KEY_DENIED_HOSTS,
                                "capabilities.network.denied_hosts",
                                &policy->network.denied_hosts, policy, making->err);
    if (status == NACRE_OK)
        status = nacre_box_list(view, BOX(resolvers), NACRE_KEY_RESOLVERS,
                                "capabilities.network.resolvers",
                                &policy->network.resolvers, policy, making->err);
    if (status == NACRE_OK)
        status = nacre_box_list(view, BOX(fixed_hosts), NACRE_KEY_FIXED_HOSTS,
                                "capabilities.network.fixed_hosts",
                                &policy->network.fixed_hosts, policy, making->err);
    return status;
}

/* ---- secrets ---- */

/* Where its dialect has them, a guest holds a stand-in, and the door knows the value:
 * that needs a level with a door. */
static void set_secrets(const struct making *making, struct nacre_policy *policy)
{
    if (!nacre_config_defaults(making->session->config)->tokens)
        return;
    policy->secrets.place = promised(making);
    policy->secrets.injection = NACRE_INJECTION_HOST_BOUNDARY;
}

/* ---- files ---- */

/* The policy's rule, and where it is on the host; both have room. */
static enum nacre_status add_mount(const struct making *making, const char *guest,
                                   bool writable, struct nacre_place place,
                                   struct nacre_policy *policy)
{
    struct nacre_mount_rules *mounts = &policy->filesystem.mounts;
    struct nacre_mount_rule *added = &mounts->items[mounts->count];

    *added = (struct nacre_mount_rule){ .writable = writable, .place = place,
                                        .permissions_place = place };
    if (nacre_schema_copy(guest, &added->path, making->err) != NACRE_OK)
        return NACRE_ERR_MEMORY;
    mounts->count++;
    return NACRE_OK;
}

/* `host` is taken over. */
static enum nacre_status map_mount(const struct making *making, const char *guest,
                                   char *host, bool writable)
{
    struct nacre_session *session = making->session;
    struct nacre_mount_request *added = &session->mounts[session->mount_count];
    char *copy = NULL;

    if (nacre_schema_copy(guest, &copy, making->err) != NACRE_OK) {
        free(host);
        return NACRE_ERR_MEMORY;
    }
    *added = (struct nacre_mount_request){ .guest = copy, .host = host,
                                           .mode = writable ? 'w' : 'r' };
    session->mount_count++;
    return NACRE_OK;
}

static const char *workspace_of(const struct nacre_session *session)
{
    bool agents = !session->sandboxed || session->access == NACRE_ACCESS_RW;

    return agents ? session->workspace : session->box_workspace;
}

/* Two mounts of one name: the engine would refuse them, and of ours one would win. */
static enum nacre_status check_target(const struct making *making,
                                      const struct nacre_bind_rule *bind)
{
    const struct nacre_session *session = making->session;
    char shown[NACRE_SHOWN];
    bool taken = strcmp(bind->guest, WORKSPACE) == 0 ||
                 strcmp(bind->guest, AGENT_WORKSPACE) == 0;

    for (uint32_t i = 0; i < session->mount_count; i++)
        taken |= strcmp(session->mounts[i].guest, bind->guest) == 0;
    if (!taken)
        return NACRE_OK;
    return nacre_fail_at(making->err, NACRE_ERR_PARSE, session->config->source,
                         bind->place.line, bind->place.column,
                         "'%s' in the sandbox is taken: %s; mount it elsewhere",
                         nacre_text_shown(shown, bind->guest),
                         strcmp(bind->guest, WORKSPACE) == 0
                             ? "the workspace is there"
                             : "another mount is there");
}

static enum nacre_status add_binds(struct making *making,
                                   const struct nacre_bind_rules *binds)
{
    struct nacre_session *session = making->session;
    enum nacre_status status = NACRE_OK;

    for (size_t i = 0; i < binds->count && status == NACRE_OK; i++) {
        const struct nacre_bind_rule *bind = &binds->items[i];
        char *host = NULL;

        status = check_target(making, bind);
        if (status == NACRE_OK)
            status = nacre_session_path(session->config, session->home, bind->host,
                                        bind->place, &host, making->err);
        if (status == NACRE_OK)
            status = map_mount(making, bind->guest, host, bind->writable);
    }
    return status;
}

/* Is the directory to start in somewhere else?  There OpenClaw mounts the workspace. */
static const struct nacre_rule *other_workdir(const struct nacre_box_view *view)
{
    const struct nacre_rule *said = view->own->container.workdir.text
                                        ? &view->own->container.workdir
                                        : &view->all->container.workdir;
    const struct nacre_bind_rules *binds[] = { &view->own->binds, &view->all->binds };

    if (!said->text || said->text[0] != '/' || strcmp(said->text, "/") == 0 ||
        nacre_path_is_below(said->text, WORKSPACE, NULL) ||
        nacre_path_is_below(said->text, AGENT_WORKSPACE, NULL))
        return NULL;
    for (size_t i = 0; i < NACRE_COUNT(binds); i++)
        for (size_t k = 0; k < binds[i]->count; k++)
            if (nacre_path_is_below(said->text, binds[i]->items[k].guest, NULL))
                return NULL;
    return said;
}

/* session->mounts: what lies elsewhere on the host; the workspace is in the request. */
static enum nacre_status map_mounts(struct making *making)
{
    struct nacre_session *session = making->session;
    const struct nacre_box_view *view = &making->view;
    const struct nacre_rule *workdir = other_workdir(view);
    char *host = NULL;
    enum nacre_status status = NACRE_OK;

    session->mounts = calloc(view->all->binds.count + view->own->binds.count + 2,
                             sizeof(*session->mounts));
    if (!session->mounts)
        return no_memory(making->err);
    if (session->access == NACRE_ACCESS_RO && session->workspace) {
        status = nacre_schema_copy(session->workspace, &host, making->err);
        if (status == NACRE_OK)
            status = map_mount(making, AGENT_WORKSPACE, host, false);
    }
    if (status == NACRE_OK && workdir) {
        status = nacre_schema_copy(workspace_of(session), &host, making->err);
        if (status == NACRE_OK)
            status = map_mount(making, workdir->text, host, true);
    }
    if (status == NACRE_OK)
        status = add_binds(making, &view->all->binds);
    if (status == NACRE_OK)
        status = add_binds(making, &view->own->binds);
    return status;
}

static struct nacre_place mount_place(const struct making *making, const char *guest,
                                      bool *ret_of_agent)
{
    const struct nacre_box_view *view = &making->view;
    const struct nacre_rule *workdir = other_workdir(view);
    const struct nacre_bind_rules *binds[] = { &view->all->binds, &view->own->binds };

    for (size_t i = 0; i < NACRE_COUNT(binds); i++)
        for (size_t k = 0; k < binds[i]->count; k++)
            if (strcmp(binds[i]->items[k].guest, guest) == 0) {
                *ret_of_agent = i == 1;
                return binds[i]->items[k].place;
            }
    *ret_of_agent = making->session->access_source.from == NACRE_FROM_AGENT;
    if (workdir && strcmp(workdir->text, guest) == 0)
        return workdir->place;
    return making->session->access_source.place;
}

/* `read_only`: file tools under access ro change nothing, not even the sandbox's own. */
static enum nacre_status set_files(const struct making *making, bool read_only,
                                   struct nacre_policy *policy)
{
    const struct nacre_session *session = making->session;
    const struct nacre_box_view *view = &making->view;
    struct nacre_mount_rules *mounts = &policy->filesystem.mounts;
    enum nacre_status status;
    bool of_agent = session->access_source.from == NACRE_FROM_AGENT;

    policy->filesystem.mode = NACRE_FILESYSTEM_SCOPED;
    policy->filesystem.mode_place = session->access_source.place;
    policy->filesystem.denied_inside = true;
    /* The file tools see what the shell sees, and not what it is refused. */
    policy->filesystem.strict_binds = session->sandboxed;
    mounts->place = session->access_source.place;
    mounts->items = calloc(session->mount_count + 1u, sizeof(*mounts->items));
    if (!mounts->items ||
        !nacre_box_alias(view, of_agent, NACRE_KEY_ACCESS, "capabilities.filesystem.mode",
                         0, policy) ||
        !nacre_box_alias(view, of_agent, NACRE_KEY_ACCESS,
                         "capabilities.filesystem.mount_paths", 1, policy) ||
        !nacre_box_alias(view, false, NACRE_KEY_BINDS,
                         "capabilities.filesystem.mount_paths", 0, policy))
        return no_memory(making->err);
    status = add_mount(making, WORKSPACE, !read_only, mounts->place, policy);
    for (uint32_t i = 0; i < session->mount_count && status == NACRE_OK; i++) {
        const struct nacre_mount_request *mount = &session->mounts[i];
        struct nacre_place place = mount_place(making, mount->guest, &of_agent);
        enum nacre_key key = strcmp(mount->guest, AGENT_WORKSPACE) == 0
                                 ? NACRE_KEY_ACCESS
                                 : NACRE_KEY_BINDS;

        status = add_mount(making, mount->guest, mount->mode == 'w', place, policy);
        if (status == NACRE_OK &&
            !nacre_box_alias(view, of_agent, key, "capabilities.filesystem.mount_paths",
                             i + 2u, policy))
            status = no_memory(making->err);
    }
    if (status == NACRE_OK)
        status = nacre_box_list(view, BOX(denied_paths), NACRE_KEY_DENIED_PATHS,
                                "capabilities.filesystem.denied_paths",
                                &policy->filesystem.denied_paths, policy, making->err);
    return status;
}

/* A mount and a tmpfs of one name: the mount wins. */
static void yield_tmpfs(const struct making *making, struct nacre_rules *tmpfs)
{
    const struct nacre_session *session = making->session;
    size_t kept = 0;

    for (size_t i = 0; i < tmpfs->count; i++) {
        const char *text = tmpfs->items[i].text;
        size_t length = strcspn(text, ":");
        bool taken = false;
        char shown[NACRE_SHOWN];

        for (uint32_t k = 0; k < session->mount_count; k++)
            taken |= strncmp(session->mounts[k].guest, text, length) == 0 &&
                     session->mounts[k].guest[length] == '\0';
        if (!taken) {
            tmpfs->items[kept++] = tmpfs->items[i];
            continue;
        }
        nacre_session_note(making->session, tmpfs->items[i].place,
                           "no tmpfs at '%s': a mount is there",
                           nacre_text_shown(shown, tmpfs->items[i].text));
        free(tmpfs->items[i].text);
    }
    tmpfs->count = kept;
}

/* ---- the three ---- */

/* At level container the sandbox is the wall, as its users know it: any command runs. */
static enum nacre_status make_shell(const struct making *making,
                                    struct nacre_policy *policy)
{
    const struct nacre_box_view *view = &making->view;
    const struct nacre_dialect_defaults *defaults = nacre_config_defaults(view->config);
    enum nacre_status status = set_memory(making, policy);

    policy->shell.mode = NACRE_SHELL_FULL;
    if (status == NACRE_OK &&
        (!nacre_box_limit(view, BOX(pids), NACRE_KEY_PIDS,
                          "resource_limits.max_processes", &policy->limits.max_processes,
                          policy) ||
         !nacre_box_limit(view, BOX(cpu_shares), NACRE_KEY_CPU_SHARES,
                          "resource_limits.cpu_shares", &policy->limits.cpu_shares,
                          policy)))
        status = no_memory(making->err);
    if (status == NACRE_OK)
        status = set_network(making, policy);
    set_secrets(making, policy);
    if (status == NACRE_OK)
        status = set_files(making, false, policy);
    if (status == NACRE_OK)
        status = nacre_box_container(view, policy, making->err);
    if (status != NACRE_OK)
        return status;
    yield_tmpfs(making, &policy->container.tmpfs);
    if (policy->container.cpus_nano.place.line == 0 && defaults->cpus_nano > 0)
        policy->container.cpus_nano =
            (struct nacre_limit){ defaults->cpus_nano, promised(making) };
    if (policy->container.read_only_root.place.line == 0 && !defaults->read_only_root)
        policy->container.read_only_root =
            (struct nacre_flag){ false, promised(making) };
    return NACRE_OK;
}

static enum nacre_status make_files(const struct making *making,
                                    struct nacre_policy *policy)
{
    enum nacre_status status = set_memory(making, policy);

    if (status == NACRE_OK)
        status = set_network(making, policy);
    set_secrets(making, policy);
    if (status == NACRE_OK)
        status = set_files(making, making->session->writes_off, policy);
    return status;
}

/* Without a sandbox the rules for commands are all that is left: what can't be judged is
 * not run. */
static enum nacre_status make_host(const struct making *making, struct nacre_place place,
                                   struct nacre_policy **ret_policy)
{
    enum nacre_status status = start(making, NACRE_LEVEL_NONE, place, ret_policy);
    const struct nacre_source *mode = &making->session->mode_source;
    size_t count;

    if (status != NACRE_OK)
        return status;
    (*ret_policy)->shell.mode = NACRE_SHELL_RESTRICTED;
    (*ret_policy)->shell.mode_place = mode->place;
    count = (*ret_policy)->alias_count;
    if (!nacre_box_alias(&making->view, mode->from == NACRE_FROM_AGENT, NACRE_KEY_MODE,
                         "capabilities.shell.mode", 0, *ret_policy))
        return no_memory(making->err);
    if ((*ret_policy)->alias_count > count)
        nacre_alias_fix(*ret_policy, "write what can be judged, or run it in a sandbox: "
                                     "there any command runs");
    return nacre_host_block(*ret_policy, making->err);
}

static enum nacre_status make_sandboxed(const struct making *making)
{
    struct nacre_session *session = making->session;
    enum nacre_status status = start(making, NACRE_LEVEL_CONTAINER,
                                     session->mode_source.place, &session->shell);

    return status == NACRE_OK ? make_shell(making, session->shell) : status;
}

/* The reader may have told it already. */
static bool is_told(const struct nacre_config *config, struct nacre_place place)
{
    for (size_t i = 0; i < config->note_count; i++)
        if (config->notes[i].place.line == place.line &&
            config->notes[i].place.column == place.column)
            return true;
    return place.line == 0;
}

/* What is read and moves no wall of ours. */
static void tell(const struct making *making, const struct nacre_agent_rules *agent)
{
    struct nacre_session *session = making->session;
    const struct nacre_box_rules *boxes[] = { making->view.all, making->view.own };

    if (agent && session->scope == NACRE_SCOPE_SHARED && agent->box.place.line > 0)
        nacre_session_note(session, agent->box.place,
                           "under scope shared the docker, browser and prune settings of "
                           "a single agent do not apply");
    for (size_t i = 0; i < NACRE_COUNT(boxes); i++) {
        if (!is_told(session->config, boxes[i]->session_tools_visibility.place))
            nacre_session_note(session, boxes[i]->session_tools_visibility.place,
                               "sessionToolsVisibility: no effect, nacre serves no "
                               "session tools");
        nacre_browser_tell(session, &boxes[i]->browser);
    }
}

static enum nacre_status compile_box(struct making *making)
{
    enum nacre_status status = map_mounts(making);

    return status == NACRE_OK ? make_sandboxed(making) : status;
}

struct nacre_box_view nacre_session_view(const struct nacre_session *session,
                                         const struct nacre_agent_rules *agent)
{
    bool has_own = agent && session->scope != NACRE_SCOPE_SHARED;

    return (struct nacre_box_view){ .config = session->config, .agent = agent,
                                    .own = has_own ? &agent->box : &nothing,
                                    .all = &session->config->all.box };
}

enum nacre_status nacre_box_compile(const struct nacre_box_view *view,
                                    struct nacre_session *session,
                                    struct nacre_error *err)
{
    struct making making = { .session = session, .view = *view, .err = err };
    enum nacre_status status = compile_box(&making);

    return status == NACRE_OK ? check_limits(&making, session->shell) : status;
}

enum nacre_status nacre_session_compile(const struct nacre_agent_rules *agent,
                                        struct nacre_session *session,
                                        struct nacre_error *err)
{
    struct making making = { .session = session, .err = err,
                             .view = nacre_session_view(session, agent) };
    struct nacre_place elevated = session->config->all.elevated.place;
    enum nacre_status status =
        session->sandboxed
            ? compile_box(&making)
            : make_host(&making, session->mode_source.place, &session->shell);

    if (status == NACRE_OK)
        status = start(&making, NACRE_LEVEL_WASM, session->mode_source.place,
                       &session->files);
    if (status == NACRE_OK)
        status = make_files(&making, session->files);
    if (status == NACRE_OK)
        status = make_host(&making,
                           elevated.line > 0 ? elevated : session->mode_source.place,
                           &session->host);
    if (status == NACRE_OK)
        status = check_limits(&making, session->shell);
    if (status == NACRE_OK)
        status = check_limits(&making, session->files);
    if (status == NACRE_OK)
        tell(&making, agent);
    return status;
}

/* ---- requests ---- */

void nacre_session_request(const struct nacre_session *session,
                           struct nacre_request *request)
{
    const char *workspace = workspace_of(session);

    if (workspace)
        request->workspace = workspace;
    /* Scope shared: some dialects put it right into the root, with others' beside it. */
    request->workspace_is_own =
        workspace && workspace == session->box_workspace &&
        strcmp(workspace, session->workspace_root) != 0;
    request->mounts = session->mounts;
    request->mount_count = session->mount_count;
    request->session = session->key;
    request->agent = session->agent;
    request->scope = session->sandboxed ? session->scope : NACRE_SCOPE_RUN;
    request->box_name = session->sandboxed ? session->box_name : NULL;
    request->unsandboxed = !session->sandboxed;
}

void nacre_session_request_host(const struct nacre_session *session,
                                struct nacre_request *request)
{
    nacre_session_request(session, request);
    request->workspace_is_own = false;
    request->mounts = NULL;
    request->mount_count = 0;
    request->scope = NACRE_SCOPE_RUN;
    request->box_name = NULL;
    request->unsandboxed = true;
}
