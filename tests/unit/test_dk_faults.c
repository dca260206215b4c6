/* The container executor and an engine that is broken, in one way after the other: every
 * run ends with a sentence, nothing is left, and a sound engine serves again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fake_engine.h"
#include "jail_world.h"
#include "nacre/clock.h"
#include "nacre/path.h"

static struct jail jail;
static struct fake_engine *engine;
static char socket_path[96];
static char *none[] = { NULL };

#define PATIENT_MS 60000 /* of a run that is not to end by its time */
#define IMAGE_ID "sha256:" FAKE_ID
#define INFO                                                                       \
    { .method = "GET", .path = "/info",                                            \
      .body = "{\"MemoryLimit\":true,\"PidsLimit\":true,\"CgroupVersion\":\"1\"}" }
#define LIST { .method = "GET", .path = "/containers/json", .body = "[]" }
#define IMAGE                                                                      \
    { .method = "GET", .path = "/images/*", .body = "{\"Id\":\"" IMAGE_ID "\"}" }
#define HEAD FAKE_VERSION, INFO, LIST, IMAGE
#define START { .method = "POST", .path = "/containers/*/start", .status = 204 }
#define REMOVE { .method = "DELETE", .path = "/containers/*", .status = 204 }
#define INSPECT { .method = "GET", .path = "/containers/*/json", .deed = FAKE_INSPECT }
#define ATTACH(...) \
    { .method = "POST", .path = "/containers/*/attach", .deed = FAKE_HIJACK, __VA_ARGS__ }

static int enter(void **state)
{
    static char image[] = "image:1";

    (void)state;
    jail_prepare(&jail, &nacre_container_executor);
    jail.plan.level = NACRE_LEVEL_CONTAINER;
    jail.plan.limits.wall_ms_max = PATIENT_MS;
    jail.plan.container = (struct nacre_container){
        .image = image, .tmpfs = none, .keep_capabilities = none,
        .blocked_syscalls = none, .environment = none, .ulimits = none,
        .read_only_root = true,
    };
    jail_mount(&jail, "/workspace", "ws", true, "a/b");
    (void)snprintf(socket_path, sizeof(socket_path), "%s/sock", jail.top);
    {
        char host[128];

        (void)snprintf(host, sizeof(host), "unix://%s", socket_path);
        return setenv("DOCKER_HOST", host, 1);
    }
}

static int leave(void **state)
{
    (void)state;
    jail.ops->free(jail.executor);
    jail.executor = NULL;
    fake_engine_stop(engine);
    engine = NULL;
    (void)unlink(socket_path);
    jail_finish(&jail);
    return 0;
}

static void start(const struct fake_rule *rules)
{
    engine = fake_engine_start(socket_path, rules);
    assert_non_null(engine);
}

static size_t asked(const char *words)
{
    size_t count = 0;

    for (size_t i = 0; i < fake_engine_asked(engine); i++)
        count += strstr(fake_engine_line(engine, i), words) != NULL;
    return count;
}

static void no_engine_is_told_with_what_to_do_and_found_when_it_comes(void **state)
{
    static const struct fake_rule sound[] = { HEAD, FAKE_CREATE, REMOVE, FAKE_END };

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(jail_run(&jail, "true"), NACRE_ERR_UNAVAILABLE);
        assert_non_null(strstr(jail.err.text, socket_path));
    }
    jail.ops->probe(jail.executor, UINT32_MAX);
    assert_int_equal(atomic_load(&jail.executor->features), 0);
    start(sound);
    jail.ops->probe(jail.executor, UINT32_MAX);
    assert_true(atomic_load(&jail.executor->features) & NACRE_FEATURE_MEMORY_LIMIT);
    assert_false(atomic_load(&jail.executor->features) & NACRE_FEATURE_CPUS);
}

static void what_the_engine_ignores_is_removed_before_it_starts(void **state)
{
    static const char *const fields[] = {
        "HostConfig.ReadonlyRootfs", "HostConfig.CapDrop", "HostConfig.SecurityOpt",
        "HostConfig.NetworkMode", "HostConfig.Memory", "HostConfig.MemorySwap",
        "HostConfig.PidsLimit", "HostConfig.Mounts", "HostConfig.LogConfig",
        "HostConfig.MaskedPaths", "HostConfig.Ulimits", "HostConfig.AutoRemove",
        "HostConfig.ReadonlyPaths", "Config.User", "Config.Entrypoint",
        "Config.StdinOnce", "Config.NetworkDisabled", "Config.Labels", "Image", "Mounts",
        "HostConfig", "Config",
    };
    static struct fake_rule rules[] = { HEAD,   FAKE_CREATE, INSPECT, ATTACH(),
                                        START,  REMOVE,      FAKE_END };

    (void)state;
    start(rules);
    for (size_t i = 0; i < NACRE_COUNT(fields); i++) {
        const char *dot = strrchr(fields[i], '.');
        size_t removed = asked("DELETE ");

        rules[5].ignored = fields[i];
        assert_int_equal(jail_run(&jail, "true"), NACRE_ERR_UNAVAILABLE);
        if (!strstr(jail.err.text, dot ? dot + 1 : fields[i]) &&
            strcmp(fields[i], "Config") != 0)
            fail_msg("%s: %s", fields[i], jail.err.text);
        assert_true(asked("DELETE ") > removed);
    }
    assert_int_equal(asked("/start"), 0);
    /* The control: with nothing ignored it comes as far as the start. */
    rules[5].ignored = NULL;
    assert_int_equal(jail_run(&jail, "true"), NACRE_ERR_UNAVAILABLE);
    assert_int_equal(asked("/start"), 1);
}

static void a_warning_is_a_refusal(void **state)
{
    static const struct fake_rule rules[] = {
        HEAD,
        { .method = "POST", .path = "/containers/create", .status = 201,
          .body = "{\"Id\":\"" FAKE_ID "\",\"Warnings\":[\"swap is not for you\"]}" },
        INSPECT, ATTACH(), START, REMOVE, FAKE_END,
    };

    (void)state;
    start(rules);
    assert_int_equal(jail_run(&jail, "true"), NACRE_ERR_UNAVAILABLE);
    assert_non_null(strstr(jail.err.text, "swap is not for you"));
    assert_int_equal(asked("/start"), 0);
    assert_int_equal(asked("DELETE "), 1);
}

/* An engine whose kernel counts no swap warns of every bound on it. */
static void swap_without_a_bound_is_refused_or_waived(void **state)
{
    static const struct fake_rule rules[] = {
        HEAD,
        { .method = "POST", .path = "/containers/create", .deed = FAKE_SWAPLESS,
          .status = 201, .body = "{\"Id\":\"" FAKE_ID "\",\"Warnings\":[]}" },
        INSPECT, ATTACH(), START, REMOVE, FAKE_END,
    };
    NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = NULL;
    struct nacre_executor *chosen = NULL;

    (void)state;
    start(rules);
    jail.plan.limits.memory_bytes_max = 64 << 20;
    jail.plan.limits.memory_asked = true;
    jail.plan.container.memory_swap_bytes = 64 << 20;
    jail.plan.required = NACRE_FEATURE_MEMORY_LIMIT | NACRE_FEATURE_SWAP_LIMIT;
    assert_int_equal(jail_open(&jail), NACRE_OK);
    assert_int_equal(nacre_result_new(&denials, &jail.err), NACRE_OK);
    assert_int_equal(nacre_executor_select(&jail.executor, 1, &jail.plan, &chosen,
                                           denials, &jail.err),
                     NACRE_ERR_UNAVAILABLE);
    assert_int_equal(denials->denial_count, 1);
    assert_string_equal(denials->denials[0].rule, "container.memory_swap");
    /* As the caller's waiver leaves it: it comes as far as the start. */
    jail.plan.waivable = NACRE_FEATURE_SWAP_LIMIT;
    assert_int_equal(nacre_executor_select(&jail.executor, 1, &jail.plan, &chosen,
                                           denials, &jail.err),
                     NACRE_OK);
    assert_int_equal(jail_run(&jail, "true"), NACRE_ERR_UNAVAILABLE);
    assert_int_equal(asked("/start"), 1);
    assert_int_equal(jail.result->waived, NACRE_FEATURE_SWAP_LIMIT);
    jail.plan.waivable = 0;
    /* And as a memory_mb that is only a default does. */
    jail.plan.required = 0;
    jail.plan.limits.memory_asked = false;
    assert_int_equal(jail_run(&jail, "true"), NACRE_ERR_UNAVAILABLE);
    assert_int_equal(asked("/start"), 2);
}

/* What comes on the stream instead of init's words. */
static const struct {
    const char *bytes;
    size_t count;
    enum fake_after after;
} streams[] = {
    { "", 0, FAKE_AFTER_CLOSE },
    { "\1\0\0", 3, FAKE_AFTER_CLOSE },
    { "\7\0\0\0\0\0\0\1x", 9, FAKE_AFTER_HOLD },
    { "\1\0\0\0\377\377\377\377x", 9, FAKE_AFTER_CLOSE },
    { "\1\0\0\0\0\0\0\10xxxxxxxx", 16, FAKE_AFTER_CLOSE },
    { "\1\0\0\0\0\0\0\10\377\377\377\377\377\377\377\377", 16, FAKE_AFTER_FLOOD },
    { "\2\0\0\0\0\0\0\10xxxxxxxx", 16, FAKE_AFTER_CLOSE },
    { "HTTP/1.1 200 OK\r\n\r\n", 19, FAKE_AFTER_FLOOD },
};

static void a_stream_that_is_none_of_inits_ends_at_once(void **state)
{
    static struct fake_rule rules[] = { HEAD,  FAKE_CREATE, INSPECT, ATTACH(),
                                        START, REMOVE,      FAKE_END };

    (void)state;
    start(rules);
    for (size_t i = 0; i < NACRE_COUNT(streams); i++) {
        size_t removed = asked("DELETE ");

        rules[6].stream = streams[i].bytes;
        rules[6].stream_bytes = streams[i].count;
        rules[6].after = streams[i].after;
        assert_int_equal(jail_run(&jail, "true"), NACRE_ERR_UNAVAILABLE);
        assert_true(asked("DELETE ") > removed);
    }
}

static const struct {
    struct fake_rule rule; /* before the sound ones */
    bool removed;          /* was there anything to remove? */
} failures[] = {
    { { .method = "GET", .path = "/images/*", .deed = FAKE_CLOSE }, false },
    { { .method = "GET", .path = "/images/*", .body = "[]" }, false },
    { { .method = "GET", .path = "/images/*",
        .body = "{\"Id\":\"" IMAGE_ID "\",\"Architecture\":\"\\u001bs390x\"}" }, false },
    { { .method = "POST", .path = "/containers/create", .status = 500,
        .body = "{\"message\":\"no\"}" }, false },
    { { .method = "POST", .path = "/containers/create", .status = 201, .body = "{}" },
      false },
    { { .method = "POST", .path = "/containers/create", .deed = FAKE_CLOSE }, true },
    { { .method = "GET", .path = "/containers/*/json", .deed = FAKE_CLOSE }, true },
    { { .method = "GET", .path = "/containers/*/json", .deed = FAKE_FLOOD,
        .body = "xxxxxxxxxxxxxxxx" }, true },
    { { .method = "GET", .path = "/containers/*/json", .body = "{}" }, true },
    { { .method = "POST", .path = "/containers/*/attach", .status = 500 }, true },
    { { .method = "POST", .path = "/containers/*/attach", .deed = FAKE_CLOSE }, true },
    { { .method = "POST", .path = "/containers/*/start", .status = 400,
        .body = "{\"message\":\"exec format error\"}" }, true },
    { { .method = "POST", .path = "/containers/*/start", .deed = FAKE_CLOSE }, true },
};

#define HANG(method_, path_) { .method = method_, .path = path_, .deed = FAKE_HANG }
#define SOON_MS 300                       /* for each call */
#define BOUND_NS (5 * NACRE_NS_PER_S) /* less than any of them has by itself */

/* Those that hang at one call.  What the last one does not say is init's report. */
static const struct {
    struct fake_rule rule;
    bool removed;
} hangs[] = {
    { HANG("GET", "/images/*"), false },
    { HANG("POST", "/containers/create"), true },
    { HANG("GET", "/containers/*/json"), true },
    { HANG("POST", "/containers/*/attach"), true },
    { HANG("POST", "/containers/*/start"), true },
    { HANG("DELETE", "/containers/*"), true },
    { { .path = "/nothing" }, true },
};

/* A whole sandbox, with a place in front for what goes wrong. */
static struct fake_rule whole[] = { { .path = NULL }, HEAD, FAKE_CREATE, INSPECT,
                                    ATTACH(.after = FAKE_AFTER_HOLD),
                                    START, REMOVE, FAKE_END };

static void open_with(uint32_t engine_ms_max)
{
    whole[0] = (struct fake_rule){ .path = "/nothing" };
    start(whole);
    jail.options.engine_ms_max = engine_ms_max;
    assert_int_equal(jail_open(&jail), NACRE_OK);
    jail.ops->probe(jail.executor, 0);
}

static void each_call_that_hangs_is_given_up_and_leaves_nothing(void **state)
{
    (void)state;
    open_with(SOON_MS);
    for (size_t i = 0; i < NACRE_COUNT(hangs); i++) {
        size_t removed = asked("DELETE ");
        uint64_t from = nacre_clock_ns();

        whole[0] = hangs[i].rule;
        assert_int_equal(jail_run(&jail, "true"), NACRE_ERR_UNAVAILABLE);
        if (nacre_clock_ns() - from >= BOUND_NS || !jail.err.text[0] ||
            (asked("DELETE ") > removed) != hangs[i].removed)
            fail_msg("%s: %s", hangs[i].rule.path, jail.err.text);
        assert_true(jail_holds(&jail, "ws/file", "inside"));
    }
}

/* ---- the run's own time, and who wants no more of it ---- */

#define WALL_MS 500
#define BEGUN_MS 200                         /* into a run that hangs */
#define AT_ONCE_NS (3 * NACRE_NS_PER_S) /* with what is removed, on a busy machine */

/* Taking away what was half made has a time of its own. */
static bool hangs_when_removed(size_t i)
{
    return strcmp(hangs[i].rule.method ? hangs[i].rule.method : "", "DELETE") == 0;
}

static void the_policys_time_bounds_each_call(void **state)
{
    (void)state;
    open_with(0);
    jail.plan.limits.wall_ms_max = WALL_MS;
    for (size_t i = 0; i < NACRE_COUNT(hangs); i++) {
        size_t removed = asked("DELETE ");
        uint64_t from = nacre_clock_ns(), taken;
        enum nacre_status status;

        if (hangs_when_removed(i))
            continue;
        whole[0] = hangs[i].rule;
        status = jail_run(&jail, "true");
        taken = nacre_clock_ns() - from;
        if (status != NACRE_OK || taken >= AT_ONCE_NS ||
            taken < WALL_MS * NACRE_NS_PER_MS ||
            (asked("DELETE ") > removed) != hangs[i].removed)
            fail_msg("%s: %s", hangs[i].rule.path, jail.err.text);
        assert_int_equal(jail.result->outcome, NACRE_OUTCOME_TIMED_OUT);
        assert_true(jail.result->reason[0]);
    }
}

static void pause_ms(uint32_t ms)
{
    const struct timespec pause = { .tv_sec = ms / 1000,
                                    .tv_nsec = ms % 1000 * (long)NACRE_NS_PER_MS };

    (void)nanosleep(&pause, NULL);
}

/* An engine goes on with what it was asked for, and knows of it only when it is done. */
static void one_that_was_given_up_is_looked_for_before_it_is_removed(void **state)
{
    static const struct fake_rule rules[] = {
        HEAD, HANG("POST", "/containers/create"),
        { .method = "GET", .path = "/containers/*/json", .status = 404, .times = 2 },
        { .method = "GET", .path = "/containers/*/json",
          .body = "{\"Id\":\"" FAKE_ID "\"}" },
        REMOVE, FAKE_END,
    };
    size_t looks = 0;

    (void)state;
    start(rules);
    jail.plan.limits.wall_ms_max = WALL_MS;
    assert_int_equal(jail_run(&jail, "true"), NACRE_OK);
    assert_int_equal(asked("DELETE "), 1);
    for (size_t i = 0; !strstr(fake_engine_line(engine, i), "DELETE "); i++)
        looks += strstr(fake_engine_line(engine, i), "/json") != NULL;
    assert_int_equal(looks, 3 + 2); /* the list and the image are asked for as well */
}

/* ---- what the engine finishes when nobody waits for it any more ---- */

#define LATE_NS (5 * NACRE_NS_PER_S) /* some beats */

static const struct fake_rule unmade[] = { HEAD, HANG("POST", "/containers/create"),
                                           FAKE_END };
static const struct fake_rule made[] = {
    HEAD, { .method = "POST", .path = "/containers/create", .status = 500 },
    { .method = "GET", .path = "/containers/*/json", .body = "{\"Id\":\"" FAKE_ID "\"}" },
    REMOVE, FAKE_END,
};

static void wait_for_a_beat(size_t removed)
{
    uint64_t until = nacre_clock_ns() + LATE_NS;

    while (asked("DELETE ") == removed && nacre_clock_ns() < until)
        pause_ms(20);
}

static void run_again(size_t removed)
{
    (void)removed;
    assert_int_equal(jail_run(&jail, "true"), NACRE_ERR_UNAVAILABLE);
}

static void free_executor(size_t removed)
{
    (void)removed;
    jail.ops->free(jail.executor);
    jail.executor = NULL;
}

static void (*const occasions[])(size_t) = { wait_for_a_beat, run_again, free_executor };

static void one_that_appears_after_it_was_given_up_is_removed(void **state)
{
    (void)state;
    start(unmade);
    for (size_t i = 0; i < NACRE_COUNT(occasions); i++) {
        char name[256] = "";
        size_t removed, n = fake_engine_asked(engine);

        fake_engine_script(engine, unmade);
        jail.plan.limits.wall_ms_max = WALL_MS;
        assert_int_equal(jail_run(&jail, "true"), NACRE_OK);
        assert_int_equal(jail.result->outcome, NACRE_OUTCOME_TIMED_OUT);
        while (!strstr(fake_engine_line(engine, n), "/containers/create?"))
            n++;
        (void)snprintf(name, sizeof(name), "/containers/%s?",
                       strstr(fake_engine_line(engine, n), "name=") + 5);
        removed = asked("DELETE ");
        assert_int_equal(asked(name), 1); /* the try when it was given up */
        jail.plan.limits.wall_ms_max = PATIENT_MS;
        fake_engine_script(engine, made);
        occasions[i](removed);
        if (asked(name) < 2)
            fail_msg("%zu: %s is left", i, name);
    }
}

static void a_removal_that_hangs_holds_up_no_run_that_has_ended(void **state)
{
    static struct fake_rule stuck[NACRE_COUNT(whole)];
    uint64_t from;
    size_t removed;

    (void)state;
    open_with(0);
    memcpy(stuck, whole, sizeof(stuck));
    stuck[0] = (struct fake_rule)HANG("DELETE", "/containers/*");
    fake_engine_script(engine, stuck);
    jail.plan.limits.wall_ms_max = WALL_MS;
    from = nacre_clock_ns();
    assert_int_equal(jail_run(&jail, "true"), NACRE_OK);
    assert_int_equal(jail.result->outcome, NACRE_OUTCOME_TIMED_OUT);
    assert_true(nacre_clock_ns() - from < BOUND_NS);
    removed = asked("DELETE ");
    assert_true(removed > 0);
    fake_engine_script(engine, whole);
    free_executor(removed);
    assert_true(asked("DELETE ") > removed);
}

static void *cancel_all(void *unused)
{
    (void)unused;
    pause_ms(BEGUN_MS);
    jail.ops->cancel(jail.executor, SIGTERM);
    return NULL;
}

static void *cancel_this_one(void *flag)
{
    pause_ms(BEGUN_MS);
    atomic_store((_Atomic int *)flag, SIGTERM);
    return NULL;
}

static void each_call_ends_when_the_run_is_cancelled(void **state)
{
    static void *(*const ways[])(void *) = { cancel_all, cancel_this_one };
    _Atomic int flag;

    (void)state;
    open_with(0);
    jail.request.cancelled = &flag;
    for (size_t i = 0; i < NACRE_COUNT(ways) * NACRE_COUNT(hangs); i++) {
        size_t hang = i / NACRE_COUNT(ways), removed = asked("DELETE ");
        uint64_t from = nacre_clock_ns();
        pthread_t canceller;
        enum nacre_status status;

        if (hangs_when_removed(hang))
            continue;
        atomic_store(&flag, 0);
        jail.ops->cancel(jail.executor, 0);
        whole[0] = hangs[hang].rule;
        assert_int_equal(pthread_create(&canceller, NULL, ways[i % NACRE_COUNT(ways)],
                                        &flag), 0);
        status = jail_run(&jail, "true");
        (void)pthread_join(canceller, NULL);
        if (status != NACRE_OK || nacre_clock_ns() - from >= AT_ONCE_NS ||
            (asked("DELETE ") > removed) != hangs[hang].removed)
            fail_msg("%s: %s", hangs[hang].rule.path, jail.err.text);
        assert_int_equal(jail.result->outcome, NACRE_OUTCOME_KILLED);
        assert_int_equal(jail.result->signal, SIGTERM);
    }
    jail.request.cancelled = NULL;
}

static void the_search_for_an_engine_ends_when_cancelled(void **state)
{
    uint64_t from = nacre_clock_ns();
    pthread_t canceller;

    (void)state;
    whole[0] = (struct fake_rule)HANG("GET", "/version");
    start(whole);
    assert_int_equal(jail_open(&jail), NACRE_OK);
    assert_int_equal(pthread_create(&canceller, NULL, cancel_all, NULL), 0);
    jail.ops->probe(jail.executor, 0);
    (void)pthread_join(canceller, NULL);
    assert_true(nacre_clock_ns() - from < AT_ONCE_NS);
    assert_int_equal(atomic_load(&jail.executor->features), 0);
}

/* One that makes the sandbox of a scope, and never gets an answer. */
static void *make_for_ever(void *data)
{
    struct jail *other = data;

    (void)!jail_run(other, "true");
    return NULL;
}

static void who_waits_for_anothers_sandbox_has_its_own_time_and_cancel(void **state)
{
    static char scope[] = "session:one";
    struct jail other;
    _Atomic int flag = 0;
    pthread_t maker, canceller;
    uint64_t from;

    (void)state;
    open_with(0);
    whole[0] = (struct fake_rule)HANG("POST", "/containers/create");
    jail.plan.scope_key = scope;
    other = jail;
    other.result = NULL;
    assert_int_equal(pthread_create(&maker, NULL, make_for_ever, &other), 0);
    while (asked("/containers/create") == 0)
        pause_ms(10);
    jail.plan.limits.wall_ms_max = WALL_MS;
    from = nacre_clock_ns();
    assert_int_equal(jail_run(&jail, "true"), NACRE_OK);
    assert_true(nacre_clock_ns() - from < AT_ONCE_NS);
    assert_int_equal(jail.result->outcome, NACRE_OUTCOME_TIMED_OUT);

    jail.plan.limits.wall_ms_max = PATIENT_MS;
    jail.request.cancelled = &flag;
    from = nacre_clock_ns();
    assert_int_equal(pthread_create(&canceller, NULL, cancel_this_one, &flag), 0);
    assert_int_equal(jail_run(&jail, "true"), NACRE_OK);
    assert_true(nacre_clock_ns() - from < AT_ONCE_NS);
    assert_int_equal(jail.result->outcome, NACRE_OUTCOME_KILLED);
    jail.request.cancelled = NULL;

    (void)pthread_join(canceller, NULL);
    assert_int_equal(asked("/containers/create"), 1);
    jail.ops->cancel(jail.executor, SIGKILL);
    (void)pthread_join(maker, NULL);
    nacre_result_free(other.result);
}

static void each_call_that_fails_leaves_nothing(void **state)
{
    (void)state;
    open_with(0);
    for (size_t i = 0; i < NACRE_COUNT(failures); i++) {
        size_t removed = asked("DELETE ");

        whole[0] = failures[i].rule;
        assert_int_equal(jail_run(&jail, "true"), NACRE_ERR_UNAVAILABLE);
        assert_null(strchr(jail.err.text, '\033'));
        assert_true(jail.err.text[0]);
        assert_int_equal(asked("DELETE ") > removed, failures[i].removed);
        assert_true(jail_holds(&jail, "ws/file", "inside"));
    }
}

static void an_engine_on_another_machine_is_told_so(void **state)
{
    static const struct fake_rule rules[] = {
        HEAD,
        { .method = "POST", .path = "/containers/create", .status = 400,
          .body = "{\"message\":\"invalid mount config for type \\\"bind\\\": bind "
                  "source path does not exist: /x\"}" },
        REMOVE, FAKE_END,
    };

    (void)state;
    start(rules);
    assert_int_equal(jail_run(&jail, "true"), NACRE_ERR_UNAVAILABLE);
    assert_non_null(strstr(jail.err.text, "another machine"));
}

static void an_engine_of_another_architecture_is_told_so(void **state)
{
    static const struct fake_rule rules[] = { FAKE_VERSION_OF("s390x"), INFO, LIST, IMAGE,
                                              FAKE_END };

    (void)state;
    start(rules);
    assert_int_equal(jail_run(&jail, "true"), NACRE_ERR_UNAVAILABLE);
    assert_non_null(strstr(jail.err.text, "the engine's machine is s390x, and this nacre "
                                          "brings an init for " FAKE_ARCH));
}

/* It has to be there before a sandbox is asked for. */
static void init_that_can_not_be_brought_to_an_engine_ends_the_run(void **state)
{
    static char missing[NACRE_PATH_MAX + 128];
    struct fake_rule rules[] = {
        HEAD,
        { .method = "POST", .path = "/containers/create", .status = 400,
          .body = missing },
        { .method = "POST", .path = "/images/create", .status = 500,
          .body = "{\"message\":\"no room\"}" },
        REMOVE, FAKE_END,
    };

    (void)state;
    (void)snprintf(missing, sizeof(missing),
                   "{\"message\":\"bind source path does not exist: "
                   "%s/state/covers/file\"}", jail.top);
    start(rules);
    assert_int_equal(jail_run(&jail, "true"), NACRE_ERR_UNAVAILABLE);
    assert_non_null(strstr(jail.err.text, "nacre's init can't be brought to the engine"));
    assert_non_null(strstr(jail.err.text, "no room"));
    assert_int_equal(asked("/containers/create"), 1);
    assert_int_equal(asked("/images/create"), 1);
}

/* Before there is anything to run: what a dead owner left is then for the next time. */
static void an_engine_that_does_not_answer_is_given_up(void **state)
{
    static const char *const paths[] = { "/version", "/info", "/containers/json" };
    static struct fake_rule rules[] = { { .path = NULL }, HEAD, FAKE_END };

    (void)state;
    rules[0] = (struct fake_rule){ .path = "/nothing" };
    start(rules);
    jail.options.engine_ms_max = SOON_MS;
    for (size_t i = 0; i < NACRE_COUNT(paths); i++) {
        uint64_t from = nacre_clock_ns();

        rules[0] = (struct fake_rule)HANG("GET", paths[i]);
        assert_int_equal(jail_run(&jail, "true"), NACRE_ERR_UNAVAILABLE);
        if (nacre_clock_ns() - from >= BOUND_NS || !jail.err.text[0])
            fail_msg("%s: %s", paths[i], jail.err.text);
        jail.ops->free(jail.executor);
        jail.executor = NULL;
    }
}

static void leftovers_that_cannot_be_listed_are_left(void **state)
{
    static const char *const answers[] = { "{}", "[{}]", "[{\"Id\":\"x\"}]", "no JSON" };
    static struct fake_rule rules[] = {
        FAKE_VERSION, INFO, { .method = "GET", .path = "/containers/json" }, IMAGE,
        REMOVE, FAKE_END,
    };

    (void)state;
    start(rules);
    for (size_t i = 0; i < NACRE_COUNT(answers); i++) {
        rules[2].body = answers[i];
        assert_int_equal(jail_open(&jail), NACRE_OK);
        jail.ops->probe(jail.executor, 0);
        assert_int_not_equal(atomic_load(&jail.executor->features), 0);
        jail.ops->free(jail.executor);
        jail.executor = NULL;
    }
    assert_int_equal(asked("DELETE "), 0);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, enter, leave)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        EACH(no_engine_is_told_with_what_to_do_and_found_when_it_comes),
        EACH(what_the_engine_ignores_is_removed_before_it_starts),
        EACH(a_warning_is_a_refusal),
        EACH(swap_without_a_bound_is_refused_or_waived),
        EACH(a_stream_that_is_none_of_inits_ends_at_once),
        EACH(each_call_that_fails_leaves_nothing),
        EACH(each_call_that_hangs_is_given_up_and_leaves_nothing),
        EACH(the_policys_time_bounds_each_call),
        EACH(one_that_was_given_up_is_looked_for_before_it_is_removed),
        EACH(one_that_appears_after_it_was_given_up_is_removed),
        EACH(a_removal_that_hangs_holds_up_no_run_that_has_ended),
        EACH(each_call_ends_when_the_run_is_cancelled),
        EACH(the_search_for_an_engine_ends_when_cancelled),
        EACH(who_waits_for_anothers_sandbox_has_its_own_time_and_cancel),
        EACH(an_engine_on_another_machine_is_told_so),
        EACH(an_engine_of_another_architecture_is_told_so),
        EACH(init_that_can_not_be_brought_to_an_engine_ends_the_run),
        EACH(an_engine_that_does_not_answer_is_given_up),
        EACH(leftovers_that_cannot_be_listed_are_left),
    };

    return cmocka_run_group_tests_name("dk_faults", tests, NULL, NULL);
}
