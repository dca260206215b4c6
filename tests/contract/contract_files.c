/* Files: what is private, what is granted, what is denied. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "cases.h"
#include "stage.h"

/* Of what is kept for a session the next is to see something. */
void nothing_of_a_run_is_seen_by_the_next(void **state)
{
    struct nacre_request request = request_of(*state);
    char text[POLICY];

    request.session = NULL;
    for (int i = 0; i < 2; i++) {
        NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
            scene_run(*state, policy_text(*state, PATIENT, text),
                      tool_of(*state, LEAVE_TRACE), &request);

        assert_int_equal(result->outcome, NACRE_OUTCOME_EXITED);
        assert_int_equal(result->exit_status, 0);
    }
}

/* The names need not be there; what leads to them is the guest's. */
void the_way_to_a_denied_name_of_a_private_directory_can_be_written(void **state)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = run_in(
        *state, NULL, "/workspace/.git/hooks, /workspace/.env, /workspace/.git/a/b",
        "cd /workspace; echo ours >.git/config && cat .git/config\n"
        "mkdir .git/objects && echo made; echo also >.git/a/c && cat .git/a/c\n"
        "for name in .git/hooks .env .git/a/b; do\n"
        "  test -d $name && echo held\n"
        "  { ls $name || cat $name || echo x >$name || echo x >$name/x || rmdir $name ||\n"
        "    mv $name other || mkdir $name/y; } 2>/dev/null && echo \"opened $name\"\n"
        "done\n"
        "{ mv .git other || mv .git/a other; } 2>/dev/null && echo moved\n"
        "exit 0");

    assert_int_equal(result->outcome, NACRE_OUTCOME_EXITED);
    assert_string_equal(result->output.bytes, "ours\nmade\nalso\nheld\nheld\nheld\n");
}

static bool landlock_judges_sockets(void)
{
    return syscall(444 /* landlock_create_ruleset */, NULL, 0, 1U) >= 9;
}

/* Listens at `path` for whoever may come. */
static int listen_at(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    assert_true(strlen(path) < sizeof(address.sun_path));
    memcpy(address.sun_path, path, strlen(path) + 1);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(chmod(path, 0666), 0);
    assert_int_equal(listen(fd, 5), 0);
    return fd;
}

/* What the observers of the host see, not what the guest says. */
void who_listens_in_a_granted_directory_is_reached_unless_denied(void **state)
{
    const struct scene *scene = *state;
    bool sockets = strcmp(stage_of(scene)->level, "process") != 0 ||
                   !landlock_judges_sockets();
    char dir[128], path[192], command[512], byte;

    (void)snprintf(dir, sizeof(dir), "%s/listened", scene->dir);
    assert_int_equal(mkdir(dir, 0777), 0);
    assert_int_equal(chmod(dir, 0777), 0);
    (void)snprintf(command, sizeof(command), "cp '%s' '%s/reach'", getenv("NACRE_REACH"),
                   dir);
    assert_int_equal(system(command), 0);
    for (int denied = 0; denied < 2; denied++) {
        NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;
        NACRE_AUTO(nacre_fd_guard) int listener = -1, fifo = -1, caller = -1;

        (void)snprintf(path, sizeof(path), "%s/sock", dir);
        (void)unlink(path);
        listener = listen_at(path);
        (void)snprintf(path, sizeof(path), "%s/fifo", dir);
        (void)unlink(path);
        assert_int_equal(mkfifo(path, 0666), 0);
        assert_int_equal(chmod(path, 0666), 0);
        fifo = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        result = run_in(scene, dir, denied ? "/workspace/sock, /workspace/fifo" : "",
                        "/workspace/reach path /workspace/sock; echo x >/workspace/fifo");
        assert_int_equal(result->outcome, NACRE_OUTCOME_EXITED);
        caller = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        assert_int_equal(caller >= 0, sockets && !denied);
        assert_int_equal(read(fifo, &byte, 1) == 1, !denied);
    }
}

/* Whom a guest may signal is none of nacre's, where it has a sandbox of its own. */
void a_command_that_signals_all_it_can_goes_on(void **state)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = run_in(
        *state, NULL, "", "kill -9 -1 2>/dev/null; kill -STOP -1 2>/dev/null; exit 3");

    assert_int_equal(result->outcome, NACRE_OUTCOME_EXITED);
    assert_int_equal(result->exit_status, 3);
}

/* `explain` has these numbers: unit.plan_container. */
void private_directories_are_as_large_as_told(void **state)
{
    bool parts = strcmp(stage_of(*state)->level, "process") != 0;
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = run_in(
        *state, NULL, "", "for d in /tmp /workspace; do stat -f -c '%b %S' $d; "
                          "stat -f -c '%c' $d; done");
    unsigned long blocks, size, files;
    const char *at = result->output.bytes;

    assert_int_equal(result->outcome, NACRE_OUTCOME_EXITED);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sscanf(at, "%lu %lu\n%lu", &blocks, &size, &files), 3);
        assert_int_equal(blocks * size, (parts ? 128ul : 256ul) << 20);
        assert_int_equal(files, parts ? 8192 : 16384);
        at = strchr(strchr(at, '\n') + 1, '\n') + 1;
    }
}

/* Tries to make a file wherever something is mounted or programs write by habit. */
#define TRY_ALL                                                                       \
    "try() { test -d \"$1\" || return 0\n"                                             \
    "  if touch \"$1/.tried\" 2>/dev/null; then echo \"w $1\"; else echo \"- $1\"; fi; }\n" \
    "while read -r id parent device root place rest; do try \"$place\"; done "         \
    "</proc/self/mountinfo\n"                                                         \
    "for place in / /dev /dev/mqueue /dev/shm /etc /home /opt /root /run /srv /tmp /usr " \
    "/var /var/tmp /workspace; do try $place; done"

/* What the guest could write is what `explain` says, place by place. */
void in_deny_and_read_only_only_what_explain_says_can_be_written(void **state)
{
    static const struct {
        const char *mode;
        bool tmp, rest;
    } rows[] = {
        { "mode: deny", true, false },
        { "mode: read-only", false, false },
        { "mode: read-only, mount_paths: [{path: /tmp, permissions: rw}]", false, false },
        /* Where these can be written. */
        { "mode: scoped, mount_paths: [{path: /workspace, permissions: rw}]", true, true },
    };

    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct nacre_request request = request_of(*state);
        NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL;
        NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;
        struct nacre_tool *tool = NULL;
        struct nacre_error err;
        char text[POLICY], *rest, *line;

        request.session = NULL;
        (void)snprintf(text, sizeof(text),
                       "claw: \"0.3.0\"\nkind: Sandbox\nmetadata: {name: t}\nspec:\n"
                       "  level: %s\n  capabilities:\n    shell: {mode: full}\n"
                       "    filesystem: {%s}\n",
                       level_of(*state), rows[i].mode);
        policy = scene_policy(text);
        assert_int_equal(nacre_tool_shell(TRY_ALL, &tool, &err), NACRE_OK);
        result = scene_run(*state, text, tool, &request);
        assert_int_equal(result->outcome, NACRE_OUTCOME_EXITED);
        assert_int_equal(strstr(result->output.bytes, "w /tmp\n") != NULL, rows[i].tmp);
        assert_int_equal(strstr(result->output.bytes, "w /dev/shm\n") != NULL,
                         rows[i].rest);
        assert_int_equal(strstr(result->output.bytes, "w /workspace\n") != NULL,
                         rows[i].rest);
        for (rest = result->output.bytes; (line = strsep(&rest, "\n")) && line[0];) {
            struct nacre_answer answer = { 0 };

            assert_int_equal(nacre_explain_path(policy, &request, line + 2, false,
                                                &answer, &err), NACRE_OK);
            if (answer.write != (line[0] == 'w'))
                fail_msg("%s: '%s', but explain: %s", rows[i].mode, line, answer.text);
        }
    }
}
