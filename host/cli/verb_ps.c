#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "boxes.h"
#include "nacre/own.h"
#include "nacre/text.h"
#include "report.h"
#include "term.h"
#include "verbs.h"

struct boxes {
    struct nacre_box_info *items;
    size_t count;
    bool short_of_memory;
    char note[NACRE_BOXES_NOTE]; /* "" when there is nothing to say */
};

static void boxes_clear(struct boxes *boxes)
{
    free(boxes->items);
}

static bool add(void *data, const struct nacre_box_info *info)
{
    struct boxes *boxes = data;
    struct nacre_box_info *grown;

    grown = realloc(boxes->items, (boxes->count + 1) * sizeof(*grown));
    boxes->short_of_memory = !grown;
    if (!grown)
        return false;
    boxes->items = grown;
    boxes->items[boxes->count++] = *info;
    return true;
}

static enum nacre_status gather(struct nacre_engine *engine, struct boxes *boxes,
                                struct nacre_error *err)
{
    enum nacre_status status = nacre_engine_boxes(engine, add, boxes, boxes->note, err);

    if (status == NACRE_OK && boxes->short_of_memory)
        status = nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the list");
    return status;
}

/* The key alone, where it is a session's. */
static json_t *session_json(const char *scope_key)
{
    static const char session[] = "session:";

    return strncmp(scope_key, session, strlen(session)) == 0
               ? cli_json_text(scope_key + strlen(session))
               : json_null();
}

static int print_json(const struct boxes *boxes)
{
    json_t *list = json_array(), *object;
    int failed = 0;

    for (size_t i = 0; i < boxes->count; i++) {
        const struct nacre_box_info *box = &boxes->items[i];

        failed |= json_array_append_new(
            list, json_pack("{s:o, s:o, s:o, s:o, s:s, s:I, s:I, s:I, s:i, s:o}", "scope",
                            cli_json_text(box->scope_key), "image",
                            cli_json_text(box->image), "id", cli_json_text(box->id),
                            "name", cli_json_text(box->name), "config", box->digest,
                            "created_ms", (json_int_t)box->created_ms, "used_ms",
                            (json_int_t)box->used_ms, "commands",
                            (json_int_t)box->commands, "owner_pid", (int)box->owner_pid,
                            "session", session_json(box->scope_key)));
    }
    if (failed)
        json_decref(list);
    object = failed ? NULL : json_pack("{s:o}", "sandboxes", list);
    if (object && boxes->note[0] &&
        json_object_set_new(object, "note", cli_json_text(boxes->note)) != 0) {
        json_decref(object);
        object = NULL;
    }
    return cli_json_print(object)
               ? 0
               : nacre_status_exit(NACRE_ERR_MEMORY);
}

#define SINCE 16
static const char *since(char ret_text[SINCE], uint64_t then_ms)
{
    struct timespec now;
    uint64_t seconds;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    seconds = (uint64_t)now.tv_sec > then_ms / 1000
                  ? (uint64_t)now.tv_sec - then_ms / 1000 : 0;
    if (seconds < 120)
        (void)snprintf(ret_text, SINCE, "%" PRIu64 " s", seconds);
    else if (seconds < 7200)
        (void)snprintf(ret_text, SINCE, "%" PRIu64 " min", seconds / 60);
    else
        (void)snprintf(ret_text, SINCE, "%" PRIu64 " h", seconds / 3600 % 10000000);
    return ret_text;
}

static void print_text(const struct boxes *boxes)
{
    char name[NACRE_SHOWN], scope[NACRE_SHOWN], image[NACRE_SHOWN];
    char made[SINCE], used[SINCE];

    if (boxes->count == 0) {
        (void)puts("nothing is warm");
        return;
    }
    (void)printf("%-13s %-36s %-24s %-28s %-9s %-9s %s\n", "ID", "NAME", "SCOPE", "IMAGE",
                 "MADE", "USED", "COMMANDS");
    for (size_t i = 0; i < boxes->count; i++) {
        const struct nacre_box_info *box = &boxes->items[i];

        (void)printf("%-13s %-36s %-24s %-28s %-9s %-9s %" PRIu32 "\n", box->id,
                     nacre_text_shown(name, box->name),
                     nacre_text_shown(scope, box->scope_key),
                     nacre_text_shown(image, box->image), since(made, box->created_ms),
                     since(used, box->used_ms), box->commands);
    }
}

static int run(const struct cli_args *args)
{
    NACRE_AUTO(nacre_engine_guard) struct nacre_engine *engine = NULL;
    NACRE_AUTO(boxes_clear) struct boxes boxes = { 0 };
    struct nacre_error err;
    enum nacre_status status = cli_boxes_engine(&engine, &err);

    if (status == NACRE_OK)
        status = gather(engine, &boxes, &err);
    if (status != NACRE_OK)
        return cli_fail(args, &err);
    if (boxes.note[0])
        cli_say_lines("note", boxes.note);
    if (args->json)
        return print_json(&boxes);
    print_text(&boxes);
    return 0;
}

const struct cli_verb cli_verb_ps = {
    .name = "ps",
    .summary = "list the sandboxes that are warm",
    .operands = "",
    .about = "With name, scope, image, how long ago it was made and last used, and how\n"
             "many commands run in it now.",
    .example = "  nacre ps",
    .run = run,
};
