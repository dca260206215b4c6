/* The first read-back: an engine's own words about a container, one of them changed at a
 * time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "dk_api.h"
#include "dk_readback.h"
#include "fail_alloc.h"

#define IMAGE "sha256:0000000000000000000000000000000000000000000000000000000000000000"

static const char asked[] =
    "{\"Image\":\"" IMAGE "\",\"User\":\"1000:1000\",\"WorkingDir\":\"/\","
    "\"Entrypoint\":[\"/.nacre-init\"],\"Cmd\":[],\"Hostname\":\"nacre\","
    "\"OpenStdin\":true,\"StdinOnce\":true,\"AttachStdin\":true,\"AttachStdout\":true,"
    "\"AttachStderr\":true,\"Tty\":false,\"NetworkDisabled\":true,"
    "\"Healthcheck\":{\"Test\":[\"NONE\"]},\"Labels\":{\"nacre.owner\":\"0\"},"
    "\"HostConfig\":{\"ReadonlyRootfs\":true,\"CapDrop\":[\"ALL\"],\"CapAdd\":[\"KILL\"],"
    "\"NetworkMode\":\"none\",\"LogConfig\":{\"Type\":\"none\",\"Config\":{}},"
    "\"AutoRemove\":true,\"Init\":false,\"IpcMode\":\"private\",\"Privileged\":false,"
    "\"ShmSize\":67108864,\"RestartPolicy\":{\"Name\":\"no\"},\"OomKillDisable\":false,"
    "\"SecurityOpt\":[\"no-new-privileges\",\"seccomp={}\"],"
    "\"Mounts\":[{\"Type\":\"bind\",\"Source\":\"/srv\",\"Target\":\"/workspace\","
    "\"ReadOnly\":false,\"BindOptions\":{\"Propagation\":\"rprivate\","
    "\"NonRecursive\":true}}],\"Tmpfs\":{\"/tmp\":\"rw,size=1m\"},\"Memory\":67108864,"
    "\"MemorySwap\":67108864,\"PidsLimit\":34,\"MaskedPaths\":[\"/sys/class\"],"
    "\"ReadonlyPaths\":[\"/proc/sys\"],"
    "\"Ulimits\":[{\"Name\":\"nofile\",\"Soft\":128,\"Hard\":128}]}}";

/* As Docker 20.10 answers it, shortened by nothing that is not empty. */
static const char recorded[] =
    "{\"Id\":\"24eaa148a959cec45c52e79312fc92143514be40d4e7631821badfe2f8ce9ec7\","
    "\"Image\":\"" IMAGE "\",\"Path\":\"/.nacre-init\",\"Args\":[],"
    "\"HostConfig\":{\"Binds\":null,\"ContainerIDFile\":\"\",\"LogConfig\":"
    "{\"Type\":\"none\",\"Config\":{}},\"NetworkMode\":\"none\",\"PortBindings\":null,"
    "\"RestartPolicy\":{\"Name\":\"no\",\"MaximumRetryCount\":0},\"AutoRemove\":true,"
    "\"VolumesFrom\":null,\"CapAdd\":[\"CAP_KILL\"],\"CapDrop\":[\"ALL\"],"
    "\"CgroupnsMode\":\"\",\"GroupAdd\":null,\"IpcMode\":\"private\",\"Cgroup\":\"\","
    "\"Links\":null,\"OomScoreAdj\":0,\"PidMode\":\"\",\"Privileged\":false,"
    "\"PublishAllPorts\":false,\"ReadonlyRootfs\":true,"
    "\"SecurityOpt\":[\"no-new-privileges\",\"seccomp={}\"],"
    "\"Tmpfs\":{\"/tmp\":\"rw,size=1m\"},\"UTSMode\":\"\",\"UsernsMode\":\"\","
    "\"ShmSize\":67108864,\"Runtime\":\"runc\",\"ConsoleSize\":[0,0],\"Isolation\":\"\","
    "\"CpuShares\":0,\"Memory\":67108864,\"NanoCpus\":0,\"CgroupParent\":\"\","
    "\"BlkioWeight\":0,\"BlkioWeightDevice\":null,\"Devices\":null,"
    "\"DeviceRequests\":null,\"MemoryReservation\":0,\"MemorySwap\":67108864,"
    "\"MemorySwappiness\":null,\"OomKillDisable\":false,\"PidsLimit\":34,"
    "\"Ulimits\":[{\"Name\":\"nofile\",\"Hard\":128,\"Soft\":128}],"
    "\"Mounts\":[{\"Type\":\"bind\",\"Source\":\"/srv\",\"Target\":\"/workspace\","
    "\"BindOptions\":{\"Propagation\":\"rprivate\",\"NonRecursive\":true}}],"
    "\"MaskedPaths\":[\"/sys/class\"],\"ReadonlyPaths\":[\"/proc/sys\"],\"Init\":false},"
    "\"Mounts\":[{\"Type\":\"bind\",\"Source\":\"/srv\",\"Destination\":\"/workspace\","
    "\"Mode\":\"\",\"RW\":true,\"Propagation\":\"rprivate\"}],"
    "\"Config\":{\"Hostname\":\"nacre\",\"User\":\"1000:1000\",\"AttachStdin\":true,"
    "\"AttachStdout\":true,\"AttachStderr\":true,\"Tty\":false,\"OpenStdin\":true,"
    "\"StdinOnce\":true,\"Env\":[\"A=b\"],\"Cmd\":[],"
    "\"Healthcheck\":{\"Test\":[\"NONE\"]},\"Image\":\"" IMAGE "\",\"Volumes\":null,"
    "\"WorkingDir\":\"/\",\"Entrypoint\":[\"/.nacre-init\"],\"NetworkDisabled\":true,"
    "\"Labels\":{\"nacre.owner\":\"0\",\"of\":\"the image\"}}}";

static json_t *load(const char *text)
{
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);

    assert_non_null(value);
    return value;
}

/* Sets "HostConfig.Memory" in `inspect`; NULL removes it. */
static void change(json_t *inspect, const char *path, const char *value)
{
    const char *dot = strchr(path, '.');
    char part[32];

    if (!dot) {
        if (value)
            assert_int_equal(json_object_set_new(inspect, path, load(value)), 0);
        else
            (void)json_object_del(inspect, path);
        return;
    }
    (void)snprintf(part, sizeof(part), "%.*s", (int)(dot - path), path);
    change(json_object_get(inspect, part), dot + 1, value);
}

static enum nacre_status read_back(const char *path, const char *value,
                                   struct nacre_error *err)
{
    NACRE_AUTO(dk_json_guard) json_t *body = load(asked);
    NACRE_AUTO(dk_json_guard) json_t *inspect = load(recorded);

    if (path)
        change(inspect, path, value);
    return dk_readback(body, inspect, err);
}

static void what_was_asked_for_passes(void **state)
{
    struct nacre_error err = { .text = "" };

    (void)state;
    if (read_back(NULL, NULL, &err) != NACRE_OK)
        fail_msg("%s", err.text);
}

/* An engine's own additions that change nothing. */
static void what_an_engine_fills_in_passes(void **state)
{
    static const char *const rows[][2] = {
        { "HostConfig.Runtime", "\"crun\"" },
        { "HostConfig.Isolation", "\"default\"" },
        { "HostConfig.CapAdd", "[\"KILL\"]" },
        { "HostConfig.Binds", "[]" },
        { "HostConfig.NewField", "null" },
        { "HostConfig.NewField", "0" },
        { "Config.Env", "null" },
        { "Config.Labels", "{\"nacre.owner\":\"0\",\"other\":\"label\"}" },
    };
    struct nacre_error err;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++)
        if (read_back(rows[i][0], rows[i][1], &err) != NACRE_OK)
            fail_msg("%s: %s", rows[i][0], err.text);
}

static const struct {
    const char *path, *value;
} changed[] = {
    { "Image", "\"sha256:1111\"" },
    { "Image", NULL },
    { "Config", NULL },
    { "Config.User", "\"\"" },
    { "Config.User", "\"0:0\"" },
    { "Config.WorkingDir", "\"/proc/self/fd/7\"" },
    { "Config.Entrypoint", "[\"/bin/sh\"]" },
    { "Config.Entrypoint", "[\"/.nacre-init\",\"x\"]" },
    { "Config.Entrypoint", NULL },
    { "Config.Cmd", "[\"x\"]" },
    { "Config.Hostname", "\"host\"" },
    { "Config.OpenStdin", "false" },
    { "Config.StdinOnce", "false" },
    { "Config.AttachStdin", NULL },
    { "Config.AttachStdout", "false" },
    { "Config.AttachStderr", "false" },
    { "Config.Tty", "true" },
    { "Config.NetworkDisabled", "false" },
    { "Config.Healthcheck", "{\"Test\":[\"CMD\",\"sh\"]}" },
    { "Config.Labels", "{}" },
    { "Config.Labels", "{\"nacre.owner\":\"1\"}" },
    { "HostConfig", NULL },
    { "HostConfig", "[]" },
    { "HostConfig.ReadonlyRootfs", "false" },
    { "HostConfig.ReadonlyRootfs", NULL },
    { "HostConfig.CapDrop", "null" },
    { "HostConfig.CapDrop", "[\"NET_RAW\"]" },
    { "HostConfig.CapAdd", "[\"KILL\",\"SYS_ADMIN\"]" },
    { "HostConfig.CapAdd", "[\"SYS_ADMIN\"]" },
    { "HostConfig.CapAdd", "[]" },
    { "HostConfig.NetworkMode", "\"host\"" },
    { "HostConfig.NetworkMode", "\"default\"" },
    { "HostConfig.LogConfig", "{\"Type\":\"json-file\",\"Config\":{}}" },
    { "HostConfig.AutoRemove", "false" },
    { "HostConfig.Init", "true" },
    { "HostConfig.IpcMode", "\"host\"" },
    { "HostConfig.PidMode", "\"host\"" },
    { "HostConfig.UsernsMode", "\"host\"" },
    { "HostConfig.UTSMode", "\"host\"" },
    { "HostConfig.Privileged", "true" },
    { "HostConfig.ShmSize", "1" },
    { "HostConfig.RestartPolicy", "{\"Name\":\"always\"}" },
    { "HostConfig.OomKillDisable", "true" },
    { "HostConfig.OomScoreAdj", "-1000" },
    { "HostConfig.SecurityOpt", "[\"no-new-privileges\"]" },
    { "HostConfig.SecurityOpt", "[\"no-new-privileges\",\"seccomp=unconfined\"]" },
    { "HostConfig.SecurityOpt", "null" },
    { "HostConfig.Mounts", "[]" },
    { "HostConfig.Tmpfs", "{}" },
    { "HostConfig.Tmpfs", "{\"/tmp\":\"rw\"}" },
    { "HostConfig.Tmpfs", "{\"/tmp\":\"rw,size=1m\",\"/x\":\"rw\"}" },
    { "HostConfig.Memory", "0" },
    { "HostConfig.Memory", "\"67108864\"" },
    { "HostConfig.Memory", NULL },
    { "HostConfig.MemorySwap", "134217728" },
    { "HostConfig.MemorySwap", "-1" },
    { "HostConfig.PidsLimit", "null" },
    { "HostConfig.PidsLimit", "0" },
    { "HostConfig.MaskedPaths", "[]" },
    { "HostConfig.ReadonlyPaths", "[]" },
    { "HostConfig.ReadonlyPaths", "[\"/proc/bus\"]" },
    { "HostConfig.ReadonlyPaths", NULL },
    { "HostConfig.Ulimits", "[{\"Name\":\"nofile\",\"Hard\":1024,\"Soft\":128}]" },
    { "HostConfig.Ulimits", "null" },
    { "HostConfig.Devices", "[{\"PathOnHost\":\"/dev/kvm\"}]" },
    { "HostConfig.DeviceRequests", "[{\"Count\":-1}]" },
    { "HostConfig.Binds", "[\"/:/host\"]" },
    { "HostConfig.GroupAdd", "[\"0\"]" },
    { "HostConfig.VolumesFrom", "[\"x\"]" },
    { "HostConfig.CgroupParent", "\"/\"" },
    { "HostConfig.NewField", "true" },
    { "HostConfig.NewField", "{\"a\":1}" },
    { "Mounts", "[]" },
    { "Mounts", "null" },
    { "Mounts", "{}" },
    { "Mounts", "[{\"Type\":\"bind\",\"Source\":\"/srv\",\"Destination\":\"/workspace\","
                "\"RW\":true},{\"Type\":\"volume\",\"Source\":\"/v\","
                "\"Destination\":\"/data\",\"RW\":true}]" },
    { "Mounts", "[{\"Type\":\"bind\",\"Source\":\"/etc\",\"Destination\":\"/workspace\","
                "\"RW\":true}]" },
    { "Mounts", "[{\"Type\":\"bind\",\"Source\":\"/srv\",\"Destination\":\"/elsewhere\","
                "\"RW\":true}]" },
    { "Mounts", "[{\"Type\":\"bind\",\"Source\":\"/srv\",\"Destination\":\"/workspace\","
                "\"RW\":false}]" },
    { "Mounts", "[{\"Type\":\"volume\",\"Source\":\"/srv\","
                "\"Destination\":\"/workspace\",\"RW\":true}]" },
};

static void each_field_that_differs_is_refused_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(changed); i++) {
        const char *dot = strrchr(changed[i].path, '.');
        const char *field = dot ? dot + 1 : changed[i].path;
        struct nacre_error err = { .text = "" };

        if (read_back(changed[i].path, changed[i].value, &err) != NACRE_ERR_UNAVAILABLE)
            fail_msg("%s = %s passes", changed[i].path, changed[i].value);
        /* Without Config there is no field to name but its first. */
        if (!strstr(err.text, field) && strcmp(field, "Config") != 0)
            fail_msg("%s: %s", changed[i].path, err.text);
    }
}

/* Where it lies is the engine's affair. */
static void a_volume_is_known_by_its_name(void **state)
{
    static const struct {
        const char *mounts;
        bool passes;
    } cases[] = {
#define VOLUME(name, rw)                                                                 \
    "[{\"Type\":\"volume\",\"Name\":\"" name "\",\"Source\":\"/engines/_data\","          \
    "\"Destination\":\"/.nacre-init\",\"Mode\":\"z\",\"RW\":" rw "}]"
        { VOLUME("ours", "false"), true },
        { VOLUME("another", "false"), false },
        { VOLUME("ours", "true"), false },
        { "[{\"Type\":\"bind\",\"Name\":\"ours\",\"Source\":\"ours\","
          "\"Destination\":\"/.nacre-init\",\"RW\":false}]", false },
#undef VOLUME
    };
    static const char one[] =
        "[{\"Type\":\"volume\",\"Source\":\"ours\",\"Target\":\"/.nacre-init\","
        "\"ReadOnly\":true,\"VolumeOptions\":{\"NoCopy\":true}}]";

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(cases); i++) {
        NACRE_AUTO(dk_json_guard) json_t *body = load(asked);
        NACRE_AUTO(dk_json_guard) json_t *inspect = load(recorded);
        struct nacre_error err;

        change(body, "HostConfig.Mounts", one);
        change(inspect, "HostConfig.Mounts", one);
        change(inspect, "Mounts", cases[i].mounts);
        assert_int_equal(dk_readback(body, inspect, &err) == NACRE_OK, cases[i].passes);
    }
}

static void an_engines_words_are_escaped_and_cut(void **state)
{
    char value[2100] = "\"\\u001b[31m";
    struct nacre_error err;

    (void)state;
    memset(value + strlen(value), 'x', 2000);
    strcat(value, "\"");
    assert_int_equal(read_back("Config.User", value, &err), NACRE_ERR_UNAVAILABLE);
    assert_null(strchr(err.text, '\033'));
    assert_non_null(strstr(err.text, "..."));
}

static void short_of_memory_nothing_passes_that_would_not(void **state)
{
    NACRE_AUTO(dk_json_guard) json_t *body = load(asked);
    NACRE_AUTO(dk_json_guard) json_t *inspect = load(recorded);
    struct nacre_error err;

    (void)state;
    change(inspect, "HostConfig.Privileged", "true");
    for (int after = 0; after < 40; after++) {
        enum nacre_status status;

        fail_alloc_after(after);
        status = dk_readback(body, inspect, &err);
        fail_alloc_after(-1);
        assert_int_not_equal(status, NACRE_OK);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_asked_for_passes),
        cmocka_unit_test(what_an_engine_fills_in_passes),
        cmocka_unit_test(each_field_that_differs_is_refused_by_name),
        cmocka_unit_test(a_volume_is_known_by_its_name),
        cmocka_unit_test(an_engines_words_are_escaped_and_cut),
        cmocka_unit_test(short_of_memory_nothing_passes_that_would_not),
    };

    return cmocka_run_group_tests_name("dk_readback", tests, NULL, NULL);
}
