/* The lines come from a worker in which a guest ran: each is read as JSON or left out. */
#include "trace.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nacre/own.h"
#include "nacre/text.h"
#include "report.h"

#define CALLS_MAX 64

struct cost {
    char call[32];
    uint64_t count, ns;
};

struct costs {
    struct cost items[CALLS_MAX];
    size_t count;
};

static void count_call(struct costs *costs, const char *call, uint64_t ns)
{
    size_t i = 0;

    while (i < costs->count && strcmp(costs->items[i].call, call) != 0)
        i++;
    if (i == CALLS_MAX)
        return;
    if (i == costs->count) {
        (void)snprintf(costs->items[i].call, sizeof(costs->items[i].call), "%s", call);
        costs->count++;
    }
    costs->items[i].count++;
    costs->items[i].ns += ns;
}

static void print_value(const json_t *value, FILE *out)
{
    char shown[512];

    if (json_is_string(value))
        (void)fprintf(out, "%s",
                      nacre_text_show(shown, sizeof(shown), json_string_value(value),
                                      json_string_length(value)));
    else if (json_is_integer(value))
        (void)fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else
        (void)fputs("?", out);
}

static void print_call(json_t *line, struct costs *costs, FILE *out)
{
    const char *call = json_string_value(json_object_get(line, "call"));
    const char *result = json_string_value(json_object_get(line, "result"));
    uint64_t ns = (uint64_t)json_integer_value(json_object_get(line, "ns"));
    char shown[NACRE_SHOWN];
    const char *key;
    bool first = true;
    json_t *value;

    if (!call || !result)
        return;
    (void)fprintf(out, "%s(", nacre_text_shown(shown, call));
    json_object_foreach(line, key, value) {
        if (strcmp(key, "call") == 0 || strcmp(key, "result") == 0 ||
            strcmp(key, "ns") == 0)
            continue;
        (void)fprintf(out, "%s%s=", first ? "" : ", ", nacre_text_shown(shown, key));
        print_value(value, out);
        first = false;
    }
    (void)fprintf(out, ") = %s, %" PRIu64 ".%" PRIu64 " us\n",
                  nacre_text_shown(shown, result), ns / 1000, ns / 100 % 10);
    count_call(costs, call, ns);
}

static int by_cost(const void *a, const void *b)
{
    const struct cost *first = a, *second = b;

    return (first->ns < second->ns) - (first->ns > second->ns);
}

static void print_costs(struct costs *costs, FILE *out)
{
    qsort(costs->items, costs->count, sizeof(costs->items[0]), by_cost);
    (void)fprintf(out, "\n%10s %12s  %s\n", "calls", "us", "call");
    for (size_t i = 0; i < costs->count; i++)
        (void)fprintf(out, "%10" PRIu64 " %10" PRIu64 ".%" PRIu64 "  %s\n",
                      costs->items[i].count, costs->items[i].ns / 1000,
                      costs->items[i].ns / 100 % 10, costs->items[i].call);
}

bool cli_trace_print(int fd, bool raw, FILE *out)
{
    NACRE_AUTO(nacre_heap_guard) char *text = NULL;
    NACRE_AUTO(nacre_heap_guard) struct costs *costs = calloc(1, sizeof(*costs));
    FILE *lines = lseek(fd, 0, SEEK_SET) == 0 ? fdopen(dup(fd), "r") : NULL;
    size_t room = 0;
    ssize_t length;

    if (!costs || !lines) {
        if (lines)
            (void)fclose(lines);
        return false;
    }
    while ((length = getline(&text, &room, lines)) > 0) {
        json_t *line = json_loadb(text, (size_t)length, JSON_ALLOW_NUL, NULL);

        if (line && raw)
            (void)fwrite(text, 1, (size_t)length, out);
        else if (line)
            print_call(line, costs, out);
        json_decref(line);
    }
    (void)fclose(lines);
    if (!raw)
        print_costs(costs, out);
    return true;
}
