/* What a configuration means for one session, for people: the words of the JSON, in
 * lines. */
#include "explain_session.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "nacre/render.h"
#include "nacre/text.h"
#include "report.h"
#include "term.h"

static const char *text_at(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? text : "";
}

/* "openclaw.json:4:5", "default" where nobody wrote it. */
static const char *place_at(const json_t *object)
{
    const char *place = text_at(object, "place");

    return place[0] ? place : "default";
}

static void print_word(const char *name, const char *word, const json_t *source)
{
    char shown[512];

    (void)printf("%-10s%-30s  %s%s(%s)\n", name,
                 nacre_text_show(shown, sizeof(shown), word, strlen(word)),
                 text_at(source, "key"), text_at(source, "key")[0] ? " " : "",
                 place_at(source));
}

static void print_mounts(const json_t *mounts)
{
    const json_t *mount;
    size_t i;

    json_array_foreach(mounts, i, mount) {
        char guest[NACRE_SHOWN], host[NACRE_SHOWN];

        (void)nacre_text_shown(guest, text_at(mount, "guest"));
        (void)nacre_text_shown(host, text_at(mount, "host"));
        (void)printf("%-10s%s %s from %s  (%s)\n", i == 0 ? "mounts" : "", guest,
                     json_is_true(json_object_get(mount, "writable")) ? "read-write"
                                                                      : "read-only",
                     host[0] ? host : "a directory of its own", place_at(mount));
    }
}

static void print_list(const char *name, const char *verb, const json_t *list,
                       const json_t *source)
{
    const json_t *word;
    char shown[NACRE_SHOWN];
    size_t i;

    (void)printf("%-10s%-6s", name, verb);
    json_array_foreach(list, i, word)
        (void)printf("%s%s", i > 0 ? ", " : "",
                     nacre_text_shown(shown, json_string_value(word)));
    if (json_array_size(list) == 0)
        (void)printf("%s", strcmp(verb, "allow") == 0 ? "all" : "none");
    (void)printf("  %s%s(%s)\n", text_at(source, "key"),
                 text_at(source, "key")[0] ? " " : "", place_at(source));
}

static void print_pair(const char *name, const json_t *pair)
{
    const json_t *sources = json_object_get(pair, "sources");

    print_list(name, "allow", json_object_get(pair, "allow"),
               json_object_get(sources, "allow"));
    print_list("", "deny", json_object_get(pair, "deny"),
               json_object_get(sources, "deny"));
}

/* Only where one is said: it takes tools away from all that follows. */
static void print_profile(const json_t *profile)
{
    const json_t *source = json_object_get(profile, "source");

    if (json_is_string(json_object_get(source, "place")))
        print_list("profile", "allow", json_object_get(profile, "allow"), source);
}

static bool is_said(const json_t *pair)
{
    const json_t *sources = json_object_get(pair, "sources");

    return json_is_string(json_object_get(json_object_get(sources, "allow"), "place")) ||
           json_is_string(json_object_get(json_object_get(sources, "deny"), "place"));
}

static void print_elevated(const json_t *elevated)
{
    const json_t *gates = json_object_get(elevated, "failures"), *gate;
    size_t i;

    if (text_at(json_array_get(gates, 0), "key")[0] == '(') {
        (void)printf("%-10snever: this dialect has none\n", "elevated");
        return;
    }
    (void)printf("%-10s%s\n", "elevated",
                 json_is_true(json_object_get(elevated, "allowedByConfig"))
                     ? "allowed for this sender, once a person approves the command"
                     : "not allowed; shut are");
    json_array_foreach(gates, i, gate) {
        char shown[NACRE_SHOWN];

        (void)printf("%-10s%s: %s (%s)\n", "", text_at(gate, "gate"),
                     nacre_text_shown(shown, text_at(gate, "key")), place_at(gate));
    }
}

static void print_tool(const json_t *tool)
{
    char shown[NACRE_SHOWN], text[1024];
    const char *fix = text_at(tool, "fix"), *why = text_at(tool, "text");

    if (!tool)
        return;
    (void)printf("\n%s  tool %s\n  why   %s\n",
                 json_is_true(json_object_get(tool, "allowed")) ? "allowed" : "denied",
                 nacre_text_shown(shown, text_at(tool, "name")),
                 nacre_text_show(text, sizeof(text), why, strlen(why)));
    if (json_is_null(json_object_get(tool, "level")) &&
        json_is_true(json_object_get(tool, "allowed")))
        (void)printf("  but   %s\n", text_at(tool, "why"));
    if (fix[0])
        (void)printf("  rule  %s (%s)\n  flip  %s\n",
                     nacre_text_shown(shown, text_at(tool, "rule")), place_at(tool),
                     nacre_text_show(text, sizeof(text), fix, strlen(fix)));
}

/* Which browsers the tool may drive. */
static void print_targets(const json_t *browser)
{
    const char *name;
    json_t *target;

    json_object_foreach(json_object_get(browser, "targets"), name, target) {
        const char *why = text_at(target, "text"), *fix = text_at(target, "fix");
        char text[1024], rule[NACRE_SHOWN];

        (void)printf("\n%s  target %s\n  why   %s\n",
                     json_is_true(json_object_get(target, "allowed")) ? "allowed"
                                                                      : "denied",
                     name, nacre_text_show(text, sizeof(text), why, strlen(why)));
        (void)printf("  rule  %s (%s)\n  flip  %s\n",
                     nacre_text_shown(rule, text_at(target, "rule")), place_at(target),
                     nacre_text_show(text, sizeof(text), fix, strlen(fix)));
    }
}

static void print_browser(const json_t *browser)
{
    const json_t *sources = json_object_get(browser, "sources");
    char image[NACRE_SHOWN];

    if (!json_is_true(json_object_get(browser, "enabled")))
        return;
    (void)printf("%-10s%s, of %s; %s, network %s  (%s)\n", "browser",
                 text_at(browser, "containerName"),
                 nacre_text_shown(image, text_at(browser, "image")),
                 json_is_true(json_object_get(browser, "headless")) ? "headless"
                 : json_is_true(json_object_get(browser, "noVnc")) ? "with noVNC"
                                                                   : "with a screen",
                 text_at(browser, "network"),
                 place_at(json_object_get(sources, "enabled")));
}

static void print_notes(const json_t *notes)
{
    const json_t *note;
    char text[1024];
    size_t i;

    json_array_foreach(notes, i, note) {
        const char *words = text_at(note, "text");

        (void)printf("%-10s%s: %s%s\n", i == 0 ? "notes" : "", place_at(note),
                     json_is_true(json_object_get(note, "unwise")) ? "warning: " : "",
                     nacre_text_show(text, sizeof(text), words, strlen(words)));
    }
}

static void print_session(const json_t *told)
{
    const json_t *box = json_object_get(told, "sandbox");
    const json_t *sources = json_object_get(box, "sources");
    const json_t *exec = json_object_get(told, "exec");
    const json_t *tools = json_object_get(told, "tools");
    bool sandboxed = json_is_true(json_object_get(box, "sessionIsSandboxed"));
    char shown[NACRE_SHOWN];

    (void)printf("%-10s%s\n", "agent",
                 nacre_text_shown(shown, text_at(told, "agentId")));
    (void)printf("%-10s%s\n", "session",
                 nacre_text_shown(shown, text_at(told, "sessionKey")));
    (void)printf("%-10s%s: %s (%s)\n", "runs",
                 sandboxed ? "in a sandbox" : "on the host, without a sandbox",
                 text_at(exec, "why"), place_at(exec));
    (void)printf("%-10s%s\n", "flip", text_at(exec, "fix"));
    (void)printf("%-10slevel %s; file tools at level wasm\n", "exec",
                 text_at(exec, "level"));
    if (json_is_string(json_object_get(exec, "approval")))
        (void)printf("%-10sa person is asked each time: no line says that there is no "
                     "sandbox; add %s: off to say it\n",
                     "", text_at(json_object_get(sources, "mode"), "key"));
    print_word("mode", text_at(box, "mode"), json_object_get(sources, "mode"));
    print_word("scope", text_at(box, "scope"), json_object_get(sources, "scope"));
    print_word("access", text_at(box, "workspaceAccess"),
               json_object_get(sources, "workspaceAccess"));
    print_word("root", text_at(box, "workspaceRoot"),
               json_object_get(sources, "workspaceRoot"));
    if (sandboxed)
        (void)printf("%-10s%s, of %s\n", "container", text_at(box, "containerName"),
                     nacre_text_shown(shown, text_at(box, "scopeKey")));
    if (sandboxed)
        print_browser(json_object_get(box, "browser"));
    print_mounts(json_object_get(box, "mounts"));
    print_profile(json_object_get(tools, "profile"));
    print_pair("tools", json_object_get(tools, "global"));
    if (is_said(json_object_get(tools, "agent")))
        print_pair("of agent", json_object_get(tools, "agent"));
    if (sandboxed)
        print_pair("sandbox", json_object_get(box, "tools"));
    if (json_is_true(json_object_get(tools, "writesOff")))
        (void)printf("%-10swrite, edit and apply_patch are off: the access is ro\n", "");
    print_elevated(json_object_get(told, "elevated"));
    print_notes(json_object_get(told, "notes"));
    print_tool(json_object_get(told, "tool"));
    if (strcmp(text_at(json_object_get(told, "tool"), "name"), "browser") == 0)
        print_targets(json_object_get(box, "browser"));
}

static enum nacre_status print_plan(const struct nacre_session *session,
                                    const struct nacre_plan *plan,
                                    const struct nacre_executor *executor,
                                    struct nacre_error *err)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf out = NACRE_BUF(NACRE_RENDER_BYTES_MAX);
    enum nacre_status status =
        nacre_render_plan(session->shell, plan, executor,
                          cli_term_colours(STDOUT_FILENO), &out, err);

    if (status != NACRE_OK)
        return status;
    (void)printf("\nexec runs by\n");
    if (out.size > 0)
        (void)fwrite(out.bytes, 1, out.size, stdout);
    return NACRE_OK;
}

/* The lists say whether it may be called; where it would run, and whether there is such a
 * tool at all, is the catalogue's to say. */
static bool add_call(json_t *told, const json_t *call)
{
    json_t *tool = json_object_get(told, "tool");
    json_t *level = json_object_get(call, "level"), *why = json_object_get(call, "why");
    int bad = 0;

    if (!tool)
        return true;
    bad |= json_object_set_new(tool, "runs",
                               json_boolean(json_is_true(json_object_get(call, "runs"))));
    bad |= json_object_set_new(tool, "level", level ? json_incref(level) : json_null());
    bad |= json_object_set_new(tool, "why",
                               why ? json_incref(why)
                               : strcmp(text_at(tool, "name"), "browser") == 0
                                   ? json_string("it is driven by CDP: see nacre browser "
                                                 "url")
                                   : json_string("nacre has no tool of that name: see "
                                                 "nacre tool list"));
    return bad == 0;
}

enum nacre_status cli_explain_session(const struct nacre_session *session,
                                      const struct nacre_plan *plan,
                                      const struct nacre_executor *executor,
                                      const char *tool, const json_t *call, bool json,
                                      struct nacre_error *err)
{
    json_t *told = nacre_session_json(session, tool);
    enum nacre_status status = NACRE_OK;

    /* The plan as this machine can keep it, in place of the one on paper. */
    if (!told || !add_call(told, call) ||
        json_object_set_new(told, "plan",
                            nacre_plan_json(session->shell, plan, executor))) {
        json_decref(told);
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the answer");
    }
    if (json) {
        (void)cli_json_print(told);
        return NACRE_OK;
    }
    print_session(told);
    if (!tool)
        status = print_plan(session, plan, executor, err);
    json_decref(told);
    return status;
}
