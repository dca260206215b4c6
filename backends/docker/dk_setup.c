/* The command is the policy's; what it prints and fetches is anybody's, and runs as root:
 * the container around it is read back as every other is. */
#include "dk_setup.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dk_box.h"
#include "dk_last.h"
#include "nacre/tool.h"
#include "nt_door.h"

#define REPOSITORY "nacre-setup"
#define LABEL "nacre.setup"
#define SETUP_MS 900000
#define ENGINE_MS 60000
#define PROCESSES 4096 /* what a fetched script may start */

/* One that is under way: its container goes with it. */
struct setup {
    struct dk_site *site;
    struct dk_caller caller;
    const char *command;
    struct nacre_digest key;
    struct nacre_plan plan;          /* of its container; borrows all that it points to */
    struct nacre_egress_host *hosts; /* but these */
    struct dk_box *box;
    struct dk_last last;
    uint64_t start_ns, told_ns;
};

static void setup_end(struct setup *setup)
{
    dk_box_free(setup->box);
    free(setup->hosts);
}

/* The name of the result: of the same base, command and way out it is the same.  Whoever
 * answers a request has a say in it, and may be somebody whom another policy shuts out. */
static struct nacre_digest key_of(const struct setup *setup)
{
    const struct nacre_egress *egress = &setup->plan.egress;
    struct nacre_hasher hasher;

    nacre_hash_init(&hasher);
    nacre_hash_add_text(&hasher, "nacre setup 2");
    nacre_hash_add_text(&hasher, setup->plan.container.image);
    nacre_hash_add_text(&hasher, setup->command);
    if (nacre_egress_is_open(egress))
        nacre_plan_hash_egress(&hasher, egress);
    return nacre_hash_end(&hasher);
}

/* NACRE_ERR_NOT_FOUND: there is none yet, or something else has its name. */
static enum nacre_status find_made(const struct setup *setup,
                                   const struct dk_caller *caller,
                                   char image[DK_IMAGE_ID], struct nacre_error *err)
{
    NACRE_AUTO(dk_json_guard) json_t *found = NULL;
    char name[sizeof(REPOSITORY) + NACRE_HEX], key[NACRE_HEX];
    const char *label;
    enum nacre_status status;

    (void)snprintf(name, sizeof(name), REPOSITORY ":%.16s",
                   nacre_digest_hex(&setup->key, key));
    status = dk_image_inspect(setup->site->client, name,
                              dk_caller_within(caller, ENGINE_MS), &found, err);
    if (status != NACRE_OK)
        return status;
    label = json_string_value(json_object_get(
        json_object_get(json_object_get(found, "Config"), "Labels"), LABEL));
    if (!label || strcmp(label, key) != 0)
        return nacre_fail(err, NACRE_ERR_NOT_FOUND, "%s is another image", name);
    (void)snprintf(image, DK_IMAGE_ID, "%s",
                   json_string_value(json_object_get(found, "Id")));
    return NACRE_OK;
}

/* ---- its container ---- */

/* An engine's default, said by name so that it can be compared. */
static char *capabilities[] = {
    (char[]){ "AUDIT_WRITE" },      (char[]){ "CHOWN" },   (char[]){ "DAC_OVERRIDE" },
    (char[]){ "FOWNER" },           (char[]){ "FSETID" },  (char[]){ "KILL" },
    (char[]){ "MKNOD" },            (char[]){ "NET_RAW" }, (char[]){ "SETFCAP" },
    (char[]){ "NET_BIND_SERVICE" }, (char[]){ "SETGID" },  (char[]){ "SETPCAP" },
    (char[]){ "SETUID" },           (char[]){ "SYS_CHROOT" }, NULL,
};

/* The policy's rules, with the ways that hosts have without the caller's secrets and
 * --intercept: what is kept is for other callers too, and it trusts no CA of a run's. */
static bool settle_egress(struct setup *setup)
{
    struct nacre_egress *egress = &setup->plan.egress;

    egress->secrets = NULL;
    egress->secret_count = 0;
    setup->hosts = calloc(egress->allowed_count + 1u, sizeof(*setup->hosts));
    if (!setup->hosts)
        return false;
    for (uint32_t i = 0; i < egress->allowed_count; i++) {
        setup->hosts[i] = egress->allowed[i];
        setup->hosts[i].way = egress->way;
    }
    egress->allowed = setup->hosts;
    return true;
}

static bool settle_plan(struct setup *setup, const struct nacre_plan *plan, char *base)
{
    static char root[] = "0:0", profile[] = "docker-default", *none[] = { NULL };

    setup->plan = (struct nacre_plan){
        .level = NACRE_LEVEL_CONTAINER,
        .runtime = NACRE_RUNTIME_DOCKER,
        .shared_memory = true,
        .limits = { .processes_max = PROCESSES },
        .egress = plan->egress,
        .container = { .image = base, .user = root, .seccomp_profile = profile,
                       .tmpfs = none, .keep_capabilities = capabilities,
                       .blocked_syscalls = none, .environment = none, .ulimits = none },
        .digest = plan->digest, /* a door is known by it */
    };
    return settle_egress(setup);
}

static enum nacre_status open_box(struct setup *setup, struct nacre_error *err)
{
    const struct dk_box_order order = { .plan = &setup->plan, .setup = true,
                                        .caller = setup->caller };

    return dk_box_open(setup->site, &order, &setup->box, err);
}

/* ---- running it ---- */

static void hear(void *data, int stream, const char *bytes, size_t count)
{
    struct setup *setup = data;

    (void)stream;
    dk_last_add(&setup->last, bytes, count);
}

/* Nothing that it stands on can change; but somebody waits. */
static bool tell(void *data, char *reason, size_t size)
{
    struct setup *setup = data;
    const struct nacre_executor_options *options = setup->site->options;
    uint64_t now = nacre_clock_ns();

    (void)reason;
    (void)size;
    if (options->on_progress && now - setup->told_ns >= NACRE_NS_PER_S) {
        setup->told_ns = now;
        options->on_progress(options->on_progress_data, "running the setup command",
                             (now - setup->start_ns) / NACRE_NS_PER_MS);
    }
    return false;
}

static enum nacre_status judge(const struct setup *setup,
                               const struct nacre_result *result, struct nacre_error *err)
{
    char shown[DK_LAST_SHOWN];

    if (result->outcome == NACRE_OUTCOME_TIMED_OUT)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE, "it did not end within %d minutes",
                          SETUP_MS / 60000);
    if (result->outcome != NACRE_OUTCOME_EXITED)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE, "it was ended: %.100s",
                          result->reason);
    if (result->exit_status != 0)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "it ended with status %d, saying: %s", result->exit_status,
                          dk_last_shown(&setup->last, shown));
    return NACRE_OK;
}

/* With no secret of the caller's: neither its request nor its environment come near. */
static enum nacre_status run(struct setup *setup, struct nacre_error *err)
{
    static const _Atomic int never;
    const char *words[] = { "/bin/sh", "-c", setup->command, NULL };
    const char *environment[4 + NT_DOOR_VARIABLES + 1] = {
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LANG=C.UTF-8", "TERM=dumb", "HOME=/root",
    };
    const struct dk_caller *caller = &setup->caller;
    const struct nacre_tool tool = { .kind = NACRE_TOOL_SHELL, .digest = setup->key };
    const struct nacre_request request = {
        .input_fd = -1, .on_output = hear, .on_output_data = setup, .stream_only = true,
        .cancelled = caller->run_cancelled,
    };
    struct nt_command command = {
        .start = { .arguments = words, .environment = environment, .directory = "/",
                   .wall_ms_max = SETUP_MS },
        .output_bytes_max = UINT64_MAX,
        .request = &request,
        .cancelled = caller->cancelled ? caller->cancelled : &never,
        .disturbed = tell,
        .disturbed_data = setup,
    };
    NACRE_AUTO(nt_door_close) struct nt_door door = { 0 };
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;
    enum nacre_status status = nacre_result_new(&result, err);

    (void)nt_door_variables(&setup->plan, environment, 4);
    if (status == NACRE_OK)
        status = nt_door_open(setup->site->options->doors, &setup->plan, &tool, &request,
                              &door, err);
    if (status == NACRE_OK)
        status = nt_door_run(&door, dk_box_channel(setup->box), &command, result,
                             caller->result, err);
    return status == NACRE_OK ? judge(setup, result, err) : status;
}

/* ---- keeping what it left ---- */

/* Nothing of the container's own configuration: whose it was, and that init ran in it. */
static enum nacre_status keep(struct setup *setup, char image[DK_IMAGE_ID],
                              struct nacre_error *err)
{
    static const char *const labels[] = { DK_OWNER_LABEL, DK_TOKEN_LABEL, DK_SCOPE_LABEL,
                                          DK_IMAGE_LABEL, DK_CONFIG_LABEL,
                                          DK_CREATED_LABEL };
    NACRE_AUTO(dk_json_guard) json_t *config = NULL;
    char key[NACRE_HEX], tag[17];
    bool good;

    config = json_pack("{s:{s:s}, s:[], s:[s]}", "Labels", LABEL,
                       nacre_digest_hex(&setup->key, key), "Entrypoint", "Cmd",
                       "/bin/sh");
    good = config != NULL;
    for (size_t i = 0; i < NACRE_COUNT(labels) && good; i++)
        good = json_object_set_new(json_object_get(config, "Labels"), labels[i],
                                   json_string("")) == 0;
    if (!good)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a setup command's image");
    (void)snprintf(tag, sizeof(tag), "%.16s", key);
    return dk_commit(setup->site->client, dk_box_id(setup->box), REPOSITORY, tag, config,
                     dk_caller_within(&setup->caller, SETUP_MS), image, err);
}

enum nacre_status dk_setup_image(struct dk_site *site, const struct nacre_plan *plan,
                                 const struct dk_caller *caller, char image[DK_IMAGE_ID],
                                 struct nacre_error *err)
{
    NACRE_AUTO(setup_end)
    struct setup setup = { .site = site, .command = plan->container.setup_command };
    enum nacre_status status;

    assert(caller->result);
    if (!settle_plan(&setup, plan, image))
        return nacre_fail(err, NACRE_ERR_MEMORY, "a setup command's container");
    setup.key = key_of(&setup);
    status = find_made(&setup, caller, image, err);
    if (status != NACRE_ERR_NOT_FOUND)
        return status;
    setup.caller = dk_caller_pause(caller, &setup.start_ns);
    status = open_box(&setup, err);
    if (status == NACRE_OK)
        status = run(&setup, err);
    if (status == NACRE_OK)
        status = keep(&setup, image, err);
    dk_caller_resume(caller, setup.start_ns);
    return status == NACRE_OK ? status
                              : nacre_fail_context(err, "container.setup_command");
}
