#include "asked.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static char *keep(struct asked *asked, const char *text, size_t length)
{
    char *kept = asked->text + asked->used;

    assert(asked->used + length + 1 <= sizeof(asked->text));
    memcpy(kept, text, length);
    kept[length] = '\0';
    asked->used += length + 1;
    return kept;
}

static void add_mount(struct asked *asked, const char *words)
{
    const char *equals = strchr(words, '=');
    struct nacre_mount_request *mount = &asked->mounts[asked->request.mount_count++];
    size_t length = strlen(equals + 1);

    assert(asked->request.mount_count <= ASKED_MOUNTS_MAX);
    if (length > 3 && strcmp(equals + 1 + length - 3, ":ro") == 0)
        mount->mode = 'r';
    if (length > 3 && strcmp(equals + 1 + length - 3, ":rw") == 0)
        mount->mode = 'w';
    mount->guest = keep(asked, words, (size_t)(equals - words));
    mount->host = keep(asked, equals + 1, mount->mode ? length - 3 : length);
    asked->request.mounts = asked->mounts;
}

static void add_waiver(struct asked *asked, const char *name)
{
    size_t count = 0;

    while (asked->waive[count])
        count++;
    assert(count < ASKED_WAIVERS_MAX);
    asked->waive[count] = keep(asked, name, strlen(name));
    asked->request.waive = asked->waive;
}

static void add_name(struct asked *asked, const char **names, const char *const **list,
                     const char *name)
{
    size_t count = 0;

    while (names[count])
        count++;
    assert(count < ASKED_NAMES_MAX);
    names[count] = keep(asked, name, strlen(name));
    *list = names;
}

bool asked_add(struct asked *asked, const char *line)
{
    if (strncmp(line, "workspace ", 10) == 0)
        asked->request.workspace = keep(asked, line + 10, strlen(line + 10));
    else if (strncmp(line, "mount ", 6) == 0)
        add_mount(asked, line + 6);
    else if (strncmp(line, "timeout-ms ", 11) == 0)
        asked->request.timeout_ms = strtoull(line + 11, NULL, 10);
    else if (strncmp(line, "fuel ", 5) == 0)
        asked->request.fuel = strtoull(line + 5, NULL, 10);
    else if (strncmp(line, "session ", 8) == 0)
        asked->request.session = keep(asked, line + 8, strlen(line + 8));
    else if (strncmp(line, "image ", 6) == 0)
        asked->request.image = keep(asked, line + 6, strlen(line + 6));
    else if (strncmp(line, "waive ", 6) == 0)
        add_waiver(asked, line + 6);
    else if (strncmp(line, "secret ", 7) == 0)
        add_name(asked, asked->secrets, &asked->request.secrets, line + 7);
    else if (strncmp(line, "token ", 6) == 0)
        add_name(asked, asked->tokens, &asked->request.tokens, line + 6);
    else if (strncmp(line, "intercept ", 10) == 0)
        add_name(asked, asked->intercept, &asked->request.intercept, line + 10);
    else if (strcmp(line, "unsandboxed") == 0)
        asked->request.unsandboxed = true;
    else
        return false;
    return true;
}

void asked_read(struct asked *asked, const char *lines)
{
    *asked = (struct asked){ .request.input_fd = -1 };
    while (lines && *lines) {
        size_t length = strcspn(lines, "\n");
        char line[256];

        assert(length < sizeof(line));
        memcpy(line, lines, length);
        line[length] = '\0';
        if (!asked_add(asked, line))
            abort();
        lines += length + (lines[length] == '\n');
    }
}
