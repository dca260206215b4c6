#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "boxes.h"
#include "nacre/approval.h"
#include "nacre/clock.h"
#include "nacre/own.h"
#include "nacre/text.h"
#include "report.h"
#include "verbs.h"

static const char *const words[] = { "list", "trust" };

static json_t *text_or_null(const char *text)
{
    return text ? cli_json_text(text) : json_null();
}

static bool add_json(void *data, const struct nacre_approval_info *info)
{
    return json_array_append_new(
               data,
               json_pack("{s:s, s:s, s:o, s:o, s:o, s:s, s:b, s:o, s:o, s:o, s:o, s:I, "
                         "s:I}",
                         "id", info->id, "state", info->state, "tool",
                         cli_json_text(info->tool), "arguments",
                         cli_json_text(info->arguments), "directory",
                         cli_json_text(info->directory), "digest", info->digest,
                         "unsandboxed", (int)info->unsandboxed, "reason",
                         cli_json_text(info->reason), "session",
                         text_or_null(info->session), "agent", text_or_null(info->agent),
                         "caller", text_or_null(info->caller), "asked_ms",
                         (json_int_t)info->asked_ms, "expires_ms",
                         (json_int_t)info->expires_ms)) == 0;
}

/* All of the arguments: what is cut can't be approved knowingly. */
static void print_shown(const char *label, const char *text)
{
    char piece[512];
    size_t length = strlen(text);

    (void)printf("  %-10s ", label);
    for (size_t at = 0; at < length;) {
        size_t count = length - at < 96 ? length - at : 96;

        /* Not within a character: its halves would show as bytes. */
        while (at + count < length && count > 1 &&
               ((unsigned char)text[at + count] & 0xc0) == 0x80)
            count--;
        (void)fputs(nacre_text_show(piece, sizeof(piece), text + at, count), stdout);
        at += count;
    }
    (void)putchar('\n');
}

static bool print_one(void *data, const struct nacre_approval_info *info)
{
    uint64_t now = nacre_clock_wall_ms();

    ++*(size_t *)data;
    (void)printf("%s  %s, ", info->id, info->state);
    if (info->expires_ms > now)
        (void)printf("for %" PRIu64 " s more\n", (info->expires_ms - now) / 1000);
    else
        (void)puts("too late");
    print_shown("tool", info->tool);
    print_shown("arguments", info->arguments);
    print_shown("directory", info->directory);
    print_shown("runs", info->unsandboxed ? "on the host, without a sandbox"
                                          : "in a sandbox");
    print_shown("because", info->reason);
    if (info->session)
        print_shown("session", info->session);
    if (info->agent)
        print_shown("agent", info->agent);
    return true;
}

static int trust(const struct cli_args *args, struct nacre_engine *engine)
{
    NACRE_AUTO(nacre_host_rules_guard) struct nacre_host_rules *rules = NULL;
    struct nacre_error err;
    enum nacre_status status =
        nacre_host_rules_load(nacre_engine_host_file(engine), &rules, &err);

    if (status == NACRE_OK && !rules->soul)
        status = nacre_fail(&err, NACRE_ERR_USAGE,
                            "host.yaml names no approvals.soul; it lies beside the "
                            "policies, in the configuration directory");
    if (status == NACRE_OK)
        status = nacre_soul_trust(rules->soul, nacre_engine_key_dir(engine), &err);
    if (status != NACRE_OK)
        return cli_fail(args, &err);
    if (args->json)
        return cli_json_print(json_pack("{s:o}", "trusted", cli_json_text(rules->soul)))
                   ? 0
                   : nacre_status_exit(NACRE_ERR_MEMORY);
    (void)printf("%s is trusted as it is now\n", rules->soul);
    return 0;
}

static int list(const struct cli_args *args, struct nacre_engine *engine)
{
    json_t *all = args->json ? json_array() : NULL;
    size_t count = 0;
    struct nacre_error err;
    enum nacre_status status =
        nacre_approvals_each(nacre_engine_state_dir(engine),
                             args->json ? add_json : print_one,
                             args->json ? (void *)all : (void *)&count, &err);

    if (status != NACRE_OK) {
        json_decref(all);
        return cli_fail(args, &err);
    }
    if (args->json)
        return cli_json_print(json_pack("{s:o}", "approvals", all))
                   ? 0
                   : nacre_status_exit(NACRE_ERR_MEMORY);
    if (count == 0)
        (void)puts("nothing waits for an answer");
    return 0;
}

static int run(const struct cli_args *args)
{
    NACRE_AUTO(nacre_engine_guard) struct nacre_engine *engine = NULL;
    struct nacre_error err;

    if (cli_boxes_engine(&engine, &err) != NACRE_OK)
        return cli_fail(args, &err);
    if (args->operand_count > 0 && strcmp(args->operands[0], "trust") == 0)
        return trust(args, engine);
    return list(args, engine);
}

const struct cli_verb cli_verb_approvals = {
    .name = "approvals",
    .summary = "what waits for a person's word",
    .operands = "[list|trust]",
    .about =
        "Tools that run unsandboxed without their file's word, tools whose manifest asks\n"
        "for it and those that host.yaml marks wait until nacre approve or nacre deny.\n"
        "trust records the SOUL.md that host.yaml names (approvals.soul) as it is now:\n"
        "what it approves counts until it is changed.",
    .example = "  nacre approvals\n  nacre approvals trust",
    .words = words,
    .word_count = NACRE_COUNT(words),
    .operands_max = 1,
    .run = run,
};
