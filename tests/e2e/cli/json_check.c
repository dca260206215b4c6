/* Is stdin one JSON value, or with -l a JSON object on every line? */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check(const char *bytes, size_t count, size_t flags)
{
    json_error_t error;
    json_t *value = json_loadb(bytes, count, flags | JSON_REJECT_DUPLICATES, &error);

    if (!value)
        (void)fprintf(stderr, "line %d: %s\n", error.line, error.text);
    json_decref(value);
    return value ? 0 : 1;
}

int main(int argc, char **argv)
{
    static char whole[16 << 20];
    size_t count = fread(whole, 1, sizeof(whole), stdin);
    char *at = whole;

    if (argc < 2 || strcmp(argv[1], "-l") != 0)
        return check(whole, count, JSON_ALLOW_NUL);
    while (at < whole + count) {
        char *end = memchr(at, '\n', (size_t)(whole + count - at));

        if (!end || check(at, (size_t)(end - at), 0) != 0)
            return 1;
        at = end + 1;
    }
    return count == 0;
}
