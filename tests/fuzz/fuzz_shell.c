/* Any text at all: an answer with its line and its change, the same each time. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/shell.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char yaml[] = "claw: \"0.3.0\"\nkind: Sandbox\nmetadata:\n  name: fuzz\n"
                           "spec:\n  level: process\n  capabilities:\n    shell:\n"
                           "      mode: restricted\n      blocked_commands:\n"
                           "        - rm -rf /\n        - curl * | bash\n"
                           "        - '> /dev/sda'\n        - ':(){ :|:& };:'\n"
                           "      blocked_patterns:\n        - 'eval\\s+'\n";

static const struct nacre_policy *policy_once(void)
{
    static struct nacre_policy *policy;
    struct nacre_error err;

    if (!policy && nacre_policy_parse("fuzz.yaml", yaml, sizeof(yaml) - 1, &policy,
                                      &err) != NACRE_OK)
        abort();
    return policy;
}

/* What a shell would need no quotes for is found however it is read. */
static void check_answer(const char *text, const struct nacre_answer *answer)
{
    assert(answer->rule[0] && answer->text[0] && answer->fix[0]);
    assert(answer->place.line >= 9);
    if (strcmp(text, "rm -rf /") == 0)
        assert(!answer->allowed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nacre_error err = { .status = NACRE_OK };
    struct nacre_answer first = { 0 }, second = { 0 };
    char *text = malloc(size + sizeof("\nrm -rf /"));
    const char *const argv[] = { "sh", "-c", text, NULL };
    struct nacre_command command = { .shell_text = text };

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (nacre_shell_judge(policy_once(), &command, &first, &err) == NACRE_OK) {
        check_answer(text, &first);
        assert(nacre_shell_judge(policy_once(), &command, &second, &err) == NACRE_OK);
        assert(memcmp(&first, &second, sizeof(first)) == 0);

        /* Given to a shell, or with a blocked command behind it, it is no better off. */
        command = (struct nacre_command){ .argv = argv };
        assert(nacre_shell_judge(policy_once(), &command, &second, &err) == NACRE_OK);
        assert(first.allowed || !second.allowed || strlen(text) < size);
        if (first.allowed && strlen(text) + 9 < 32768) {
            memcpy(text + strlen(text), "\nrm -rf /", sizeof("\nrm -rf /"));
            command = (struct nacre_command){ .shell_text = text };
            assert(nacre_shell_judge(policy_once(), &command, &second, &err) == NACRE_OK);
            assert(!second.allowed);
        }
    } else {
        assert(err.status == NACRE_ERR_USAGE);
    }
    free(text);
    return 0;
}
