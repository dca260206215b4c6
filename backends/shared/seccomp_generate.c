/*
 * seccomp_generate programs|profile|names: C, printed while nacre is being built.  Only
 * numbers and text are left at run time: libseccomp is no part of nacre.
 */
#include <inttypes.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "seccomp_rules.h"

static const struct {
    const char *name;
    enum nacre_seccomp_kind kind;
    uint32_t extras;
} filters[] = {
    /* A worker has loaded its module before the filter, so it maps no code. */
    { "nacre_worker_filter", NACRE_SECCOMP_WORKER, NACRE_SECCOMP_RECEIVE_FDS },
    { "nacre_compiler_filter", NACRE_SECCOMP_COMPILER, NACRE_SECCOMP_MAP_CODE },
    { "nacre_native_filter", NACRE_SECCOMP_NATIVE, 0 },
    { "nacre_browser_filter", NACRE_SECCOMP_BROWSER, 0 },
};

static enum nacre_status print_programs(struct nacre_error *err)
{
    for (size_t i = 0; i < NACRE_COUNT(filters); i++) {
        NACRE_AUTO(nacre_seccomp_program_guard)
        struct nacre_seccomp_program *program = NULL;
        enum nacre_status status =
            nacre_seccomp_build(filters[i].kind, filters[i].extras, &program, err);

        if (status != NACRE_OK)
            return status;
        printf("const struct nacre_seccomp_program %s = {\n    .count = %u,\n"
               "    .own_pid = %u,\n    .code = {\n",
               filters[i].name, (unsigned)program->count, (unsigned)program->own_pid);
        for (uint16_t k = 0; k < program->count; k++)
            printf("        { 0x%04x, %u, %u, 0x%08x },\n", program->code[k].code,
                   program->code[k].jt, program->code[k].jf, program->code[k].k);
        printf("    },\n};\n");
    }
    return NACRE_OK;
}

/* JSON within C: every quote is escaped. */
#define Q "\\\""
#define KEY(name) Q name Q ":"

/* One rule for all the calls without conditions, and one for each other row. */
struct profile {
    bool started, listing;
};

static enum nacre_status print_row(void *data, const struct nacre_seccomp_row *row,
                                   struct nacre_error *err)
{
    struct profile *profile = data;
    bool plain = row->refuse == 0 && row->arg_count == 0;

    (void)err;
    if (seccomp_syscall_resolve_name(row->name) < 0)
        return NACRE_OK; /* another machine's */
    if (plain && profile->listing) {
        printf("    \"," Q "%s" Q "\"\n", row->name);
        return NACRE_OK;
    }
    if (profile->listing)
        printf("    \"]," KEY("action") Q "SCMP_ACT_ALLOW" Q "}\"\n");
    printf("    \"%s{" KEY("names") "[" Q "%s" Q, profile->started ? "," : "", row->name);
    *profile = (struct profile){ .started = true, .listing = plain };
    if (plain) {
        printf("\"\n");
        return NACRE_OK;
    }
    printf("]," KEY("action"));
    if (row->refuse)
        printf(Q "SCMP_ACT_ERRNO" Q "," KEY("errnoRet") "%" PRIu32, row->refuse);
    else
        printf(Q "SCMP_ACT_ALLOW" Q);
    for (size_t i = 0; i < row->arg_count; i++)
        printf("%s{" KEY("index") "%" PRIu32 "," KEY("value") "%" PRIu64 ","
               KEY("valueTwo") "%" PRIu64 "," KEY("op") Q "SCMP_CMP_MASKED_EQ" Q "}",
               i == 0 ? "," KEY("args") "[" : ",", row->args[i].index, row->args[i].mask,
               row->args[i].value);
    printf("%s}\"\n", row->arg_count > 0 ? "]" : "");
    return NACRE_OK;
}

static enum nacre_status print_profile(const char *name, nacre_seccomp_rows *rows,
                                       struct nacre_error *err)
{
    static const struct {
        uint32_t token;
        const char *name;
    } architectures[] = {
        { SCMP_ARCH_X86_64, "SCMP_ARCH_X86_64" },
        { SCMP_ARCH_AARCH64, "SCMP_ARCH_AARCH64" },
        { SCMP_ARCH_RISCV64, "SCMP_ARCH_RISCV64" },
    };
    struct profile profile = { .started = false };
    enum nacre_status status;
    size_t at = 0;

    while (at < NACRE_COUNT(architectures) &&
           architectures[at].token != seccomp_arch_native())
        at++;
    if (at == NACRE_COUNT(architectures))
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "no profile for this machine; expected x86_64, aarch64 or "
                          "riscv64");
    printf("static const char %s[] =\n    \"{" KEY("defaultAction") Q
           "SCMP_ACT_ERRNO" Q "," KEY("architectures") "[" Q "%s" Q "]," KEY("syscalls")
           "[\"\n", name, architectures[at].name);
    status = rows(print_row, &profile, err);
    printf("    \"]}\";\n");
    return status;
}

static enum nacre_status print_profiles(struct nacre_error *err)
{
    enum nacre_status status =
        print_profile("native_profile", nacre_seccomp_native_rows, err);

    return status != NACRE_OK
               ? status
               : print_profile("browser_profile", nacre_seccomp_browser_rows, err);
}

#define NAMES_MAX 2048
#define NUMBERS_MAX 1000

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Those of other machines too: a list of names may be meant for several. */
static enum nacre_status print_names(struct nacre_error *err)
{
    static const uint32_t machines[] = { SCMP_ARCH_X86_64, SCMP_ARCH_X86,
                                         SCMP_ARCH_AARCH64, SCMP_ARCH_ARM,
                                         SCMP_ARCH_RISCV64, SCMP_ARCH_PPC64LE,
                                         SCMP_ARCH_S390X };
    static char *names[NAMES_MAX * NACRE_COUNT(machines)];
    size_t count = 0, native = 0;

    for (size_t i = 0; i < NACRE_COUNT(machines); i++) {
        for (int number = 0; number < NUMBERS_MAX; number++) {
            char *name = seccomp_syscall_resolve_num_arch(machines[i], number);

            if (name)
                names[count++] = name;
        }
    }
    if (count == 0)
        return nacre_fail(err, NACRE_ERR_BACKEND, "libseccomp knows no system call");
    qsort(names, count, sizeof(names[0]), compare_names);
    printf("static const struct call_name {\n    char name[32];\n    int number;\n"
           "} call_names[] = {\n");
    for (size_t i = 0; i < count; i++) {
        int number = seccomp_syscall_resolve_name(names[i]);

        if (i > 0 && strcmp(names[i - 1], names[i]) == 0)
            continue;
        native += number >= 0;
        printf("    { \"%s\", %d },\n", names[i], number >= 0 ? number : -1);
    }
    printf("};\n#define NATIVE_CALLS %zu\n#define NATIVE_ARCHITECTURE 0x%08" PRIx32 "\n",
           native, seccomp_arch_native());
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    return NACRE_OK;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        enum nacre_status (*print)(struct nacre_error *err);
    } parts[] = {
        { "programs", print_programs },
        { "profile", print_profiles },
        { "names", print_names },
    };

    for (size_t i = 0; argc == 2 && i < NACRE_COUNT(parts); i++) {
        struct nacre_error err;

        if (strcmp(argv[1], parts[i].name) != 0)
            continue;
        if (parts[i].print(&err) == NACRE_OK && fflush(stdout) == 0)
            return EXIT_SUCCESS;
        (void)fprintf(stderr, "%s\n", err.text);
        return EXIT_FAILURE;
    }
    (void)fprintf(stderr, "seccomp_generate programs|profile|names\n");
    return EXIT_FAILURE;
}
