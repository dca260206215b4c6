/*
 * Any bytes as a configuration, and its last line as the session's key: what is read is
 * settled and planned, or refused with a reason; a key never makes a name that an engine
 * or a directory could take for something else.
 */
#include <assert.h>
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct nacre_session *session)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_.-";
    json_t *told = nacre_session_json(session, "bash");
    struct nacre_answer exec, bash;
    struct nacre_error err;

    assert(told);
    json_decref(told);
    assert(session->slug[strspn(session->slug, letters)] == '\0');
    assert(session->slug[0] && strcmp(session->slug, "..") != 0);
    assert(session->box_workspace[0] == '/' && !strstr(session->box_workspace, "/../"));
    assert(session->sandboxed == (session->shell->level == NACRE_LEVEL_CONTAINER));
    assert(session->files->level == NACRE_LEVEL_WASM);
    assert(session->host->level == NACRE_LEVEL_NONE);
    assert(session->elevated.gate_count <= NACRE_GATES_MAX);
    assert(nacre_session_tool(session, "exec", &exec, &err) == NACRE_OK);
    assert(nacre_session_tool(session, "bash", &bash, &err) == NACRE_OK);
    assert(exec.allowed == bash.allowed && strcmp(exec.text, bash.text) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    struct nacre_config *config = NULL;
    struct nacre_error err = { .status = NACRE_OK };
    const char *line;

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    line = strrchr(text, '\n');
    if (nacre_config_parse("fuzzed.json", text, size, &config, &err) == NACRE_OK) {
        const char *keys[] = { NULL, "x", line ? line + 1 : "" };

        for (size_t i = 0; i < NACRE_COUNT(keys); i++) {
            struct nacre_session_ask ask = { .session = keys[i], .sender = "discord:7",
                                             .home = "/home/u" };
            struct nacre_session *session = NULL;

            if (nacre_session_settle(config, &ask, &session, &err) == NACRE_OK)
                check(session);
            else
                assert(err.text[0] && !session);
            nacre_session_free(session);
        }
    }
    nacre_config_free(config);
    free(text);
    return 0;
}
