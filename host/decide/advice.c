/* Second thoughts about a configuration.  Nothing here decides anything: what a run does
 * is settled by nacre/session.h alone. */
#include "nacre/advice.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "nacre/browser.h"
#include "nacre/path.h"
#include "nacre/session.h"
#include "nacre/text.h"

void nacre_advice_clear(struct nacre_advice *advice)
{
    free(advice->notes);
    *advice = (struct nacre_advice){ .notes = NULL };
}

static enum nacre_status add_note(struct nacre_advice *advice,
                                  const struct nacre_config_note *note,
                                  struct nacre_error *err)
{
    struct nacre_config_note *notes;

    for (size_t i = 0; i < advice->count; i++)
        if (advice->notes[i].place.line == note->place.line &&
            strcmp(advice->notes[i].text, note->text) == 0)
            return NACRE_OK;
    notes = realloc(advice->notes, (advice->count + 1) * sizeof(*notes));
    if (!notes)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for notes");
    notes[advice->count++] = *note;
    advice->notes = notes;
    return NACRE_OK;
}

__attribute__((format(printf, 5, 6))) static enum nacre_status
advise(struct nacre_advice *advice, bool unwise, struct nacre_place place,
       struct nacre_error *err, const char *format, ...)
{
    struct nacre_config_note note = { .unwise = unwise, .place = place };
    va_list args;

    va_start(args, format);
    (void)vsnprintf(note.text, sizeof(note.text), format, args);
    va_end(args);
    return add_note(advice, &note, err);
}

/* ---- one section ---- */

/* A digest says which image it is; a tag other than latest is at least a choice. */
static enum nacre_status advise_image(struct nacre_advice *advice,
                                      const struct nacre_rule *image,
                                      struct nacre_error *err)
{
    const char *name, *tag;
    char shown[NACRE_SHOWN];

    if (!image->text || strchr(image->text, '@'))
        return NACRE_OK;
    name = strrchr(image->text, '/');
    tag = strchr(name ? name : image->text, ':');
    if (tag && strcmp(tag, ":latest") != 0)
        return NACRE_OK;
    return advise(advice, true, image->place, err,
                  "the image '%s' has %s, so what runs changes with every pull; name a "
                  "version or a digest",
                  nacre_text_shown(shown, image->text),
                  tag ? "the tag latest" : "no tag, which means latest");
}

/* Is it a way of saying root? */
static bool is_root(const char *user)
{
    size_t length = strcspn(user, ":");

    return (length == 4 && strncmp(user, "root", 4) == 0) ||
           (length > 0 && strspn(user, "0") == length);
}

static enum nacre_status advise_capabilities(struct nacre_advice *advice,
                                             const struct nacre_rules *kept,
                                             struct nacre_error *err)
{
    static const char *const strong[] = {
        "ALL",        "SYS_ADMIN", "SYS_PTRACE",      "SYS_MODULE", "SYS_RAWIO", "BPF",
        "NET_ADMIN",  "NET_RAW",   "DAC_READ_SEARCH", "MKNOD",      "PERFMON",
        "SYS_CHROOT", "SYS_BOOT",  "SYS_TIME",        "SETFCAP",
    };
    enum nacre_status status = NACRE_OK;

    for (size_t i = 0; i < kept->count && status == NACRE_OK; i++) {
        const char *name = kept->items[i].text;

        name += strncasecmp(name, "CAP_", 4) == 0 ? 4 : 0;
        for (size_t k = 0; k < NACRE_COUNT(strong) && status == NACRE_OK; k++)
            if (strcasecmp(name, strong[k]) == 0)
                status = advise(advice, true, kept->items[i].place, err,
                                "the capability %s is a way out of a container, or to "
                                "its neighbours",
                                strong[k]);
    }
    return status;
}

/* By its name alone: the value is not looked at, and never told. */
static enum nacre_status advise_environment(struct nacre_advice *advice,
                                            const struct nacre_rules *environment,
                                            struct nacre_error *err)
{
    static const char *const words[] = { "TOKEN", "SECRET", "PASSWORD", "PASSWD",
                                         "API_KEY", "APIKEY", "PRIVATE_KEY" };
    enum nacre_status status = NACRE_OK;

    for (size_t i = 0; i < environment->count && status == NACRE_OK; i++) {
        const char *text = environment->items[i].text;
        char name[64] = "";
        bool secret = false;

        (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(text, "="), text);
        for (size_t k = 0; k < NACRE_COUNT(words); k++)
            secret |= strcasestr(name, words[k]) != NULL;
        if (secret)
            status = advise(advice, true, environment->items[i].place, err,
                            "%s looks like a secret that stands in the file, and every "
                            "command in the sandbox can read it; see nacre secret",
                            name);
    }
    return status;
}

static enum nacre_status advise_container(struct nacre_advice *advice,
                                          const struct nacre_box_rules *box,
                                          struct nacre_error *err)
{
    const struct nacre_container_rules *container = &box->container;
    const struct nacre_rule *const profiles[] = { &container->seccomp_profile,
                                                  &container->apparmor_profile };
    enum nacre_status status = advise_image(advice, &container->image, err);

    if (status == NACRE_OK)
        status = advise_image(advice, &box->browser.image, err);
    if (status == NACRE_OK && container->user.text && is_root(container->user.text))
        status = advise(advice, true, container->user.place, err,
                        "commands run as root of the sandbox; an ordinary user is safer");
    if (status == NACRE_OK && container->read_only_root.place.line > 0 &&
        !container->read_only_root.on)
        status = advise(advice, true, container->read_only_root.place, err,
                        "the root can be written: a command can change the programs that "
                        "later ones run");
    for (size_t i = 0; i < NACRE_COUNT(profiles) && status == NACRE_OK; i++)
        if (profiles[i]->text && strcmp(profiles[i]->text, "unconfined") == 0)
            status = advise(advice, true, profiles[i]->place, err,
                            "unconfined takes a wall away");
    if (status == NACRE_OK)
        status = advise_capabilities(advice, &container->keep_capabilities, err);
    return status == NACRE_OK ? advise_environment(advice, &container->environment, err)
                              : status;
}

/* ---- what settling shows, for one agent ---- */

static bool is_within(const struct nacre_session *session, const char *home,
                      const char *host)
{
    bool of_home = host[0] == '~' && (host[1] == '/' || host[1] == '\0');
    char joined[NACRE_PATH_MAX], path[NACRE_PATH_MAX];
    int length = snprintf(joined, sizeof(joined), "%s%s", of_home && home ? home : "",
                          of_home ? host + 1 : host);

    return session->workspace && length > 0 && (size_t)length < sizeof(joined) &&
           nacre_path_normalise(joined, path, sizeof(path)) &&
           nacre_path_is_below(path, session->workspace, NULL);
}

static enum nacre_status advise_binds(struct nacre_advice *advice,
                                      const struct nacre_session *session,
                                      const char *home,
                                      const struct nacre_bind_rules *binds,
                                      struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;
    char shown[NACRE_SHOWN];

    for (size_t i = 0; i < binds->count && status == NACRE_OK; i++)
        if (binds->items[i].writable && !is_within(session, home, binds->items[i].host))
            status = advise(advice, true, binds->items[i].place, err,
                            "'%s' is outside the workspace and can be written; add :ro "
                            "where reading is enough",
                            nacre_text_shown(shown, binds->items[i].host));
    return status;
}

/* `browser` drives whatever browser there is: without a sandbox for it, the host's.  And
 * one that is enabled and may not be driven is for nobody. */
static enum nacre_status advise_browser(struct nacre_advice *advice,
                                        const struct nacre_session *session,
                                        struct nacre_error *err)
{
    NACRE_AUTO(nacre_browser_clear) struct nacre_browser browser = { 0 };
    struct nacre_answer answer;
    enum nacre_status status;

    if (!session->sandboxed)
        return NACRE_OK;
    status = nacre_browser_settle(session, &browser, err);
    if (status == NACRE_OK)
        status = nacre_session_tool(session, "browser", &answer, err);
    if (status == NACRE_OK && browser.enabled && answer.allowed &&
        browser.policy->network.mode == NACRE_NETWORK_DENY)
        return advise(advice, false, browser.enabled_source.place, err,
                      "the browser is enabled and reaches no page: write network: "
                      "\"bridge\" in `browser` for every public host, by nacre's door");
    if (status != NACRE_OK || browser.enabled == answer.allowed)
        return status;
    if (browser.enabled)
        return advise(advice, false, browser.enabled_source.place, err,
                      "the browser is enabled, and the tool browser is denied by %s: "
                      "nobody may start it; %.120s", answer.rule, answer.fix);
    /* Where no line says which tools there are, whoever calls nacre has another say. */
    if (answer.place.line == 0)
        return NACRE_OK;
    return advise(advice, true, answer.place, err,
                  "browser is allowed and no browser has a sandbox (browser.enabled): it "
                  "would drive one of the host; deny it, or enable that sandbox");
}

/* Deny wins, and so does the one that nobody wrote: who lists such a tool expects it. */
static enum nacre_status advise_denied(struct nacre_advice *advice,
                                       const struct nacre_session *session,
                                       struct nacre_error *err)
{
    const struct nacre_tool_list *allow = &session->tools_box.allow;
    const struct nacre_tool_list *deny = &session->tools_box.deny;
    enum nacre_status status = NACRE_OK;
    char shown[NACRE_SHOWN];

    if (!session->sandboxed || deny->source.from != NACRE_FROM_DEFAULT)
        return NACRE_OK;
    for (uint32_t i = 0; i < allow->count && status == NACRE_OK; i++)
        for (uint32_t k = 0; k < deny->count && status == NACRE_OK; k++)
            if (allow->places[i].line > 0 &&
                strcmp(allow->names[i], deny->names[k]) == 0)
                status = advise(advice, true, allow->places[i], err,
                                "'%s' is allowed here and stays denied by default: deny "
                                "wins; write %s without it",
                                nacre_text_shown(shown, allow->names[i]),
                                deny->source.key);
    return status;
}

/* Whoever can write to the agent could then ask for commands on the host. */
static enum nacre_status advise_elevated(struct nacre_advice *advice,
                                         const struct nacre_elevated_rules *elevated,
                                         struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;
    char shown[NACRE_SHOWN];

    if (elevated->enabled.place.line > 0 && !elevated->enabled.on)
        return NACRE_OK;
    for (size_t i = 0; i < elevated->allow_from.count && status == NACRE_OK; i++) {
        const struct nacre_rule *from = &elevated->allow_from.items[i];
        const char *colon = strrchr(from->text, ':');

        if (colon && strcmp(colon, ":*") == 0)
            status = advise(advice, true, from->place, err,
                            "everybody on %s may ask for commands outside the sandbox; "
                            "name the senders",
                            nacre_text_show(shown, sizeof(shown), from->text,
                                            strcspn(from->text, ":")));
    }
    return status;
}

/* A session like any other: what holds for the main one only may be off. */
static enum nacre_status advise_agent(struct nacre_advice *advice,
                                      const struct nacre_config *config,
                                      const struct nacre_agent_rules *agent,
                                      const char *home, struct nacre_error *err)
{
    NACRE_AUTO(nacre_session_guard) struct nacre_session *session = NULL;
    struct nacre_session_ask ask = { .agent = agent ? agent->id : NULL,
                                     .session = "check", .home = home };
    const struct nacre_box_rules *box = agent ? &agent->box : &config->all.box;
    enum nacre_status status = nacre_session_settle(config, &ask, &session, err);

    for (uint32_t i = 0; status == NACRE_OK && i < session->note_count; i++)
        status = add_note(advice, &session->notes[i], err);
    if (status == NACRE_OK && session->mode == NACRE_MODE_OFF && box->place.line > 0)
        status = advise(advice, true,
                        session->mode_source.place.line > 0 ? session->mode_source.place
                                                            : box->place,
                        err, "%s is off: no session of agent %s is sandboxed, whatever "
                        "else is said here",
                        session->mode_source.key, session->agent);
    if (status == NACRE_OK && session->shell->container.setup_command.text &&
        session->shell->network.mode == NACRE_NETWORK_DENY)
        status = advise(advice, false, session->shell->container.setup_command.place, err,
                        "the setup runs without a network: what it wants to fetch has to "
                        "be in the image");
    if (status == NACRE_OK)
        status = advise_binds(advice, session, home, &config->all.box.binds, err);
    if (status == NACRE_OK && agent)
        status = advise_binds(advice, session, home, &agent->box.binds, err);
    if (status == NACRE_OK)
        status = advise_browser(advice, session, err);
    return status == NACRE_OK ? advise_denied(advice, session, err) : status;
}

static int compare_notes(const void *a, const void *b)
{
    const struct nacre_config_note *left = a, *right = b;

    if (left->place.line != right->place.line)
        return left->place.line < right->place.line ? -1 : 1;
    if (left->place.column != right->place.column)
        return left->place.column < right->place.column ? -1 : 1;
    return strcmp(left->text, right->text);
}

enum nacre_status nacre_config_advise(const struct nacre_config *config, const char *home,
                                      struct nacre_advice *advice,
                                      struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;

    for (size_t i = 0; i < config->note_count && status == NACRE_OK; i++)
        status = add_note(advice, &config->notes[i], err);
    for (size_t i = 0; i <= config->agent_count && status == NACRE_OK; i++) {
        const struct nacre_agent_rules *agent = i > 0 ? &config->agents[i - 1] : NULL;
        const struct nacre_box_rules *box = agent ? &agent->box : &config->all.box;

        status = advise_container(advice, box, err);
        if (status == NACRE_OK)
            status = advise_elevated(
                advice, agent ? &agent->elevated : &config->all.elevated, err);
        if (status == NACRE_OK)
            status = advise_agent(advice, config, agent, home, err);
    }
    if (status == NACRE_OK && advice->count > 0)
        qsort(advice->notes, advice->count, sizeof(*advice->notes), compare_notes);
    return status;
}

enum nacre_status nacre_policy_advise(const struct nacre_policy *policy,
                                      struct nacre_advice *advice,
                                      struct nacre_error *err)
{
    const struct nacre_flag *guards[] = { &policy->network.ssrf_enabled,
                                          &policy->network.block_private_ips };
    enum nacre_status status = NACRE_OK;

    for (size_t i = 0; i < NACRE_COUNT(guards) && status == NACRE_OK; i++)
        if (!guards[i]->on && policy->network.mode > NACRE_NETWORK_DENY)
            status = advise(advice, true, guards[i]->place, err,
                            "a name that is allowed may lead to a private address, such as "
                            "a router's or a database's of this network");
    if (status == NACRE_OK && policy->filesystem.mode == NACRE_FILESYSTEM_FULL &&
        (policy->level == NACRE_LEVEL_WASM || policy->level == NACRE_LEVEL_PROCESS))
        status = advise(advice, true, policy->filesystem.mode_place, err,
                        "the host's whole tree can be read and written, but for "
                        "denied_paths; scoped mounts say what is meant");
    return status;
}
