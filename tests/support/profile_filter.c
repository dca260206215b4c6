#include "profile_filter.h"

#include <errno.h>
#include <jansson.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int complain(const char *what)
{
    (void)fprintf(stderr, "profile: %s\n", what);
    return -1;
}

/* -1: not one of the two that are known here. */
static int64_t action_of(const char *name, int number)
{
    if (strcmp(name, "SCMP_ACT_ALLOW") == 0)
        return SCMP_ACT_ALLOW;
    return strcmp(name, "SCMP_ACT_ERRNO") == 0 ? (int64_t)SCMP_ACT_ERRNO((uint32_t)number)
                                               : -1;
}

static int read_args(json_t *list, struct scmp_arg_cmp args[6])
{
    size_t at;
    json_t *item;

    json_array_foreach(list, at, item) {
        json_int_t index, value, second;
        const char *op;

        if (at >= 6 || json_unpack_ex(item, NULL, JSON_STRICT, "{s:I,s:I,s:I,s:s}",
                                      "index", &index, "value", &value, "valueTwo",
                                      &second, "op", &op) < 0 ||
            strcmp(op, "SCMP_CMP_MASKED_EQ") != 0)
            return complain("an argument that is not understood");
        for (size_t k = 0; k < at; k++) {
            if (args[k].arg == (unsigned)index)
                return complain("two conditions on one argument: runc takes them for or");
        }
        args[at] = (struct scmp_arg_cmp){ (unsigned)index, SCMP_CMP_MASKED_EQ,
                                          (scmp_datum_t)value, (scmp_datum_t)second };
    }
    return (int)json_array_size(list);
}

static int add_rule(scmp_filter_ctx filter, json_t *rule)
{
    struct scmp_arg_cmp args[6];
    json_t *names, *list = NULL, *name;
    const char *action;
    int number = EPERM, count;
    int64_t value;
    size_t at;

    if (json_unpack_ex(rule, NULL, JSON_STRICT, "{s:o,s:s,s?i,s?o}", "names", &names,
                       "action", &action, "errnoRet", &number, "args", &list) < 0)
        return complain("a rule that is not understood");
    value = action_of(action, number);
    count = read_args(list, args);
    if (value < 0 || count < 0)
        return -1;
    json_array_foreach(names, at, name) {
        int call = seccomp_syscall_resolve_name(json_string_value(name));

        if (call < 0 || seccomp_rule_add_array(filter, (uint32_t)value, call,
                                               (unsigned)count, args) < 0)
            return complain(json_string_value(name));
    }
    return 0;
}

static size_t export(scmp_filter_ctx filter, struct sock_filter *ret_code, size_t max)
{
    int fd = memfd_create("profile", MFD_CLOEXEC);
    ssize_t bytes = -1;

    if (fd >= 0 && seccomp_export_bpf(filter, fd) == 0)
        bytes = pread(fd, ret_code, max * sizeof(*ret_code), 0);
    (void)close(fd);
    return bytes < 0 ? 0 : (size_t)bytes / sizeof(*ret_code);
}

size_t profile_filter(const char *json, struct sock_filter *ret_code, size_t count_max)
{
    json_t *top = json_loads(json, JSON_REJECT_DUPLICATES, NULL);
    json_t *machines, *rules, *rule;
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    const char *standard, *machine;
    size_t at, count = 0;
    int bad;

    bad = json_unpack_ex(top, NULL, JSON_STRICT, "{s:s,s:o,s:o}", "defaultAction",
                         &standard, "architectures", &machines, "syscalls", &rules) < 0 ||
          strcmp(standard, "SCMP_ACT_ERRNO") != 0 || json_array_size(machines) != 1;
    machine = bad ? NULL : json_string_value(json_array_get(machines, 0));
    bad = bad || !machine || strncmp(machine, "SCMP_ARCH_", 10) != 0;
    if (bad)
        (void)complain("expected a list of what is allowed, for one architecture");
    json_array_foreach(bad ? NULL : rules, at, rule)
        bad = bad || add_rule(filter, rule) < 0;
    if (!bad)
        count = export(filter, ret_code, count_max);
    seccomp_release(filter);
    json_decref(top);
    return count;
}
