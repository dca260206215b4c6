/* The sandbox image, made in both ways: what stands in for a registry is an image of the
 * right name, what stands in for mmdebstrap a program of that name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "dk_recipe.h"
#include "engine_world.h"
#include "nacre/boxes.h"

#define BASE "debian:bookworm-slim"
#define NAME "nacre-test-made:1"

static char said[8192];

static void hear(void *data, const char *text)
{
    size_t used = strlen(said);

    (void)data;
    assert_null(strchr(text, '\033'));
    (void)snprintf(said + used, sizeof(said) - used, "%s\n", text);
}

/* A program in the only directory of PATH before the system's. */
static void put_program(const char *name, const char *text)
{
    char path[160], bin[128], variable[256];
    NACRE_AUTO(nacre_fd_guard) int fd = -1;

    (void)mkdir(jail_path(&jail, "bin", bin), 0755);
    (void)snprintf(path, sizeof(path), "%s/%s", bin, name);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    (void)snprintf(variable, sizeof(variable), "%s:/usr/bin:/bin", bin);
    assert_int_equal(setenv("PATH", variable, 1), 0);
}

static bool has_image(const char *name)
{
    NACRE_AUTO(dk_json_guard) json_t *image = NULL;
    struct nacre_error err;

    return dk_image_inspect(observer, name, SOON, &image, &err) == NACRE_OK;
}

static void remove_image(const char *name)
{
    struct nacre_error err;

    if (dk_image_remove(observer, name, SOON, &err) != NACRE_OK)
        fail_msg("%s", err.text);
}

static enum nacre_status build_one(enum nacre_image image, const char *tag)
{
    said[0] = '\0';
    if (!jail.executor)
        assert_int_equal(jail_open(&jail), NACRE_OK);
    return nacre_container_image_build(jail.executor, image, tag, hear, NULL,
                                       &jail.err);
}

static enum nacre_status build(const char *tag)
{
    return build_one(NACRE_IMAGE_SANDBOX, tag);
}

static void without_a_registry_it_is_made_on_this_machine(void **state)
{
    NEEDS_ENGINE();
    put_program("mmdebstrap",
                "#!/bin/sh\necho \"$@\" >&2\n"
                "d=$(mktemp -d); cd $d; mkdir -p bin etc tmp workspace dev proc sys\n"
                "cp $(command -v busybox) bin/busybox; ln -s busybox bin/sh\n"
                "ln -s busybox bin/cat; echo \"$@\" >etc/made-by\n"
                "tar -c .; cd /; rm -r $d\n");
    if (build(NAME) != NACRE_OK)
        fail_msg("%s", jail.err.text);
    assert_non_null(strstr(said, "that came to nothing: from debian:bookworm-slim: "));
    assert_non_null(strstr(said, "mmdebstrap"));
    assert_true(has_image(NAME));
    assert_false(has_image("nacre-building:root"));
    jail.plan.container.image = (char[]){ NAME };
    assert_true(jail_exits(&jail, "cat /etc/made-by", 0));
    assert_true(jail_says(&jail, "--variant=minbase --dpkgopt=force-unsafe-io "
                                 "--include=bash,ca-certificates,curl,git,jq,python3,"
                                 "ripgrep bookworm -\n"));
    remove_image(NAME);
}

/* What runs in it after its packages is one word, whatever it says. */
static void the_machines_image_has_a_kernel_and_no_more_of_it(void **state)
{
    NEEDS_ENGINE();
    put_program("mmdebstrap",
                "#!/bin/sh\nfor w; do echo \"<${w##*..;}>\"; done >&2\nexit 1\n");
    assert_int_equal(build_one(NACRE_IMAGE_VM, NAME), NACRE_ERR_UNAVAILABLE);
    assert_non_null(strstr(jail.err.text, " rm -r k m l'>\\x0a<bookworm>\\x0a<->"));
}

static void what_mmdebstrap_complains_about_is_told(void **state)
{
    NEEDS_ENGINE();
    put_program("mmdebstrap",
                "#!/bin/sh\nprintf 'no \\033[1mmirror here' >&2\nexit 25\n");
    assert_int_equal(build(NAME), NACRE_ERR_UNAVAILABLE);
    assert_non_null(strstr(jail.err.text, "mirror here"));
    assert_null(strchr(jail.err.text, '\033'));
    assert_false(has_image(NAME));
    assert_false(has_image("nacre-building:root"));
}

/* Half of an image is none, though an engine takes it. */
static void an_image_that_was_cut_off_gets_no_name(void **state)
{
    NEEDS_ENGINE();
    put_program("mmdebstrap", "#!/bin/sh\ncd /etc; tar -c hostname\nexit 1\n");
    assert_int_equal(build(NAME), NACRE_ERR_UNAVAILABLE);
    assert_false(has_image(NAME));
    assert_false(has_image("nacre-building:root"));
}

static void without_mmdebstrap_the_package_is_named(void **state)
{
    char bin[128];

    NEEDS_ENGINE();
    (void)mkdir(jail_path(&jail, "empty", bin), 0755);
    assert_int_equal(setenv("PATH", bin, 1), 0);
    assert_int_equal(build(NAME), NACRE_ERR_UNAVAILABLE);
    assert_non_null(strstr(jail.err.text, "install the package mmdebstrap"));
    assert_int_equal(setenv("PATH", "/usr/bin:/bin:/usr/sbin:/sbin", 1), 0);
}

/* A zombie that nobody has collected yet is gone, too. */
static bool is_gone(int pid)
{
    char path[64], text[256] = "";
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    const char *name_end;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
        return true;
    name_end = strrchr(text, ')');
    return !name_end || name_end[2] == 'Z' || name_end[2] == 'X';
}

#define PATIENCE 600 /* times 50 ms */

static void await_pids(const char *path, int pids[2])
{
    FILE *file = NULL;

    for (int i = 0; i < PATIENCE && !(file = fopen(path, "re")); i++)
        (void)usleep(50000);
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%d %d", &pids[0], &pids[1]), 2);
    (void)fclose(file);
    assert_int_equal(unlink(path), 0);
}

/* The real one, too, waits for its children, whatever it is told itself. */
static void mmdebstrap_ends_with_whoever_asked_for_it(void **state)
{
    static const int signals[] = { SIGTERM, SIGINT, SIGKILL };
    char path[128], script[512];

    NEEDS_ENGINE();
    (void)jail_path(&jail, "pids", path);
    (void)snprintf(script, sizeof(script),
                   "#!/bin/sh\ntrap : TERM\nsleep 3600 &\n"
                   "echo $! $$ >%s.part; mv %s.part %s\n"
                   "while kill -0 $! 2>/dev/null; do wait $!; done\n",
                   path, path, path);
    put_program("mmdebstrap", script);
    for (size_t i = 0; i < NACRE_COUNT(signals); i++) {
        int pids[2], left = PATIENCE;
        pid_t asker = fork();

        if (asker == 0)
            _exit(build(NAME) == NACRE_OK);
        assert_true(asker > 0);
        await_pids(path, pids);
        assert_false(is_gone(pids[0]) || is_gone(pids[1]));
        assert_int_equal(kill(asker, signals[i]), 0);
        assert_int_equal(waitpid(asker, NULL, 0), asker);
        while (!(is_gone(pids[0]) && is_gone(pids[1])) && left-- > 0)
            (void)usleep(50000);
        if (left < 0) {
            (void)kill(pids[0], SIGKILL);
            (void)kill(pids[1], SIGKILL);
            fail_msg("after signal %d it still runs", signals[i]);
        }
    }
}

static void a_name_that_is_none_is_refused(void **state)
{
    static const char *const names[] = { "", ":", "a:", ":1", "a@sha256:00", "A B:1",
                                         "../x:1", "a:b:c d" };

    NEEDS_ENGINE();
    put_program("mmdebstrap", "#!/bin/sh\nexit 1\n");
    for (size_t i = 0; i < NACRE_COUNT(names); i++)
        if (build(names[i]) == NACRE_OK)
            fail_msg("'%s' was made", names[i]);
}

/* The base has a program apt-get that writes down what it was asked for, and then does
 * `more`. */
static void make_base(const char *more)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    char command[640], path[160], id[DK_IMAGE_ID];
    struct nacre_error err;

    (void)snprintf(path, sizeof(path), "%s/base.tar", jail.top);
    (void)snprintf(command, sizeof(command),
                   "cd %s && mkdir -p base/bin base/var/lib/apt/lists base/tmp && "
                   "cp $(command -v busybox) base/bin/busybox && "
                   "for p in sh rm cat; do ln -s busybox base/bin/$p; done && "
                   "printf '#!/bin/sh\\necho \"$@\" >>/asked\\n%s\\n' "
                   ">base/bin/apt-get && "
                   "chmod 755 base/bin/apt-get && tar -C base -cf base.tar .",
                   jail.top, more);
    assert_int_equal(system(command), 0);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    if (dk_image_import(observer, "debian", "bookworm-slim", NULL, fd, SOON, id, &err) !=
        NACRE_OK)
        fail_msg("%s", err.text);
}

static void with_a_base_it_is_built_from_a_dockerfile(void **state)
{
    NEEDS_ENGINE();
    put_program("mmdebstrap", "#!/bin/sh\nexit 1\n");
    make_base("");
    if (build(NAME) != NACRE_OK)
        fail_msg("%s\n%s", jail.err.text, said);
    assert_true(has_image(NAME));
    assert_false(has_image("nacre-building:base"));
    jail.plan.container.image = (char[]){ NAME };
    assert_true(jail_exits(&jail, "cat /asked", 0));
    assert_true(jail_says(&jail, "update\ninstall -y --no-install-recommends bash "
                                 "ca-certificates curl git jq python3 ripgrep\n"));
    remove_image(NAME);
    remove_image(BASE);
}

/* There was a registry, or a base at least: nobody shall look for the fault there. */
static void a_package_that_can_not_be_had_is_not_told_as_a_registrys_fault(void **state)
{
    NEEDS_ENGINE();
    put_program("mmdebstrap", "#!/bin/sh\nexit 1\n");
    make_base("exit 100");
    assert_int_not_equal(build(NAME), NACRE_OK);
    assert_non_null(strstr(said, "that came to nothing: from a Dockerfile: "));
    assert_non_null(strstr(said, "returned a non-zero code: 100"));
    assert_null(strstr(said, "registry"));
    assert_false(has_image(NAME));
    remove_image(BASE);
}

/* Each is one line, which two other shells read first. */
static void every_recipe_is_a_line_that_a_shell_takes(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_IMAGE_COUNT; i++) {
        const struct dk_recipe *recipe = dk_recipe((enum nacre_image)i);
        char command[8192];

        assert_true(recipe->tag && recipe->packages);
        if (!recipe->script)
            continue;
        assert_null(strpbrk(recipe->script, "'\n"));
        (void)snprintf(command, sizeof(command), "sh -nc '%s'", recipe->script);
        assert_int_equal(system(command), 0);
        if (i == NACRE_IMAGE_BROWSER)
            assert_null(strstr(recipe->script, "no-sandbox"));
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_recipe_is_a_line_that_a_shell_takes),
        IN_ENGINE(without_a_registry_it_is_made_on_this_machine),
        IN_ENGINE(the_machines_image_has_a_kernel_and_no_more_of_it),
        IN_ENGINE(what_mmdebstrap_complains_about_is_told),
        IN_ENGINE(an_image_that_was_cut_off_gets_no_name),
        IN_ENGINE(without_mmdebstrap_the_package_is_named),
        IN_ENGINE(mmdebstrap_ends_with_whoever_asked_for_it),
        IN_ENGINE(a_name_that_is_none_is_refused),
        IN_ENGINE(with_a_base_it_is_built_from_a_dockerfile),
        IN_ENGINE(a_package_that_can_not_be_had_is_not_told_as_a_registrys_fault),
    };

    return cmocka_run_group_tests_name("dk_image", tests, engine_setup, engine_teardown);
}
