#include <linux/landlock.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "report.h"
#include "verbs.h"

static int run(const struct cli_args *args)
{
    long landlock = syscall(SYS_landlock_create_ruleset, NULL, 0,
                            LANDLOCK_CREATE_RULESET_VERSION);
    int abi = landlock < 0 ? 0 : (int)landlock;

    if (args->json)
        return cli_json_print(json_pack("{s:s, s:s, s:i}", "nacre", NACRE_VERSION,
                                        "wasmtime", NACRE_WASMTIME_VERSION,
                                        "landlock_abi", abi))
                   ? 0
                   : nacre_status_exit(NACRE_ERR_MEMORY);
    (void)printf("nacre %s\nwasmtime %s\nlandlock ABI %d%s\n", NACRE_VERSION,
                 NACRE_WASMTIME_VERSION, abi, abi ? "" : " (this kernel has none)");
    return 0;
}

const struct cli_verb cli_verb_version = {
    .name = "version",
    .summary = "show the versions of nacre, its engine and the kernel's Landlock",
    .operands = "",
    .about = "",
    .example = "  nacre version --json",
    .run = run,
};
