/* A tool that does what "do" says; the contract needs no more than stdin and stdout. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char input[1 << 20];

/* The text of "key", which has no escapes here; "" where there is none. */
static const char *text_of(const char *key, char *text, size_t size)
{
    char quoted[64];
    const char *at;

    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    at = strstr(input, quoted);
    at = at ? strchr(at + strlen(quoted), '"') : NULL;
    snprintf(text, size, "%.*s", at ? (int)strcspn(at + 1, "\"") : 0, at ? at + 1 : "");
    return text;
}

static int say(const char *text, const char *structured, const char *rest)
{
    printf("{\"content\": [{\"type\": \"text\", \"text\": \"%s\"}], "
           "\"structuredContent\": {\"args\": %s}%s}\n", text, structured, rest);
    return 0;
}

static int read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    char line[256] = "";

    if (!file)
        return say("no such file", "null", ", \"isError\": true");
    if (!fgets(line, sizeof line, file))
        line[0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    fclose(file);
    return say(line, "null", "");
}

static int write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    if (!file || fputs(text, file) < 0 || fclose(file) != 0)
        return say("can't write", "null", ", \"isError\": true");
    return say("written", "null", "");
}

static void flood(void)
{
    static char piece[65536];

    memset(piece, 'x', sizeof piece);
    for (int i = 0; i < 1024; i++)
        fwrite(piece, 1, sizeof piece, stdout);
}

int main(void)
{
    char what[32], path[256], text[4096];
    size_t count = fread(input, 1, sizeof input - 1, stdin);

    input[count] = '\0';
    text_of("do", what, sizeof what);
    text_of("path", path, sizeof path);
    text_of("text", text, sizeof text);
    if (strcmp(what, "trap") == 0)
        __builtin_trap();
    if (strcmp(what, "bad") == 0)
        return printf("this is not JSON \x1b[31m {") < 0;
    if (strcmp(what, "silent") == 0)
        return 3;
    if (strcmp(what, "grumble") == 0)
        return fputs("out of luck\n", stderr) < 0 ? 1 : 4;
    if (strcmp(what, "loop") == 0)
        for (volatile int i = 0;; i++)
            ;
    if (strcmp(what, "flood") == 0)
        flood();
    if (strcmp(what, "fail") == 0)
        return say("mend this", "1", ", \"isError\": true");
    if (strcmp(what, "status") == 0)
        return say("half done", "1", "") + 1;
    if (strcmp(what, "extra") == 0)
        return say("x", "1", ", \"surprise\": 1");
    if (strcmp(what, "forge") == 0)
        return say("x", "1", ", \"_meta\": {\"nacre\": {\"level\": \"none\"}}");
    if (strcmp(what, "array") == 0)
        return printf("[1, 2]") < 0;
    if (strcmp(what, "type") == 0)
        return printf("{\"content\": [{\"type\": \"smell\"}]}") < 0;
    if (strcmp(what, "read") == 0)
        return read_file(path);
    if (strcmp(what, "write") == 0)
        return write_file(path, text);
    if (strcmp(what, "say") == 0)
        return say(text, "{}", "");
    return say("echo", input, "");
}
