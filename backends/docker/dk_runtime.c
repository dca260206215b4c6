/*
 * Reads what an engine says about its runtimes, and what init says about the kernel it
 * found itself on.  Neither is believed for its name: an administrator's "runsc" may be
 * an alias of runc, and then the wall that the policy asks for is not there.
 */
#include "dk_runtime.h"

#include <stdio.h>
#include <string.h>

#include "nacre/text.h"

const char *dk_runtime_says(const json_t *runtime, const char *key)
{
    const char *text = json_string_value(json_object_get(runtime, key));

    return text ? text : "";
}

const char *dk_runtime_program(const json_t *runtime)
{
    const char *path = dk_runtime_says(runtime, "path");
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

const char *dk_runtime_best(const json_t *info,
                            int (*likeness)(const char *name, const json_t *runtime))
{
    json_t *runtimes = json_object_get(info, "Runtimes"), *runtime;
    const char *found = NULL, *name;
    int most = 0;

    json_object_foreach(runtimes, name, runtime) {
        int like = likeness(name, runtime);

        /* Of two that are as good always the same one, in whatever order they come. */
        if (like > most || (like == most && found && strcmp(name, found) < 0)) {
            found = name;
            most = like;
        }
    }
    return found;
}

const char *dk_runtime_text(const json_t *info, const char *name,
                            char ret_text[DK_RUNTIME_TEXT])
{
    const json_t *said = json_object_get(json_object_get(info, "Runtimes"), name);
    const json_t *arguments = json_object_get(said, "runtimeArgs");
    const char *path = dk_runtime_says(said, "path");
    char whole[512];
    size_t used = (size_t)snprintf(whole, sizeof(whole), "%.200s",
                                   path[0] ? path : dk_runtime_says(said, "runtimeType"));

    for (size_t i = 0; i < json_array_size(arguments) && used < sizeof(whole); i++) {
        const char *text = json_string_value(json_array_get(arguments, i));

        used += (size_t)snprintf(whole + used, sizeof(whole) - used, " %s",
                                 text ? text : "?");
    }
    return nacre_text_show(ret_text, DK_RUNTIME_TEXT, whole, strlen(whole));
}

bool dk_runtime_answers(const struct nt_box *box, const char *question)
{
    size_t count;
    const char *answer = nt_box_answer(box, question, &count);

    return answer && answer[0] && strncmp(answer, "error ", 6) != 0;
}

enum nacre_status dk_runtime_has_kernel(const struct dk_site *site,
                                        const struct nt_box *box, const char *name,
                                        const char *claimed, struct nacre_error *err)
{
    size_t count, id_length = strlen(site->boot_id);
    char shown[NACRE_SHOWN];

    if (dk_runtime_answers(box, DK_BOOT_ID) && id_length > 0 &&
        strncmp(nt_box_answer(box, DK_BOOT_ID, &count), site->boot_id, id_length) == 0)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "the engine's runtime '%s' is not %s: the kernel inside is "
                          "this machine's own (is the name an alias of runc?)",
                          nacre_text_shown(shown, name), claimed);
    return NACRE_OK;
}
