/*
 * door_ask PROGRAM OPTION… METHOD URL [HEADER-LINE…]: one or more requests through a
 * real door, by nacre/door.h and nacre/door_wire.h alone.  Prints for each
 *
 *     <code> <status> <bytes of the body>
 *     the sentence of a failure, or the headers and the body
 *
 * and at the end what the door has kept: "record ..." and "denial ..." lines.
 *
 *     --allow HOST --deny HOST   as in a policy; --all: mode allow-all
 *     --private                  block_private_ips: false
 *     --scan                     leak detection, with all patterns
 *     --secret NAME=VALUE@HOST   granted, and bound to HOST
 *     --token NAME=TEXT@MS       stands for that secret until MS from now
 *     --body TEXT | --body-bytes N
 *     --times N                  asks N times over one line
 *     --most WHAT=N              a limit: requests, minute, redirects, body, headers, ms
 *     --raw-header TEXT          as it is, C escapes read
 *     --quiet                    no headers, no body
 *     --twice                    a second run with the same door, after the first
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "door_line.h"
#include "nacre/clock.h"
#include "nacre/door.h"
#include "nacre/door_wire.h"
#include "nacre/own.h"
#include "nacre/secrets.h"
#include "nacre/tool.h"

#define MANY 16

static struct {
    struct nacre_egress_host allowed[MANY], denied[MANY], bound[MANY];
    struct nacre_egress_secret secrets[MANY];
    struct nacre_secret items[MANY];
    struct nacre_secret_token tokens[MANY];
    struct nacre_secret_set granted;
    struct nacre_plan plan;
    const char *program, *method, *url;
    struct nacre_buf headers;
    char *body;
    size_t body_bytes;
    unsigned times, runs;
    uint64_t wall_ms;
    bool quiet;
} asked = { .headers = NACRE_BUF((size_t)1 << 20), .times = 1, .runs = 1,
            .wall_ms = 5000 };

static _Noreturn void die(const char *what, const struct nacre_error *err)
{
    (void)fprintf(stderr, "door_ask: %s%s%s\n", what, err ? ": " : "",
                  err ? err->text : "");
    exit(2);
}

static struct nacre_egress_host read_host(const char *text)
{
    struct nacre_egress_host host;
    struct nacre_error err;

    if (nacre_egress_host_read(text, &host, &err) != NACRE_OK)
        die(text, &err);
    host.way = NACRE_WAY_TUNNEL;
    return host;
}

static void add_header(const char *text, size_t count)
{
    struct nacre_error err;

    if (nacre_buf_add(&asked.headers, text, count, &err) != NACRE_OK)
        die("header", &err);
}

static void add_raw(const char *text)
{
    for (; *text; text++) {
        char c = *text;

        if (c == '\\') {
            text++;
            c = *text == 'n' ? '\n' : *text == 'r' ? '\r' : *text == '0' ? '\0' : *text;
        }
        add_header(&c, 1);
    }
}

static void add_secret(char *text)
{
    uint32_t i = asked.granted.count++;
    char *value = strchr(text, '='), *host = strrchr(text, '@');

    if (!value || !host || i == MANY)
        die(text, NULL);
    *value++ = *host++ = '\0';
    asked.bound[i] = read_host(host);
    asked.secrets[i] = (struct nacre_egress_secret){ text, &asked.bound[i], 1 };
    asked.items[i] = (struct nacre_secret){ .name = text, .value = (unsigned char *)value,
                                            .count = strlen(value) };
    asked.plan.egress.secret_count = asked.granted.count;
}

static void add_token(char *text)
{
    struct nacre_secret_token *token = &asked.tokens[asked.granted.token_count++];
    char *value = strchr(text, '='), *ms = strrchr(text, '@');
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    *value++ = *ms++ = '\0';
    token->digest = nacre_hash(value, strlen(value));
    token->expires_ms = (uint64_t)((int64_t)now.tv_sec * 1000 + atoll(ms));
    while (strcmp(asked.items[token->secret].name, text) != 0)
        token->secret++;
}

static void set_limit(char *text)
{
    struct nacre_egress_limits *limits = &asked.plan.egress.limits;
    char *equals = strchr(text, '=');
    uint32_t number;

    *equals++ = '\0';
    number = (uint32_t)strtoul(equals, NULL, 10);
    if (strcmp(text, "requests") == 0)
        limits->requests_max = number;
    else if (strcmp(text, "minute") == 0)
        limits->requests_per_minute_max = number;
    else if (strcmp(text, "redirects") == 0)
        limits->redirects_max = number;
    else if (strcmp(text, "body") == 0)
        limits->body_bytes_max = number;
    else if (strcmp(text, "headers") == 0)
        limits->header_bytes_max = number;
    else if (strcmp(text, "ms") == 0)
        asked.wall_ms = number;
    else
        die(text, NULL);
}

/* Options with a word behind them. */
static bool read_option(const char *name, char *word)
{
    struct nacre_egress *egress = &asked.plan.egress;

    if (strcmp(name, "--allow") == 0)
        asked.allowed[egress->allowed_count++] = read_host(word);
    else if (strcmp(name, "--deny") == 0)
        asked.denied[egress->denied_count++] = read_host(word);
    else if (strcmp(name, "--secret") == 0)
        add_secret(word);
    else if (strcmp(name, "--token") == 0)
        add_token(word);
    else if (strcmp(name, "--most") == 0)
        set_limit(word);
    else if (strcmp(name, "--times") == 0)
        asked.times = (unsigned)atoi(word);
    else if (strcmp(name, "--raw-header") == 0)
        add_raw(word);
    else if (strcmp(name, "--body") == 0)
        asked.body = word, asked.body_bytes = strlen(word);
    else if (strcmp(name, "--body-bytes") == 0)
        asked.body = calloc(1, (size_t)atol(word)), asked.body_bytes = (size_t)atol(word);
    else
        return false;
    return true;
}

static bool read_flag(const char *name)
{
    struct nacre_egress *egress = &asked.plan.egress;

    if (strcmp(name, "--all") == 0)
        egress->mode = NACRE_NETWORK_ALLOW_ALL;
    else if (strcmp(name, "--private") == 0)
        egress->block_private = false;
    else if (strcmp(name, "--scan") == 0)
        egress->scan = true;
    else if (strcmp(name, "--quiet") == 0)
        asked.quiet = true;
    else if (strcmp(name, "--twice") == 0)
        asked.runs = 2;
    else
        return false;
    return true;
}

static void read_words(int argc, char **argv)
{
    int at = 2;

    asked.plan.egress = (struct nacre_egress){
        .mode = NACRE_NETWORK_ALLOWLIST, .allowed = asked.allowed, .denied = asked.denied,
        .secrets = asked.secrets, .block_private = true, .patterns = 22,
        .way = NACRE_WAY_TUNNEL,
        .limits = { .header_bytes_max = 65536, .body_bytes_max = 8 << 20,
                    .redirects_max = 5, .requests_max = 1000,
                    .requests_per_minute_max = 1000, .connections_max = 64 },
    };
    asked.granted = (struct nacre_secret_set){ .items = asked.items,
                                               .tokens = asked.tokens };
    if (argc < 4)
        die("PROGRAM OPTION… METHOD URL [HEADER…]", NULL);
    asked.program = argv[1];
    for (; at < argc && strncmp(argv[at], "--", 2) == 0; at++) {
        if (read_flag(argv[at]))
            continue;
        if (at + 1 >= argc || !read_option(argv[at], argv[at + 1]))
            die(argv[at], NULL);
        at++;
    }
    if (at + 2 > argc)
        die("METHOD URL", NULL);
    asked.method = argv[at++];
    asked.url = argv[at++];
    for (; at < argc; at++) {
        add_header(argv[at], strlen(argv[at]));
        add_header("\n", 1);
    }
}

static void ask_once(int fd)
{
    static const char *const names[] = {
#define X(id, value, name) [value] = name,
        NACRE_HTTP_CODE_MAP(X)
#undef X
    };
    struct door_line_request request = { asked.method, asked.url, asked.headers.bytes,
                                         asked.headers.size, asked.body,
                                         asked.body_bytes };
    struct door_line_answer answer = { .body = NACRE_BUF((size_t)512 << 20) };

    door_line_ask(fd, &request, &answer);
    (void)printf("%s %u %zu\n", names[answer.code], answer.status, answer.body.size);
    if (answer.code != NACRE_HTTP_OK)
        (void)printf("%s\n", answer.text);
    else if (!asked.quiet)
        (void)printf("%s\n%s\n", answer.text, answer.body.bytes ? answer.body.bytes : "");
    free(answer.text);
    nacre_buf_clear(&answer.body);
}

static void show(const struct nacre_result *result)
{
    for (uint32_t i = 0; i < result->egress_count; i++) {
        const struct nacre_egress_record *record = &result->egress[i];

        (void)printf("record %s %s:%u %s %s %u hops %u\n", record->method, record->host,
                     record->port, record->sent ? "sent" : "not-sent",
                     record->code[0] ? record->code : "-", record->status, record->hops);
    }
    for (uint32_t i = 0; i < result->denial_count; i++)
        (void)printf("denial %s %s %s\n", result->denials[i].code,
                     result->denials[i].rule, result->denials[i].path);
    (void)printf("leaks %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "%s\n",
                 result->leaks.values, result->leaks.blocked, result->leaks.redacted,
                 result->leaks.warned, result->leak ? " leak" : "");
}

static void run_once(struct nacre_door *door, int fd)
{
    struct nacre_result *result;
    struct nacre_error err;

    if (nacre_result_new(&result, &err) != NACRE_OK ||
        nacre_door_begin(door, "00", nacre_clock_ns() + asked.wall_ms * NACRE_NS_PER_MS,
                         &err) != NACRE_OK)
        die("begin", &err);
    for (unsigned i = 0; i < asked.times; i++)
        ask_once(fd);
    if (nacre_door_end(door, result, &err) != NACRE_OK)
        die("end", &err);
    show(result);
    nacre_result_free(result);
}

int main(int argc, char **argv)
{
    struct nacre_tool tool = { .name = (char *)(uintptr_t)"door_ask" };
    struct nacre_request request = { .granted = &asked.granted };
    struct nacre_doors_options options = { 0 };
    struct nacre_doors *doors;
    struct nacre_door *door;
    struct nacre_error err;
    int ends[2];

    read_words(argc, argv);
    options.program = asked.program;
    if (nacre_doors_new(&options, &doors, &err) != NACRE_OK ||
        nacre_doors_probe(doors, &err) != NACRE_OK ||
        nacre_doors_get(doors, &asked.plan, &tool, &request, &door, &err) != NACRE_OK)
        die("no door", &err);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0 ||
        nacre_door_serve(door, NACRE_DOOR_GUEST, ends[1], &err) != NACRE_OK)
        die("serve", &err);
    for (unsigned i = 0; i < asked.runs; i++)
        run_once(door, ends[0]);
    (void)close(ends[0]);
    nacre_doors_put(doors, door);
    nacre_doors_free(doors);
    nacre_buf_clear(&asked.headers);
    return 0;
}
