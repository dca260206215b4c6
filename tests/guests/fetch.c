/*
 * Makes one HTTP request: fetch [-X METHOD] [-H "Name: value"]... [-e NAME=VARIABLE]...
 * [-d BODY] [-i NAME]... [-n TIMES] URL.  -e is a header with the value of a variable of
 * the environment.  Prints "status N", each header that -i asks for, an empty line and the
 * body; exits with nacre's code (nacre_http.h), after its name and sentence on stderr.
 * With -n the same is done so many times.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nacre_http.h"

#define WANTED_MAX 8

static const char *wanted[WANTED_MAX];
static int wanted_count;

static void show_headers(const struct nacre_http_answer *answer)
{
    static char text[NACRE_HTTP_HEADERS_MAX], value[8192];
    uint32_t size;

    if (nacre_http_headers(answer->handle, text, sizeof text, &size) != NACRE_HTTP_OK)
        return;
    for (int i = 0; i < wanted_count; i++)
        if (nacre_http_header(text, size, wanted[i], value, sizeof value))
            printf("%s: %s\n", wanted[i], value);
}

static int show_body(uint32_t handle)
{
    static char chunk[65536];
    uint32_t count;
    int code;

    while ((code = nacre_http_read(handle, chunk, sizeof chunk, &count)) ==
               NACRE_HTTP_OK &&
           count > 0)
        fwrite(chunk, 1, count, stdout);
    return code;
}

static int fetch(const struct nacre_http_call *call)
{
    struct nacre_http_answer answer;
    int code = nacre_http_send(call, &answer);

    if (code == NACRE_HTTP_OK) {
        printf("status %u\n", (unsigned)answer.status);
        show_headers(&answer);
        printf("\n");
        code = show_body(answer.handle);
        if (code == NACRE_HTTP_OK)
            code = nacre_http_close(answer.handle);
    }
    fflush(stdout);
    if (code != NACRE_HTTP_OK)
        fprintf(stderr, "fetch: %s: %s\n", nacre_http_code_name(code),
                nacre_http_sentence());
    return code;
}

static char headers[NACRE_HTTP_HEADERS_MAX + 4096];
static size_t used;

/* A name's `length` first letters, and what comes after them; false when it is too much. */
static int add_header(const char *name, size_t length, const char *middle,
                      const char *value)
{
    used += (size_t)snprintf(headers + used, sizeof headers - used, "%.*s%s%s\n",
                             (int)length, name, middle, value);
    return used < sizeof headers;
}

/* "NAME=VARIABLE" */
static int add_variable(const char *text)
{
    const char *equals = strchr(text, '=');
    const char *value = equals ? getenv(equals + 1) : NULL;

    return value && add_header(text, (size_t)(equals - text), ": ", value);
}

int main(int argc, char **argv)
{
    struct nacre_http_call call = { .headers = headers };
    int option, times = 1, code = NACRE_HTTP_OK;

    while ((option = getopt(argc, argv, "X:H:e:d:i:n:")) != -1) {
        switch (option) {
        case 'X':
            call.method = optarg;
            break;
        case 'H':
            if (!add_header(optarg, strlen(optarg), "", ""))
                return 64;
            break;
        case 'e':
            if (!add_variable(optarg))
                return 64;
            break;
        case 'd':
            call.body = optarg;
            call.body_size = strlen(optarg);
            break;
        case 'i':
            if (wanted_count == WANTED_MAX)
                return 64;
            wanted[wanted_count++] = optarg;
            break;
        case 'n':
            times = atoi(optarg);
            break;
        default:
            return 64;
        }
    }
    if (optind + 1 != argc)
        return 64;
    call.url = argv[optind];
    while (times-- > 0 && code == NACRE_HTTP_OK)
        code = fetch(&call);
    return code;
}
