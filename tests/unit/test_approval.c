/* A person's word: asked for, bound, used once; and every way to come by it wrongly. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "nacre/approval.h"
#include "nacre/clock.h"
#include "soul.h"
#include "store.h"

static char dir[64], keys[96], states[96], soul[96];

static int setup(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof(dir), "/tmp/nacre-approval-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    (void)snprintf(keys, sizeof(keys), "%s/keys", dir);
    (void)snprintf(states, sizeof(states), "%s/state", dir);
    (void)snprintf(soul, sizeof(soul), "%s/SOUL.md", dir);
    return 0;
}

static int teardown(void **state)
{
    char command[96];

    (void)state;
    (void)snprintf(command, sizeof(command), "rm -rf %s", dir);
    return system(command);
}

static struct nacre_approval_ask an_ask(void)
{
    return (struct nacre_approval_ask){
        .tool = "exec", .arguments = "{\"command\":\"make\"}", .directory = "/srv/work",
        .digest = nacre_hash("x", 1), .reason = "unsandboxed", .session = "s1",
        .agent = "main",
    };
}

static struct nacre_approval_options an_option(uint64_t wait_ms)
{
    return (struct nacre_approval_options){ .state_dir = states, .key_dir = keys,
                                            .wait_ms = wait_ms };
}

static struct nacre_approval get(const struct nacre_approval_options *options,
                                 const struct nacre_approval_ask *ask)
{
    struct nacre_approval approval = { 0 };
    struct nacre_error err;

    assert_int_equal(nacre_approval_get(options, ask, UINT64_MAX, &approval, &err),
                     NACRE_OK);
    return approval;
}

/* ---- by a person ---- */

struct answering {
    bool approve;
    char answered[NACRE_APPROVAL_ID];
};

static void answer_at_once(void *data, const char *id, const char *tool)
{
    struct answering *answering = data;
    struct nacre_error err;

    assert_string_equal(tool, "exec");
    memcpy(answering->answered, id, NACRE_APPROVAL_ID);
    assert_int_equal(nacre_approval_answer(states, keys, id, answering->approve, &err),
                     NACRE_OK);
}

static bool count_one(void *data, const struct nacre_approval_info *info)
{
    (void)info;
    ++*(int *)data;
    return true;
}

static int waiting(void)
{
    struct nacre_error err;
    int count = 0;

    assert_int_equal(nacre_approvals_each(states, count_one, &count, &err), NACRE_OK);
    return count;
}

static void a_person_says_yes_and_the_call_goes_on(void **state)
{
    struct answering answering = { .approve = true };
    struct nacre_approval_options options = an_option(5000);
    struct nacre_approval_ask ask = an_ask();
    struct nacre_approval approval;

    (void)state;
    options.on_wait = answer_at_once;
    options.on_wait_data = &answering;
    approval = get(&options, &ask);
    assert_int_equal(approval.verdict, NACRE_APPROVAL_APPROVED);
    assert_string_equal(approval.id, answering.answered);
    assert_int_equal(strncmp(approval.approver, "person:", 7), 0);
    assert_int_equal(waiting(), 0);
}

static void a_person_says_no_and_it_is_denied(void **state)
{
    struct answering answering = { .approve = false };
    struct nacre_approval_options options = an_option(5000);
    struct nacre_approval_ask ask = an_ask();

    (void)state;
    options.on_wait = answer_at_once;
    options.on_wait_data = &answering;
    assert_int_equal(get(&options, &ask).verdict, NACRE_APPROVAL_DENIED);
    assert_int_equal(waiting(), 0);
}

static void no_answer_in_time_is_a_denial_and_a_later_yes_serves_the_next_try(void **state)
{
    struct nacre_approval_options options = an_option(1);
    struct nacre_approval_ask ask = an_ask(), other = an_ask();
    struct nacre_approval approval = get(&options, &ask);
    struct nacre_error err;

    (void)state;
    assert_int_equal(approval.verdict, NACRE_APPROVAL_TIMED_OUT);
    assert_non_null(strstr(approval.text, approval.id));
    assert_int_equal(waiting(), 1);
    /* Another try of the same call is the same request. */
    assert_string_equal(get(&options, &ask).id, approval.id);
    assert_int_equal(waiting(), 1);
    assert_int_equal(nacre_approval_answer(states, keys, approval.id, true, &err),
                     NACRE_OK);
    assert_int_equal(nacre_approval_answer(states, keys, approval.id, false, &err),
                     NACRE_ERR_USAGE);
    /* It is nobody else's. */
    other.directory = "/srv/other";
    assert_int_equal(get(&options, &other).verdict, NACRE_APPROVAL_TIMED_OUT);
    assert_int_equal(get(&options, &ask).verdict, NACRE_APPROVAL_APPROVED);
    assert_int_equal(get(&options, &ask).verdict, NACRE_APPROVAL_TIMED_OUT);
}

static void what_is_written_into_the_state_directory_approves_nothing(void **state)
{
    static const char *const forged[] = { "yes", "", "true",
                                          "AQEAAAAAAAAAAAAAAAAAAAAA.AAAA" };
    struct nacre_approval_options options = an_option(1);
    struct nacre_approval_ask ask = an_ask();
    char path[200];

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(forged); i++) {
        struct nacre_approval approval = get(&options, &ask);
        FILE *file;

        assert_int_equal(approval.verdict, NACRE_APPROVAL_TIMED_OUT);
        (void)snprintf(path, sizeof(path), "%s/approvals/%s.answer", states, approval.id);
        file = fopen(path, "w");
        assert_non_null(file);
        (void)fputs(forged[i], file);
        (void)fclose(file);
        assert_int_equal(get(&options, &ask).verdict, NACRE_APPROVAL_DENIED);
    }
}

/* The person reads the changed text, so that their yes is for that; it does not fit. */
static void a_request_that_is_changed_on_disk_does_not_let_the_call_through(void **state)
{
    struct nacre_approval_options options = an_option(1);
    struct nacre_approval_ask ask = an_ask();
    struct nacre_approval approval;
    char command[300];
    struct nacre_error err;

    (void)state;
    ask.arguments = "{\"command\":\"rm -rf x\"}";
    approval = get(&options, &ask);
    (void)snprintf(command, sizeof(command),
                   "sed -i 's/rm -rf x/ls/' %s/approvals/%s.request", states,
                   approval.id);
    assert_int_equal(system(command), 0);
    assert_int_equal(nacre_approval_answer(states, keys, approval.id, true, &err),
                     NACRE_OK);
    assert_int_equal(get(&options, &ask).verdict, NACRE_APPROVAL_TIMED_OUT);
}

static void an_id_that_is_none_is_refused(void **state)
{
    static const char *const ids[] = { "", "..", "../../x", "0123456789ABCDEF",
                                       "0123456789abcde", "0123456789abcdef0" };
    struct nacre_error err;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(ids); i++)
        assert_int_equal(nacre_approval_answer(states, keys, ids[i], true, &err),
                         NACRE_ERR_USAGE);
    assert_int_equal(nacre_approval_answer(states, keys, "0123456789abcdef", true, &err),
                     NACRE_ERR_NOT_FOUND);
}

static void too_many_requests_are_a_failure_and_no_yes(void **state)
{
    struct nacre_approval_options options = an_option(1);
    struct nacre_approval_ask ask = an_ask();
    struct nacre_approval approval = { .verdict = NACRE_APPROVAL_NONE };
    struct nacre_error err;
    char arguments[32];
    enum nacre_status status = NACRE_OK;
    int count = 0;

    (void)state;
    ask.arguments = arguments;
    for (; count <= APPROVALS_MAX && status == NACRE_OK; count++) {
        (void)snprintf(arguments, sizeof(arguments), "{\"n\":%d}", count);
        status = nacre_approval_get(&options, &ask, UINT64_MAX, &approval, &err);
    }
    assert_int_equal(status, NACRE_ERR_TOO_BIG);
    assert_int_equal(count, APPROVALS_MAX + 1);
}

/* ---- by a token ---- */

static void a_token_is_good_once_and_for_its_call_alone(void **state)
{
    struct nacre_approval_options options = an_option(1);
    struct nacre_approval_ask ask = an_ask(), other;
    char token[NACRE_APPROVAL_TOKEN];
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_approval_issue(keys, &ask, 0, token, &err), NACRE_OK);
    ask.token = token;
    other = ask;
    other.tool = "write";
    assert_int_equal(get(&options, &other).verdict, NACRE_APPROVAL_CHANGED);
    other = ask;
    other.arguments = "{\"command\":\"make \"}";
    assert_int_equal(get(&options, &other).verdict, NACRE_APPROVAL_CHANGED);
    other = ask;
    other.directory = "/";
    assert_int_equal(get(&options, &other).verdict, NACRE_APPROVAL_CHANGED);
    other = ask;
    other.digest.bytes[0] ^= 1;
    assert_int_equal(get(&options, &other).verdict, NACRE_APPROVAL_CHANGED);
    other = ask;
    other.unsandboxed = true;
    assert_int_equal(get(&options, &other).verdict, NACRE_APPROVAL_CHANGED);
    other = ask;
    other.session = NULL;
    assert_int_equal(get(&options, &other).verdict, NACRE_APPROVAL_CHANGED);
    other = ask;
    other.agent = "other";
    assert_int_equal(get(&options, &other).verdict, NACRE_APPROVAL_CHANGED);
    /* None of these used it up; who asks does not matter. */
    ask.caller = "somebody";
    ask.reason = "manifest";
    assert_int_equal(get(&options, &ask).verdict, NACRE_APPROVAL_APPROVED);
    assert_int_equal(get(&options, &ask).verdict, NACRE_APPROVAL_REPLAYED);
}

static void an_altered_token_is_none(void **state)
{
    struct nacre_approval_options options = an_option(1);
    struct nacre_approval_ask ask = an_ask();
    char token[NACRE_APPROVAL_TOKEN], bad[NACRE_APPROVAL_TOKEN];
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_approval_issue(keys, &ask, 0, token, &err), NACRE_OK);
    ask.token = bad;
    for (size_t i = 0; token[i]; i++) {
        memcpy(bad, token, sizeof(bad));
        bad[i] = bad[i] == 'A' ? 'B' : 'A';
        assert_int_not_equal(get(&options, &ask).verdict, NACRE_APPROVAL_APPROVED);
    }
    /* An answer to a request is no token. */
    ask.token = "";
    assert_int_equal(get(&options, &ask).verdict, NACRE_APPROVAL_DENIED);
}

static void a_token_expires(void **state)
{
    struct nacre_approval_options options = an_option(1);
    struct nacre_approval_ask ask = an_ask();
    char token[NACRE_APPROVAL_TOKEN];
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_approval_issue(keys, &ask, 1, token, &err), NACRE_OK);
    (void)usleep(3000);
    ask.token = token;
    assert_int_equal(get(&options, &ask).verdict, NACRE_APPROVAL_EXPIRED);
    assert_int_equal(nacre_approval_issue(keys, &ask, NACRE_APPROVAL_TTL_MS_MAX + 1,
                                          token, &err), NACRE_ERR_USAGE);
}

/* ---- by a command ---- */

static enum nacre_approval_verdict by_command(const char *text, uint64_t wait_ms)
{
    char *command[] = { (char *)"/bin/sh", (char *)"-c", (char *)text, NULL };
    struct nacre_approval_options options = an_option(wait_ms);
    struct nacre_approval_ask ask = an_ask();

    options.command = command;
    return get(&options, &ask).verdict;
}

static void the_approver_command_reads_the_request_and_answers_by_its_status(void **state)
{
    (void)state;
    assert_int_equal(by_command("grep -q '\"tool\":\"exec\"'", 5000),
                     NACRE_APPROVAL_APPROVED);
    assert_int_equal(by_command("grep -q '\"tool\":\"write\"'", 5000),
                     NACRE_APPROVAL_DENIED);
    assert_int_equal(by_command("kill -9 $$", 5000), NACRE_APPROVAL_DENIED);
    assert_int_equal(by_command("sleep 60 & sleep 60", 50), NACRE_APPROVAL_TIMED_OUT);
    assert_int_equal(by_command("exit 1", 5000), NACRE_APPROVAL_DENIED);
}

static void an_approver_that_is_not_there_is_a_failure_and_no_yes(void **state)
{
    char *command[] = { (char *)"/no/such/approver", NULL };
    struct nacre_approval_options options = an_option(100);
    struct nacre_approval_ask ask = an_ask();
    struct nacre_approval approval;
    struct nacre_error err;

    (void)state;
    options.command = command;
    assert_int_equal(nacre_approval_get(&options, &ask, UINT64_MAX, &approval, &err),
                     NACRE_ERR_IO);
}

/* ---- SOUL.md ---- */

#define BLOCK(tool, arguments, expires)                        \
    "```nacre-approve\ntool: " tool "\narguments: " arguments  \
    "\nexpires: " expires "\n```\n"
#define LATE "2099-01-01T00:00:00Z"

static const struct {
    const char *text;
    bool approves;
    int bad_line; /* 0: readable */
} souls[] = {
    { "", false, 0 },
    { "# Me\n\n" BLOCK("exec", "*", LATE) "after\n", true, 0 },
    { BLOCK("exec", "*", LATE) BLOCK("write", "*", LATE), true, 0 },
    { BLOCK("write", "*", LATE), false, 0 },
    { BLOCK("exec", "*", "2020-01-01T00:00:00Z"), false, 0 },
    { BLOCK("exec", "sha256:"
            "0000000000000000000000000000000000000000000000000000000000000000", LATE),
      false, 0 },
    { "````md\n" BLOCK("exec", "*", LATE) "````\n", false, 0 },
    { "````md\n```\n" BLOCK("exec", "*", LATE) "````\n", false, 0 },
    { "~~~md\n" BLOCK("exec", "*", LATE) "~~~\n", false, 0 },
    { "~~~\n~~~\n" BLOCK("exec", "*", LATE), true, 0 },
    { "As in\n\n    " BLOCK("exec", "*", LATE), false, 0 },
    { "As in\n\n\t" BLOCK("exec", "*", LATE), false, 0 },
    { "1. so:\n   " BLOCK("exec", "*", LATE), true, 0 },
    { "```nacre-approve-not\ntool: exec\n```\n", false, 0 },
    { "```nacre-approve\ntool: exec\narguments: *\n```\n", false, 4 },
    { "```nacre-approve\ntool: exec\narguments: *\nexpires: " LATE "\n", false, 4 },
    { "x\n```nacre-approve\ntool: exec\ntool: exec\n", false, 4 },
    { "```nacre-approve\nTool: exec\n", false, 2 },
    { "```nacre-approve\nexec\n```\n", false, 2 },
    { BLOCK("exec", "any", LATE), false, 5 },
    { BLOCK("exec", "sha256:00", LATE), false, 5 },
    { BLOCK("exec", "*", "2099-01-01"), false, 5 },
    { BLOCK("exec", "*", "never"), false, 5 },
    { BLOCK("exec", "*", "2099-02-31T00:00:00Z"), false, 5 },
    { BLOCK("exec", "*", LATE) BLOCK("exec", "", LATE), false, 8 },
};

static void blocks_of_a_soul_are_read_exactly(void **state)
{
    struct nacre_digest none = nacre_hash("{}", 2);

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(souls); i++) {
        struct nacre_error err = { .line = 0 };
        bool approved = false;
        enum nacre_status status =
            soul_judge("SOUL.md", souls[i].text, strlen(souls[i].text), "exec", &none,
                       nacre_clock_wall_ms(), &approved, &err);

        if ((status == NACRE_OK) != (souls[i].bad_line == 0) ||
            (souls[i].bad_line && err.line != souls[i].bad_line) ||
            (status == NACRE_OK && approved != souls[i].approves))
            fail_msg("soul %zu: status %d, line %d, approved %d", i, (int)status,
                     status ? err.line : 0, approved);
    }
}

static void write_soul(const char *text)
{
    FILE *file = fopen(soul, "w");

    assert_non_null(file);
    (void)fputs(text, file);
    (void)fclose(file);
    assert_int_equal(chmod(soul, 0600), 0);
}

static enum nacre_approval_verdict by_soul(const char *path, const char *mount)
{
    const char *mounts[] = { mount, NULL };
    struct nacre_approval_options options = an_option(1);
    struct nacre_approval_ask ask = an_ask();

    options.soul = path;
    options.mounts = mount ? mounts : NULL;
    return get(&options, &ask).verdict;
}

static void a_soul_approves_only_when_it_is_trusted_and_unchanged(void **state)
{
    struct nacre_error err;

    (void)state;
    assert_int_equal(by_soul(soul, NULL), NACRE_APPROVAL_NOT_IN_SOUL); /* not there */
    write_soul(BLOCK("exec", "*", LATE));
    assert_int_equal(by_soul(soul, NULL), NACRE_APPROVAL_NOT_IN_SOUL);
    assert_int_equal(nacre_soul_trust(soul, keys, &err), NACRE_OK);
    assert_int_equal(by_soul(soul, NULL), NACRE_APPROVAL_APPROVED);
    write_soul("changed\n" BLOCK("exec", "*", LATE));
    assert_int_equal(by_soul(soul, NULL), NACRE_APPROVAL_NOT_IN_SOUL);
    assert_int_equal(nacre_soul_trust(soul, keys, &err), NACRE_OK);
    assert_int_equal(by_soul(soul, NULL), NACRE_APPROVAL_APPROVED);
    assert_int_equal(unlink(soul), 0);
    assert_int_equal(by_soul(soul, NULL), NACRE_APPROVAL_NOT_IN_SOUL);
}

static void a_soul_that_others_can_reach_approves_nothing(void **state)
{
    char linked[160], parent[128];
    struct nacre_error err;

    (void)state;
    write_soul(BLOCK("exec", "*", LATE));
    assert_int_equal(nacre_soul_trust(soul, keys, &err), NACRE_OK);
    assert_int_equal(by_soul(soul, NULL), NACRE_APPROVAL_APPROVED);
    assert_int_equal(by_soul(soul, dir), NACRE_APPROVAL_NOT_IN_SOUL); /* in a mount */
    assert_int_equal(by_soul(soul, "/"), NACRE_APPROVAL_NOT_IN_SOUL);
    assert_int_equal(by_soul(soul, soul), NACRE_APPROVAL_NOT_IN_SOUL); /* one itself */
    assert_int_equal(by_soul(soul, "/usr"), NACRE_APPROVAL_APPROVED);
    assert_int_equal(chmod(soul, 0620), 0);
    assert_int_equal(by_soul(soul, NULL), NACRE_APPROVAL_NOT_IN_SOUL);
    assert_int_equal(chmod(soul, 0600), 0);
    assert_int_equal(chmod(dir, 0777), 0);
    assert_int_equal(by_soul(soul, NULL), NACRE_APPROVAL_NOT_IN_SOUL);
    assert_int_equal(chmod(dir, 0700), 0);
    (void)snprintf(linked, sizeof(linked), "%s/link", dir);
    assert_int_equal(link(soul, linked), 0);
    assert_int_equal(by_soul(soul, NULL), NACRE_APPROVAL_NOT_IN_SOUL);
    assert_int_equal(unlink(linked), 0);
    (void)snprintf(parent, sizeof(parent), "%s/up", dir);
    assert_int_equal(symlink(dir, parent), 0);
    (void)snprintf(linked, sizeof(linked), "%s/SOUL.md", parent);
    assert_int_equal(by_soul(linked, NULL), NACRE_APPROVAL_NOT_IN_SOUL);
    assert_int_equal(by_soul("SOUL.md", NULL), NACRE_APPROVAL_NOT_IN_SOUL);
    assert_int_equal(by_soul(soul, NULL), NACRE_APPROVAL_APPROVED);
}

/* With a soul, nothing else approves: a token or a command would be a way around it. */
static void a_soul_is_not_gone_around_by_a_token(void **state)
{
    struct nacre_approval_options options = an_option(1);
    struct nacre_approval_ask ask = an_ask();
    char token[NACRE_APPROVAL_TOKEN];
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_approval_issue(keys, &ask, 0, token, &err), NACRE_OK);
    ask.token = token;
    options.soul = soul;
    assert_int_equal(get(&options, &ask).verdict, NACRE_APPROVAL_NOT_IN_SOUL);
}

/* ---- host.yaml ---- */

static const struct {
    const char *text;
    const char *fault; /* NULL: it loads */
    int line, column;
} hosts[] = {
    { "approvals: {soul: /home/me/SOUL.md, wait_ms: 5}\n", NULL, 0, 0 },
    { "approvals: {command: [/bin/true, x], require: [write]}\n", NULL, 0, 0 },
    { "engine: {host: unix:///run/docker.sock}\n", NULL, 0, 0 },
    { "engine: {host: tcp://build:2376, certificates: /etc/tls}\n", NULL, 0, 0 },
    { "engine: {host: ssh://build}\n", "expected unix:///path or tcp://", 1, 16 },
    { "engine: {host: unix://run/sock}\n", "expected unix:///path or tcp://", 1, 16 },
    { "engine: {host: unix:///}\n", "expected unix:///path or tcp://", 1, 16 },
    { "engine: {host: [tcp://a]}\n", "expected", 1, 16 },
    { "engine: {certificates: /etc/tls}\n", "there is none", 1, 24 },
    { "engine: {host: tcp://b, certificates: tls}\n", "absolute", 1, 39 },
    { "engine:\n  host: unix:///s\n  certificates: /t\n", "a socket", 3, 17 },
    { "engine: {hosts: tcp://a}\n", "did you mean 'host'", 1, 10 },
    { "engine: unix:///run/docker.sock\n", "expected", 1, 9 },
    { "approvals: {soul: SOUL.md}\n", "absolute", 1, 19 },
    { "approvals: {command: [ask]}\n", "absolute", 1, 23 },
    { "approvals: {command: []}\n", "empty", 1, 22 },
    { "approvals: {command: /bin/true}\n", "list", 1, 22 },
    { "approvals: {wait_ms: 0}\n", "between", 1, 22 },
    { "approvals: {souls: /x}\n", "did you mean 'soul'", 1, 13 },
    { "approval: {}\n", "did you mean 'approvals'", 1, 1 },
    { "[]\n", "expected", 1, 1 },
};

static void host_yaml_is_strict(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(hosts); i++) {
        struct nacre_host_rules *rules = NULL;
        struct nacre_error err;
        enum nacre_status status;

        write_soul(hosts[i].text);
        status = nacre_host_rules_load(soul, &rules, &err);
        if (!hosts[i].fault) {
            assert_int_equal(status, NACRE_OK);
            nacre_host_rules_free(rules);
        } else if (status != NACRE_ERR_PARSE || err.line != hosts[i].line ||
                   err.column != hosts[i].column || !strstr(err.text, hosts[i].fault)) {
            fail_msg("host %zu: %d:%d: %s", i, err.line, err.column, err.text);
        }
    }
    assert_int_equal(chmod(soul, 0662), 0);
    {
        struct nacre_host_rules *rules = NULL;
        struct nacre_error err;

        assert_int_equal(nacre_host_rules_load(soul, &rules, &err), NACRE_ERR_USAGE);
        assert_int_equal(nacre_host_rules_load("/no/such/file", &rules, &err), NACRE_OK);
        assert_null(rules->soul);
        nacre_host_rules_free(rules);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_person_says_yes_and_the_call_goes_on),
        TEST(a_person_says_no_and_it_is_denied),
        TEST(no_answer_in_time_is_a_denial_and_a_later_yes_serves_the_next_try),
        TEST(what_is_written_into_the_state_directory_approves_nothing),
        TEST(a_request_that_is_changed_on_disk_does_not_let_the_call_through),
        TEST(an_id_that_is_none_is_refused),
        TEST(too_many_requests_are_a_failure_and_no_yes),
        TEST(a_token_is_good_once_and_for_its_call_alone),
        TEST(an_altered_token_is_none),
        TEST(a_token_expires),
        TEST(the_approver_command_reads_the_request_and_answers_by_its_status),
        TEST(an_approver_that_is_not_there_is_a_failure_and_no_yes),
        TEST(blocks_of_a_soul_are_read_exactly),
        TEST(a_soul_approves_only_when_it_is_trusted_and_unchanged),
        TEST(a_soul_that_others_can_reach_approves_nothing),
        TEST(a_soul_is_not_gone_around_by_a_token),
        TEST(host_yaml_is_strict),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
