/* Prints the filters as C: run once while nacre is being built. */
#include <stdio.h>
#include <stdlib.h>

#include "seccomp_rules.h"

static const struct {
    const char *name;
    enum nacre_seccomp_kind kind;
    uint32_t extras;
} filters[] = {
    /* A worker has loaded its module before the filter, so it maps no code. */
    { "worker_filter", NACRE_SECCOMP_WORKER, NACRE_SECCOMP_RECEIVE_FDS },
    { "compiler_filter", NACRE_SECCOMP_COMPILER, NACRE_SECCOMP_MAP_CODE },
};

int main(void)
{
    for (size_t i = 0; i < NACRE_COUNT(filters); i++) {
        NACRE_AUTO(nacre_seccomp_program_guard)
        struct nacre_seccomp_program *program = NULL;
        struct nacre_error err;

        if (nacre_seccomp_build(filters[i].kind, filters[i].extras, &program, &err) !=
            NACRE_OK) {
            (void)fprintf(stderr, "%s\n", err.text);
            return EXIT_FAILURE;
        }
        printf("static const struct nacre_seccomp_program %s = {\n    .count = %u,\n"
               "    .own_pid = %u,\n    .code = {\n",
               filters[i].name, (unsigned)program->count, (unsigned)program->own_pid);
        for (uint16_t k = 0; k < program->count; k++)
            printf("        { 0x%04x, %u, %u, 0x%08x },\n", program->code[k].code,
                   program->code[k].jt, program->code[k].jf, program->code[k].k);
        printf("    },\n};\n");
    }
    return EXIT_SUCCESS;
}
