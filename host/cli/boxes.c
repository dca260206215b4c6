#include "boxes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "nacre/own.h"
#include "nacre/text.h"
#include "report.h"
#include "term.h"
#include "verbs.h"

enum nacre_status cli_boxes_engine(struct nacre_engine **ret_engine,
                                   struct nacre_error *err)
{
    const struct nacre_engine_options quiet = { .audit_off = true,
                                                .commands_only = true };
    static struct cli_term term;

    return cli_engine_open(quiet, &term, ret_engine, err);
}

enum nacre_status cli_boxes_end(struct nacre_engine *engine,
                                const struct nacre_keeper_choice *choice, uint32_t *ended,
                                uint32_t *left, struct nacre_error *err)
{
    uint32_t now_ended = 0, now_left = 0;
    enum nacre_status status = nacre_keeper_end(nacre_engine_state_dir(engine), choice,
                                                &now_ended, &now_left, err);

    *ended += now_ended;
    *left += now_left;
    return status == NACRE_ERR_NOT_FOUND ? NACRE_OK : status;
}

/* ---- those of other processes ---- */

static enum nacre_status refuse_anothers(const char *which, int32_t pid,
                                         struct nacre_error *err)
{
    char shown[NACRE_SHOWN], path[64], name[32] = "", program[NACRE_SHOWN];
    FILE *file;

    (void)nacre_text_shown(shown, which);
    if (pid <= 1)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "'%s' belongs to another process of yours: end it there",
                          shown);
    (void)snprintf(path, sizeof(path), "/proc/%" PRId32 "/comm", pid);
    file = fopen(path, "re");
    if (file && !fgets(name, sizeof(name), file))
        name[0] = '\0';
    if (file)
        (void)fclose(file);
    name[strcspn(name, "\n")] = '\0';
    return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                      "'%s' belongs to process %" PRId32 " (%s): end it there", shown,
                      pid, name[0] ? nacre_text_shown(program, name) : "gone");
}

enum nacre_status cli_boxes_ender(void *data, const char *which, const char *scope_key,
                                  bool force, uint32_t *ret_ended, uint32_t *ret_left,
                                  struct nacre_error *err)
{
    const struct nacre_keeper_choice choice = { .which = which, .scope_key = scope_key,
                                                .force = force };

    enum nacre_status status;
    int32_t pid;

    *ret_ended = *ret_left = 0;
    status = cli_boxes_end(data, &choice, ret_ended, ret_left, err);
    /* Its workspace must not go from under it. */
    if (status == NACRE_OK && *ret_ended == 0 && *ret_left == 0)
        *ret_left = nacre_engine_box_is_anothers(data, which, &pid);
    return status;
}

static enum nacre_status end_one(struct nacre_engine *engine, const char *which,
                                 bool force, uint32_t *ended, struct nacre_error *err)
{
    const struct nacre_keeper_choice choice = { .which = which, .force = force };
    int32_t pid;
    uint32_t now = 0, left = 0;
    enum nacre_status status = cli_boxes_end(engine, &choice, &now, &left, err);
    char shown[NACRE_SHOWN];

    *ended += now;
    (void)nacre_text_shown(shown, which);
    if (status == NACRE_OK && left > 0)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "a command runs in '%s': wait for it, or use nacre stop",
                          shown);
    if (status == NACRE_OK && now == 0 &&
        nacre_engine_box_is_anothers(engine, which, &pid))
        return refuse_anothers(which, pid, err);
    if (status == NACRE_OK && now == 0)
        return nacre_fail(err, NACRE_ERR_NOT_FOUND,
                          "no sandbox '%s' is warm: see nacre ps", shown);
    return status;
}

int cli_boxes_end_named(const struct cli_args *args, bool all, bool force)
{
    NACRE_AUTO(nacre_engine_guard) struct nacre_engine *engine = NULL;
    const struct nacre_keeper_choice whole = { .force = force };
    uint32_t ended = 0, left = 0;
    struct nacre_error err;
    enum nacre_status status;

    if (all != (args->operand_count == 0)) {
        (void)nacre_fail(&err, NACRE_ERR_USAGE,
                         "%s expects WHICH... or --all; see nacre %s --help",
                         args->verb->name, args->verb->name);
        return cli_fail(args, &err);
    }
    status = cli_boxes_engine(&engine, &err);
    if (status == NACRE_OK && all)
        status = cli_boxes_end(engine, &whole, &ended, &left, &err);
    for (size_t i = 0; i < args->operand_count && status == NACRE_OK; i++)
        status = end_one(engine, args->operands[i], force, &ended, &err);
    return status == NACRE_OK ? cli_boxes_tell(args, ended, left) : cli_fail(args, &err);
}

int cli_boxes_tell(const struct cli_args *args, uint32_t ended, uint32_t left)
{
    if (args->json)
        return cli_json_print(json_pack("{s:I, s:I}", "ended", (json_int_t)ended,
                                        "in_use", (json_int_t)left))
                   ? 0
                   : nacre_status_exit(NACRE_ERR_MEMORY);
    (void)printf("ended %" PRIu32 " sandbox%s", ended, ended == 1 ? "" : "es");
    if (left > 0)
        (void)printf("; left %" PRIu32 " in which a command runs", left);
    (void)putchar('\n');
    return 0;
}
