#include <stdio.h>
#include <string.h>

#include "conf.h"

static int take(char *line, const char *key, char *ret_value, size_t size)
{
    char *equals = strchr(line, '=');

    if (!equals)
        return 0;
    *equals = '\0';
    if (strcmp(conf_trim(line), key) != 0)
        return 0;
    (void)snprintf(ret_value, size, "%s", conf_trim(equals + 1));
    return 1;
}

int conf_get(const char *lines, const char *key, char *ret_value, size_t size)
{
    char line[256];

    while (*lines) {
        size_t length = strcspn(lines, "\n");

        (void)snprintf(line, sizeof(line), "%.*s", (int)length, lines);
        if (take(line, key, ret_value, size))
            return 1;
        lines += length + (lines[length] == '\n');
    }
    return 0;
}
