/* `approve` and `deny`: the two answers of one verb. */
#include <stdio.h>

#include "boxes.h"
#include "nacre/approval.h"
#include "nacre/own.h"
#include "report.h"
#include "verbs.h"

static int answer(const struct cli_args *args, bool approve)
{
    NACRE_AUTO(nacre_engine_guard) struct nacre_engine *engine = NULL;
    struct nacre_error err;
    enum nacre_status status = cli_boxes_engine(&engine, &err);

    for (size_t i = 0; i < args->operand_count && status == NACRE_OK; i++)
        status = nacre_approval_answer(nacre_engine_state_dir(engine),
                                       nacre_engine_key_dir(engine), args->operands[i],
                                       approve, &err);
    if (status != NACRE_OK)
        return cli_fail(args, &err);
    if (args->json)
        return cli_json_print(json_pack("{s:b, s:I}", "approved", approve, "requests",
                                        (json_int_t)args->operand_count))
                   ? 0
                   : nacre_status_exit(NACRE_ERR_MEMORY);
    return 0;
}

static int run_approve(const struct cli_args *args)
{
    return answer(args, true);
}

static int run_deny(const struct cli_args *args)
{
    return answer(args, false);
}

const struct cli_verb cli_verb_approve = {
    .name = "approve",
    .summary = "let a call that waits for a person's word through, once",
    .operands = "ID...",
    .about = "The approval is for exactly the call that nacre approvals shows: its tool,\n"
             "arguments, directory and module. It is good once, until it expires. A\n"
             "command that nacre itself runs can't give it.",
    .example = "  nacre approvals\n  nacre approve 5f0c1d2e3a4b5c6d",
    .operands_min = 1,
    .operands_max = SIZE_MAX,
    .run = run_approve,
};

const struct cli_verb cli_verb_deny = {
    .name = "deny",
    .summary = "refuse a call that waits for a person's word",
    .operands = "ID...",
    .about = "The call ends denied at once. Without an answer it is denied, too, when its\n"
             "time is over.",
    .example = "  nacre deny 5f0c1d2e3a4b5c6d",
    .operands_min = 1,
    .operands_max = SIZE_MAX,
    .run = run_deny,
};
