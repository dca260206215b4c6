/* What an executor hands over, and what of it is heard outside. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "fail_alloc.h"
#include "leaks.h"
#include "nacre/secrets.h"
#include "nacre/tree.h"

static struct nacre_secret secret = { .name = "TOKEN",
                                      .value = (const unsigned char *)"hunter22",
                                      .count = 8 };
static const struct nacre_secret_set granted = { .items = &secret, .count = 1 };

struct heard {
    char text[2][256];
};

static void hear(void *data, int stream, const char *bytes, size_t count)
{
    struct heard *heard = data;
    char *text = heard->text[stream - 1];
    size_t used = strlen(text);

    assert_true(used + count < sizeof(heard->text[0]));
    memcpy(text + used, bytes, count);
    text[used + count] = '\0';
}

static const struct nacre_plan *plan(bool scan)
{
    static struct nacre_plan made;

    made = (struct nacre_plan){ .leak_scan = scan,
                                .leak_patterns = NACRE_LEAK_PATTERNS,
                                .limits.output_bytes_max = 100 };
    return &made;
}

/* As an executor would: `pieces`, then an end. */
struct told {
    const char *const *pieces; /* "1text" or "2text" */
    bool is_cut, is_streamed;
    const char *reason;
};

static void execute(const struct nacre_request *request, const struct told *told,
                    struct nacre_result *result)
{
    struct nacre_error err;

    result->output.size_max = result->errors.size_max = 4096;
    for (const char *const *piece = told->pieces; *piece; piece++) {
        int stream = (*piece)[0] - '0';
        size_t count = strlen(*piece + 1);

        if (request->on_output)
            request->on_output(request->on_output_data, stream, *piece + 1, count);
        if (!request->stream_only)
            assert_int_equal(nacre_buf_add(stream == 1 ? &result->output
                                                       : &result->errors,
                                           *piece + 1, count, &err),
                             NACRE_OK);
    }
    result->output_cut = told->is_cut;
    if (told->reason)
        (void)snprintf(result->reason, sizeof(result->reason), "%s", told->reason);
}

static struct nacre_result *ran(const struct nacre_plan *planned,
                                const struct nacre_secret_set *secrets,
                                const struct told *told, struct heard *heard)
{
    struct nacre_request request = { .granted = secrets }, scanned;
    NACRE_AUTO(run_leaks_guard) struct run_leaks *leaks = NULL;
    struct nacre_result *result = NULL;
    struct nacre_error err;

    memset(heard, 0, sizeof(*heard));
    if (told->is_streamed) {
        request.on_output = hear;
        request.on_output_data = heard;
        request.stream_only = true;
    }
    assert_int_equal(nacre_result_new(&result, &err), NACRE_OK);
    assert_int_equal(run_leaks_begin(planned, &request, NULL, &scanned, &leaks, &err),
                     NACRE_OK);
    execute(&scanned, told, result);
    assert_int_equal(run_leaks_end(leaks, NACRE_OK, result, &err), NACRE_OK);
    return result;
}

static const char *const split[] = { "1the token: hun", "2errors: 6875", "1ter22!",
                                     "26e7465723232.", NULL };

static void output_is_clean_as_it_comes(void **state)
{
    struct told told = { .pieces = split, .is_streamed = true };
    struct heard heard;
    struct nacre_result *result = ran(plan(true), &granted, &told, &heard);

    (void)state;
    assert_string_equal(heard.text[0], "the token: [redacted:TOKEN]!");
    assert_string_equal(heard.text[1], "errors: [redacted:TOKEN].");
    assert_int_equal(result->leaks.values, 2);
    assert_true(result->leak);
    nacre_result_free(result);
}

static void output_in_the_result_is_clean(void **state)
{
    struct told told = { .pieces = split };
    struct heard heard;
    struct nacre_result *result = ran(plan(true), &granted, &told, &heard);

    (void)state;
    assert_string_equal(result->output.bytes, "the token: [redacted:TOKEN]!");
    assert_string_equal(result->errors.bytes, "errors: [redacted:TOKEN].");
    assert_int_equal(result->leaks.values, 2);
    assert_true(result->leak);
    nacre_result_free(result);
}

/* Both at once count once. */
static void what_is_seen_twice_is_counted_once(void **state)
{
    struct nacre_request request = { .granted = &granted, .on_output = hear }, scanned;
    struct told told = { .pieces = split, .reason = "trapped at hunter22" };
    struct run_leaks *leaks = NULL;
    struct nacre_result *result = NULL;
    struct heard heard = { { "" } };
    struct nacre_error err;

    (void)state;
    request.on_output_data = &heard;
    assert_int_equal(nacre_result_new(&result, &err), NACRE_OK);
    assert_int_equal(run_leaks_begin(plan(true), &request, NULL, &scanned, &leaks, &err),
                     NACRE_OK);
    execute(&scanned, &told, result);
    assert_int_equal(run_leaks_end(leaks, NACRE_OK, result, &err), NACRE_OK);
    assert_string_equal(heard.text[0], result->output.bytes);
    assert_string_equal(result->reason, "trapped at [redacted:TOKEN]");
    assert_int_equal(result->leaks.values, 3);
    run_leaks_free(leaks);
    nacre_result_free(result);
}

static void a_secret_across_the_cut_is_found(void **state)
{
    static const char *const pieces[] = { "1the token: hunt", NULL };

    (void)state;
    for (int streamed = 0; streamed < 2; streamed++)
        for (int cut = 0; cut < 2; cut++) {
            struct told told = { .pieces = pieces, .is_cut = cut,
                                 .is_streamed = streamed };
            struct heard heard;
            struct nacre_result *result = ran(plan(true), &granted, &told, &heard);

            assert_string_equal(streamed ? heard.text[0] : result->output.bytes,
                                cut ? "the token: [redacted:TOKEN]" : "the token: hunt");
            assert_int_equal(result->leak, cut);
            nacre_result_free(result);
        }
}

/* What takes the place of findings may be longer than they were. */
static void clean_output_keeps_to_the_limit_too(void **state)
{
    static const char *const pieces[] = {
        "1hunter22 hunter22 hunter22 hunter22 hunter22 hunter22 hunter22 hunter22", NULL
    };
    struct told told = { .pieces = pieces };
    struct heard heard;
    struct nacre_result *result = ran(plan(true), &granted, &told, &heard);

    (void)state;
    assert_int_equal(result->output.size, 100);
    assert_true(result->output_cut);
    assert_null(strstr(result->output.bytes, "hunter"));
    nacre_result_free(result);
}

static void without_a_scan_granted_values_are_looked_for_alone(void **state)
{
    static const char *const pieces[] = {
        "1hunter22 ghp_" "Xk2pQ9vLr7TnB4wZs8Yd1Hf6Jc3Gm0Ea5UiO", NULL
    };
    struct told told = { .pieces = pieces };
    struct heard heard;
    struct nacre_result *result = ran(plan(false), &granted, &told, &heard);

    (void)state;
    assert_string_equal(result->output.bytes,
                        "[redacted:TOKEN] ghp_" "Xk2pQ9vLr7TnB4wZs8Yd1Hf6Jc3Gm0Ea5UiO");
    assert_int_equal(result->leaks.redacted, 0);
    nacre_result_free(result);
}

static void without_secrets_patterns_are_looked_for_alone(void **state)
{
    static const char *const pieces[] = {
        "1hunter22 ghp_" "Xk2pQ9vLr7TnB4wZs8Yd1Hf6Jc3Gm0Ea5UiO", NULL
    };
    struct told told = { .pieces = pieces };
    struct heard heard;
    struct nacre_result *result = ran(plan(true), NULL, &told, &heard);

    (void)state;
    assert_string_equal(result->output.bytes, "hunter22 [redacted:github-token]");
    assert_int_equal(result->leaks.redacted, 1);
    assert_false(result->leak); /* a token of somebody's is no leak of ours */
    nacre_result_free(result);
}

static void a_run_that_is_not_scanned_has_its_request_unchanged(void **state)
{
    struct nacre_request request = { .on_output = hear, .input_fd = 7 }, scanned;
    struct run_leaks *leaks = (struct run_leaks *)&request;
    struct nacre_error err;

    (void)state;
    assert_int_equal(run_leaks_begin(plan(false), &request, NULL, &scanned, &leaks, &err),
                     NACRE_OK);
    assert_null(leaks);
    assert_memory_equal(&request, &scanned, sizeof(request));
    err = (struct nacre_error){ .status = NACRE_ERR_IO, .text = "hunter22" };
    assert_int_equal(run_leaks_end(NULL, NACRE_ERR_IO, NULL, &err), NACRE_ERR_IO);
    assert_string_equal(err.text, "hunter22");
}

static void the_texts_of_a_run_are_clean(void **state)
{
    struct nacre_request request = { .granted = &granted }, scanned;
    struct nacre_denial denial = { .code = "c", .path = "/tmp/hunter22",
                                   .text = "no aHVudGVyMjI=", .fix = "hunter22" };
    struct run_leaks *leaks = NULL;
    struct nacre_result *result = NULL;
    struct nacre_error err = { .status = NACRE_OK };

    (void)state;
    assert_int_equal(nacre_result_new(&result, &err), NACRE_OK);
    assert_int_equal(run_leaks_begin(plan(true), &request, NULL, &scanned, &leaks, &err),
                     NACRE_OK);
    nacre_result_deny(result, &denial);
    result->egress[0] = (struct nacre_egress_record){ .host = "hunter22.example" };
    result->egress_count = 1;
    /* As long as there is room: perhaps it was longer. */
    memset(result->reason, '.', sizeof(result->reason) - 1);
    memcpy(result->reason + sizeof(result->reason) - 6, "hunte", 6);
    (void)nacre_fail(&err, NACRE_ERR_BACKEND, "the worker said hunter22");
    assert_int_equal(run_leaks_end(leaks, NACRE_ERR_BACKEND, result, &err),
                     NACRE_ERR_BACKEND);
    assert_string_equal(err.text, "the worker said [redacted:TOKEN]");
    assert_string_equal(result->denials[0].path, "/tmp/[redacted:TOKEN]");
    assert_string_equal(result->denials[0].text, "no [redacted:TOKEN]I=");
    assert_string_equal(result->denials[0].fix, "[redacted:TOKEN]");
    assert_string_equal(result->egress[0].host, "[redacted:TOKEN].example");
    assert_null(strstr(result->reason, "hunte"));
    assert_int_equal(result->leaks.values, 6);
    run_leaks_free(leaks);
    nacre_result_free(result);
}

/* A command that is refused is told with its words. */
static void what_is_told_of_a_refusal_is_clean(void **state)
{
    struct nacre_denial denial = { .code = "shell", .text = "'curl hunter22' is denied" };
    struct nacre_request request = { .granted = NULL };
    struct nacre_policy policy = { .secrets.leak_detection.on = true };
    struct nacre_result *result = NULL;
    struct nacre_error err, failure;

    (void)state;
    policy.secrets.leak_patterns.value = NACRE_LEAK_PATTERNS;
    assert_int_equal(nacre_result_new(&result, &err), NACRE_OK);
    nacre_result_deny(result, &denial);
    run_leaks_refused(&policy, &request, result, NULL);
    assert_string_equal(result->denials[0].text, denial.text);

    (void)snprintf(result->denials[0].text, sizeof(result->denials[0].text), "%s",
                   "curl ghp_" "Xk2pQ9vLr7TnB4wZs8Yd1Hf6Jc3Gm0Ea5UiO");
    (void)nacre_fail(&failure, NACRE_ERR_IO, "no hunter22");
    run_leaks_refused(&policy, &request, result, &failure);
    assert_string_equal(result->denials[0].text, "curl [redacted:github-token]");
    assert_non_null(strstr(failure.text, "hunter22"));
    request.granted = &granted;
    policy.secrets.leak_detection.on = false;
    run_leaks_refused(&policy, &request, result, &failure);
    assert_null(strstr(failure.text, "hunter22"));
    assert_int_equal(result->leaks.redacted, 1);
    assert_int_equal(result->leaks.values, 1);

    fail_alloc_after(0);
    run_leaks_refused(&policy, &request, result, &failure);
    fail_alloc_after(-1);
    assert_string_equal(failure.text, "(could not be scanned for secrets)");
    nacre_result_free(result);
}

static void without_memory_nothing_gets_out(void **state)
{
    struct told told = { .pieces = split };
    bool fired = true;

    (void)state;
    for (int n = 0; fired; n++) {
        struct heard heard = { { "" } };
        struct nacre_request request = { .granted = &granted, .on_output = hear,
                                         .on_output_data = &heard }, scanned;
        struct run_leaks *leaks = NULL;
        struct nacre_result *result = NULL;
        struct nacre_error err = { .status = NACRE_OK };
        enum nacre_status status;

        assert_int_equal(nacre_result_new(&result, &err), NACRE_OK);
        fail_alloc_after(n);
        status = run_leaks_begin(plan(true), &request, NULL, &scanned, &leaks, &err);
        if (status == NACRE_OK) {
            scanned.stream_only = true;
            execute(&scanned, &told, result);
            status = run_leaks_end(leaks, NACRE_OK, result, &err);
        }
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(status, fired ? NACRE_ERR_MEMORY : NACRE_OK);
        assert_null(strstr(heard.text[0], "hunter22"));
        assert_null(strstr(heard.text[1], "68756e"));
        run_leaks_free(leaks);
        nacre_result_free(result);
    }
}

/* ---- files ---- */

static char top[64];

static const char *below(const char *name)
{
    static char paths[4][256];
    static unsigned next;
    char *path = paths[next++ % 4];

    (void)snprintf(path, sizeof(paths[0]), "%s/%s", top, name);
    return path;
}

static void write_file(const char *name, const char *bytes, size_t count, mode_t mode)
{
    FILE *file = fopen(below(name), "w");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(below(name), mode), 0);
}

static void write_text(const char *name, const char *text)
{
    write_file(name, text, strlen(text), 0640);
}

static void expect_text(const char *name, const char *expected)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf content = NACRE_BUF(1 << 20);
    NACRE_AUTO(nacre_fd_guard) int fd = open(below(name), O_RDONLY | O_CLOEXEC);
    struct nacre_error err;

    assert_true(fd >= 0);
    assert_int_equal(nacre_buf_read(&content, fd, &err), NACRE_OK);
    if (strcmp(content.bytes, expected) != 0)
        fail_msg("%s is '%s', not '%s'", name, content.bytes, expected);
}

static bool is_told(const struct nacre_result *result, const char *code, const char *path,
                    const char *text)
{
    for (uint32_t i = 0; i < result->denial_count; i++)
        if (strcmp(result->denials[i].code, code) == 0 &&
            strcmp(result->denials[i].path, path) == 0 &&
            strstr(result->denials[i].text, text))
            return true;
    return false;
}

/* What the run would have done between the beginning and the end. */
static void leave_files(void)
{
    write_text("work/new.txt", "token=hunter22\n");
    write_text("work/deep/er/new.txt", "aHVudGVyMjI=");
    write_text("work/clean.txt", "nothing here");
    write_text("work/denied/mine.txt", "hunter22");
    write_text("work/kept/by-nacre.txt", "hunter22");
    write_text("outside.txt", "hunter22");
    write_file("work/binary", "\0hunter22", 9, 0600);
    assert_int_equal(symlink("../outside.txt", below("work/link")), 0);
    assert_int_equal(symlink("..", below("work/up")), 0);
    assert_int_equal(symlink("hunter22", below("work/pointer")), 0);
    assert_int_equal(mkdir(below("work/is-hunter22"), 0700), 0);
    assert_int_equal(mkfifo(below("work/fifo"), 0600), 0);
    assert_int_equal(link(below("work/new.txt"), below("work/other-name.txt")), 0);
}

static void check_files(const struct nacre_result *result)
{
    struct stat st;

    expect_text("work/new.txt", "token=[redacted:TOKEN]\n");
    expect_text("work/other-name.txt", "token=[redacted:TOKEN]\n");
    expect_text("work/deep/er/new.txt", "[redacted:TOKEN]I=");
    expect_text("work/clean.txt", "nothing here");
    expect_text("work/old.txt", "hunter22");
    expect_text("work/denied/mine.txt", "hunter22");
    expect_text("work/kept/by-nacre.txt", "hunter22");
    expect_text("outside.txt", "hunter22");
    assert_int_equal(stat(below("work/new.txt"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
    assert_true(is_told(result, "leak-in-file", "/workspace/deep/er/new.txt",
                        "/workspace/deep/er/new.txt: had secrets in it, which are "
                        "replaced (secret values 1, private keys 0, tokens 0)"));
    assert_true(is_told(result, "leak-in-file", "/workspace/binary", "is no text"));
    assert_true(is_told(result, "leak-in-file", "/workspace/pointer",
                        "where it links to"));
    assert_true(is_told(result, "leak-in-file", "/workspace/is-[redacted:TOKEN]",
                        "is-[redacted:TOKEN]: has secrets in its name"));
    assert_int_equal(result->denials_seen, 5);
    /* A name is found once more in the path and in the text of what is told. */
    assert_int_equal(result->leaks.values, 5 + 2);
    assert_true(result->leak);
}

static void what_a_run_leaves_in_files_is_replaced(void **state)
{
    char *denied[] = { (char *)"denied" };
    char work[80], kept[80];
    struct nacre_mount mounts[] = {
        { .guest = (char *)"/workspace", .host = work, .writable = true,
          .denied = denied, .denied_count = 1 },
        { .guest = (char *)"/ro", .host = top },
        { .guest = (char *)"/tmp", .writable = true },
    };
    struct nacre_plan planned = { .mounts = mounts, .mount_count = 3,
                                  .limits.output_bytes_max = 100 };
    struct nacre_request request = { .granted = &granted, .scan_files = true }, scanned;
    const char *const protected_paths[] = { kept, "/nowhere/at/all", NULL };
    struct run_leaks *leaks = NULL;
    struct nacre_result *result = NULL;
    struct nacre_error err;

    (void)state;
    (void)snprintf(work, sizeof(work), "%s/work", top);
    (void)snprintf(kept, sizeof(kept), "%s/work/kept", top);
    write_text("work/old.txt", "hunter22");
    (void)usleep(30000); /* the clock of files is coarse */
    assert_int_equal(nacre_result_new(&result, &err), NACRE_OK);
    assert_int_equal(
        run_leaks_begin(&planned, &request, protected_paths, &scanned, &leaks, &err),
        NACRE_OK);
    leave_files();
    assert_int_equal(run_leaks_end(leaks, NACRE_OK, result, &err), NACRE_OK);
    check_files(result);
    run_leaks_free(leaks);
    nacre_result_free(result);
}

static void the_whole_tree_is_not_walked_but_told(void **state)
{
    struct nacre_mount mount = { .guest = (char *)"/", .host = top, .writable = true };
    struct nacre_plan planned = { .mounts = &mount, .mount_count = 1, .full_tree = true };
    struct nacre_request request = { .granted = &granted, .scan_files = true }, scanned;
    struct run_leaks *leaks = NULL;
    struct nacre_result *result = NULL;
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_result_new(&result, &err), NACRE_OK);
    assert_int_equal(run_leaks_begin(&planned, &request, NULL, &scanned, &leaks, &err),
                     NACRE_OK);
    write_text("work/new.txt", "hunter22");
    assert_int_equal(run_leaks_end(leaks, NACRE_OK, result, &err), NACRE_OK);
    expect_text("work/new.txt", "hunter22");
    assert_true(is_told(result, "leak-unscanned", "/", "not all that changed"));
    run_leaks_free(leaks);
    nacre_result_free(result);
}

static void files_without_anything_to_look_for_are_refused(void **state)
{
    struct nacre_request request = { .scan_files = true }, scanned;
    struct run_leaks *leaks = NULL;
    struct nacre_error err;

    (void)state;
    assert_int_equal(run_leaks_begin(plan(false), &request, NULL, &scanned, &leaks, &err),
                     NACRE_ERR_USAGE);
    assert_null(leaks);
}

static int make_top(void **state)
{
    static const char *const directories[] = { "work", "work/deep", "work/deep/er",
                                               "work/denied", "work/kept" };

    (void)state;
    (void)snprintf(top, sizeof(top), "/tmp/nacre-leaks-XXXXXX");
    if (!mkdtemp(top))
        return -1;
    for (size_t i = 0; i < NACRE_COUNT(directories); i++)
        if (mkdir(below(directories[i]), 0700) != 0)
            return -1;
    return 0;
}

static int remove_top(void **state)
{
    struct nacre_error err;

    (void)state;
    return nacre_tree_remove(AT_FDCWD, top, &err) == NACRE_OK ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_is_clean_as_it_comes),
        cmocka_unit_test(output_in_the_result_is_clean),
        cmocka_unit_test(what_is_seen_twice_is_counted_once),
        cmocka_unit_test(a_secret_across_the_cut_is_found),
        cmocka_unit_test(clean_output_keeps_to_the_limit_too),
        cmocka_unit_test(without_a_scan_granted_values_are_looked_for_alone),
        cmocka_unit_test(without_secrets_patterns_are_looked_for_alone),
        cmocka_unit_test(a_run_that_is_not_scanned_has_its_request_unchanged),
        cmocka_unit_test(the_texts_of_a_run_are_clean),
        cmocka_unit_test(what_is_told_of_a_refusal_is_clean),
        cmocka_unit_test(without_memory_nothing_gets_out),
        cmocka_unit_test(what_a_run_leaves_in_files_is_replaced),
        cmocka_unit_test(the_whole_tree_is_not_walked_but_told),
        cmocka_unit_test(files_without_anything_to_look_for_are_refused),
    };

    return cmocka_run_group_tests(tests, make_top, remove_top);
}
