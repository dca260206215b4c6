/*
 * Trusts nothing that the module says: section sizes and counts are held against
 * the bytes that are left, indexes against what has been declared before.
 */
#include "wt_sections.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/own.h"
#include "nacre/text.h"

/* Ceilings of what is remembered: the engine's own for what is declared, a tenth of
 * them for what is named, because each name and signature becomes text. */
#define DECLARED_MAX 1000000u
#define ITEMS_MAX 100000u
#define SECTION_CODE 10

struct pass {
    struct wt_sections *out;
    bool out_of_memory;
    bool stopped;       /* a proposal changes how the rest is to be read */
    bool has_code;
};

static void space_add(struct pass *pass, struct wt_bytes *in, struct wt_space *space,
                      size_t place)
{
    if (space->count == DECLARED_MAX)
        wt_bytes_fail(in, "more is declared than can be of use");
    if (in->fault)
        return;
    if (space->count == space->allocated) {
        uint32_t wanted = space->allocated ? 2 * space->allocated : 64;
        uint32_t *grown = reallocarray(space->places, wanted, sizeof(*grown));

        if (!grown) {
            pass->out_of_memory = true;
            wt_bytes_fail(in, "no memory");
            return;
        }
        space->places = grown;
        space->allocated = wanted;
    }
    space->places[space->count++] = (uint32_t)place;
}

static bool items_new(struct pass *pass, struct wt_bytes *in, struct wt_items *items,
                      uint32_t count)
{
    if (in->fault || count == 0)
        return false;
    items->items = calloc(count, sizeof(*items->items));
    if (items->items)
        return true;
    pass->out_of_memory = true;
    wt_bytes_fail(in, "no memory");
    return false;
}

/* ---- types ---- */

static void sub_type(struct pass *pass, struct wt_bytes *in)
{
    uint32_t *needs = &pass->out->needs;
    uint8_t form = wt_bytes_u8(in);
    size_t place = 0;

    if (form == WT_FORM_SUB || form == WT_FORM_SUB_FINAL) {
        *needs |= WT_NEEDS(GC);
        for (uint32_t left = wt_bytes_count(in, 1, ITEMS_MAX); left > 0 && !in->fault;
             left--)
            (void)wt_bytes_u32(in);
        form = wt_bytes_u8(in);
    }
    if (form == WT_FORM_SHARED) {
        *needs |= WT_NEEDS(THREADS);
        form = wt_bytes_u8(in);
    }
    if (form == WT_FORM_FUNCTION) {
        place = in->at;
        wt_function_type(in, needs, NULL);
    } else {
        wt_composite_type(in, form, needs);
    }
    space_add(pass, in, &pass->out->types, place);
}

static void type_section(struct pass *pass, struct wt_bytes *in)
{
    for (uint32_t left = wt_bytes_count(in, 2, DECLARED_MAX); left > 0 && !in->fault;
         left--) {
        uint32_t group = 1;

        if (wt_bytes_peek(in) == WT_FORM_REC) {
            wt_bytes_skip(in, 1);
            pass->out->needs |= WT_NEEDS(GC);
            group = wt_bytes_count(in, 2, DECLARED_MAX);
        }
        for (; group > 0 && !in->fault; group--)
            sub_type(pass, in);
    }
}

/* ---- what is declared ---- */

static void function_index(struct pass *pass, struct wt_bytes *in)
{
    const struct wt_space *types = &pass->out->types;
    uint32_t index = wt_bytes_u32(in);

    if (!in->fault && (index >= types->count || types->places[index] == 0))
        wt_bytes_fail(in, "a function has a type that is not there");
}

static void add_up(struct wt_module_tables *tables, struct wt_limits size)
{
    tables->tables++;
    /* "None said" is UINT64_MAX, and so it stays whatever is added. */
    if (__builtin_add_overflow(tables->elements_min, size.min, &tables->elements_min))
        tables->elements_min = UINT64_MAX;
    if (__builtin_add_overflow(tables->elements_max, size.max, &tables->elements_max))
        tables->elements_max = UINT64_MAX;
}

/* One declaration of `kind` at `in`: its type is checked and its place kept. */
static void declare(struct pass *pass, struct wt_bytes *in, enum wt_kind kind)
{
    struct wt_sections *out = pass->out;
    size_t place = in->at;
    struct wt_limits size;

    switch (kind) {
    case WT_FUNCTION:
        function_index(pass, in);
        break;
    case WT_TABLE:
        add_up(&out->tables, wt_table_type(in, &out->needs, NULL));
        break;
    case WT_MEMORY:
        size = wt_memory_type(in, &out->needs, NULL);
        if (out->tables.memories++ == 0)
            out->memory = size;
        else
            out->needs |= WT_NEEDS(MULTI_MEMORY);
        break;
    case WT_GLOBAL:
        wt_global_type(in, &out->needs, NULL);
        break;
    case WT_TAG:
        out->needs |= WT_NEEDS(EXCEPTIONS);
        if (wt_bytes_u8(in) != 0)
            wt_bytes_fail(in, "a tag is of an unknown kind");
        place = in->at;
        function_index(pass, in);
        break;
    case WT_KIND_COUNT:
        break;
    }
    space_add(pass, in, &out->spaces[kind], place);
}

static void import_section(struct pass *pass, struct wt_bytes *in)
{
    struct wt_sections *out = pass->out;
    uint32_t count = wt_bytes_count(in, 4, ITEMS_MAX);

    if (!items_new(pass, in, &out->imports, count))
        return;
    for (uint32_t i = 0; i < count && !in->fault; i++) {
        struct wt_item *item = &out->imports.items[i];
        uint8_t kind;

        item->module = wt_bytes_name(in);
        item->name = wt_bytes_name(in);
        kind = wt_bytes_u8(in);
        if (item->name.count == 0 && (kind == 0x7e || kind == 0x7f)) {
            out->needs |= WT_NEEDS(COMPACT_IMPORTS);
            pass->stopped = true;
            return;
        }
        if (kind >= WT_KIND_COUNT) {
            wt_bytes_fail(in, "an import is of an unknown kind");
            return;
        }
        item->kind = (enum wt_kind)kind;
        declare(pass, in, item->kind);
        if (!in->fault) {
            const struct wt_space *space = &out->spaces[kind];

            item->type_place = space->places[space->count - 1];
            out->imports.count++;
        }
    }
}

static void function_section(struct pass *pass, struct wt_bytes *in)
{
    uint32_t count = wt_bytes_count(in, 1, DECLARED_MAX);

    pass->out->functions_defined = count;
    for (; count > 0 && !in->fault; count--)
        declare(pass, in, WT_FUNCTION);
}

static void table_section(struct pass *pass, struct wt_bytes *in)
{
    for (uint32_t left = wt_bytes_count(in, 3, DECLARED_MAX); left > 0 && !in->fault;
         left--) {
        bool filled = wt_bytes_peek(in) == 0x40; /* with a first value for each element */

        if (filled) {
            pass->out->needs |= WT_NEEDS(FUNCTION_REFERENCES);
            wt_bytes_skip(in, 1);
            if (wt_bytes_u8(in) != 0)
                wt_bytes_fail(in, "a table is of an unknown kind");
        }
        declare(pass, in, WT_TABLE);
        if (filled)
            wt_constant(in, &pass->out->needs);
    }
}

static void memory_section(struct pass *pass, struct wt_bytes *in)
{
    for (uint32_t left = wt_bytes_count(in, 2, DECLARED_MAX); left > 0 && !in->fault;
         left--)
        declare(pass, in, WT_MEMORY);
}

static void tag_section(struct pass *pass, struct wt_bytes *in)
{
    for (uint32_t left = wt_bytes_count(in, 2, DECLARED_MAX); left > 0 && !in->fault;
         left--)
        declare(pass, in, WT_TAG);
}

static void global_section(struct pass *pass, struct wt_bytes *in)
{
    for (uint32_t left = wt_bytes_count(in, 3, DECLARED_MAX); left > 0 && !in->fault;
         left--) {
        declare(pass, in, WT_GLOBAL);
        wt_constant(in, &pass->out->needs);
    }
}

static void export_section(struct pass *pass, struct wt_bytes *in)
{
    struct wt_sections *out = pass->out;
    uint32_t count = wt_bytes_count(in, 3, ITEMS_MAX);

    if (!items_new(pass, in, &out->exports, count))
        return;
    for (uint32_t i = 0; i < count && !in->fault; i++) {
        struct wt_item *item = &out->exports.items[i];
        uint32_t index;
        uint8_t kind;

        item->name = wt_bytes_name(in);
        kind = wt_bytes_u8(in);
        index = wt_bytes_u32(in);
        if (in->fault)
            return;
        if (kind >= WT_KIND_COUNT || index >= out->spaces[kind].count) {
            wt_bytes_fail(in, "an export names something that is not there");
            return;
        }
        item->kind = (enum wt_kind)kind;
        item->type_place = out->spaces[kind].places[index];
        out->exports.count++;
    }
}

static void code_section(struct pass *pass, struct wt_bytes *in)
{
    pass->has_code = true;
    if (wt_bytes_u32(in) != pass->out->functions_defined)
        wt_bytes_fail(in, "not every function has its code");
}

/* A fault in it is not the module's: the engine overlooks a broken name section. */
static void custom_section(struct pass *pass, struct wt_bytes *in)
{
    struct wt_name name = wt_bytes_name(in);
    struct wt_bytes names = *in;

    if (in->fault || !wt_name_is(in, name, "name"))
        return;
    while (wt_bytes_left(&names) > 0) {
        uint8_t id = wt_bytes_u8(&names);
        uint32_t size = wt_bytes_u32(&names);

        if (id == 1 && !names.fault && size > 1)
            pass->out->has_names = true;
        wt_bytes_skip(&names, size);
    }
}

/* ---- the whole ---- */

/* By section id; `order` is its place in a module, `skipped` those that only the
 * engine reads. */
static const struct {
    void (*read)(struct pass *pass, struct wt_bytes *in);
    uint8_t order;
    bool skipped;
} sections_known[] = {
    [1] = { type_section, 1, false },
    [2] = { import_section, 2, false },
    [3] = { function_section, 3, false },
    [4] = { table_section, 4, false },
    [5] = { memory_section, 5, false },
    [13] = { tag_section, 6, false },
    [6] = { global_section, 7, false },
    [7] = { export_section, 8, false },
    [8] = { NULL, 9, true },  /* start */
    [9] = { NULL, 10, true }, /* elements */
    [12] = { NULL, 11, true }, /* data count */
    [SECTION_CODE] = { code_section, 12, true },
    [11] = { NULL, 13, true }, /* data */
};

static void one_section(struct pass *pass, struct wt_bytes *in, uint8_t *last_order)
{
    uint8_t id = wt_bytes_u8(in);
    uint32_t size = wt_bytes_u32(in);
    struct wt_bytes section;

    if (size > wt_bytes_left(in)) {
        wt_bytes_fail(in, "a section runs past the end");
        return;
    }
    section = *in;
    section.end = in->at + size;
    if (id == 0) {
        custom_section(pass, &section);
    } else if (id >= NACRE_COUNT(sections_known)) {
        wt_bytes_fail(in, "a section is of an unknown kind");
        return;
    } else if (sections_known[id].order <= *last_order) {
        wt_bytes_fail(in, "a section is out of order or comes twice");
        return;
    } else {
        *last_order = sections_known[id].order;
        if (sections_known[id].read)
            sections_known[id].read(pass, &section);
        if (!sections_known[id].skipped && !pass->stopped && wt_bytes_left(&section) > 0)
            wt_bytes_fail(&section, "a section is longer than what it holds");
    }
    if (section.fault)
        *in = section;
    else
        in->at = section.end;
}

enum nacre_status wt_sections_read(struct wt_sections *sections, const char *name,
                                   const unsigned char *bytes, size_t count,
                                   struct nacre_error *err)
{
    struct pass pass = { .out = sections };
    char shown[NACRE_SHOWN];
    uint8_t last_order = 0;
    struct wt_bytes in;

    assert(count >= 8 && count <= UINT32_MAX);
    *sections = (struct wt_sections){
        .in = { .start = bytes, .at = 8, .end = count },
    };
    in = sections->in;
    while (!pass.stopped && wt_bytes_left(&in) > 0)
        one_section(&pass, &in, &last_order);
    if (!pass.stopped && !in.fault && sections->functions_defined > 0 && !pass.has_code)
        wt_bytes_fail(&in, "it has functions and no code");
    if (pass.out_of_memory)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory to read %s",
                          nacre_text_shown(shown, name));
    if (in.fault)
        return nacre_fail(err, NACRE_ERR_NOT_RUNNABLE,
                          "%s is a damaged WebAssembly module: %s, at byte %zu; build or "
                          "fetch it again",
                          nacre_text_shown(shown, name), in.fault, in.at);
    return NACRE_OK;
}

void wt_sections_clear(struct wt_sections *sections)
{
    free(sections->types.places);
    for (size_t i = 0; i < WT_KIND_COUNT; i++)
        free(sections->spaces[i].places);
    free(sections->imports.items);
    free(sections->exports.items);
    *sections = (struct wt_sections){ 0 };
}

struct wt_bytes wt_sections_at(const struct wt_sections *sections, uint32_t place)
{
    struct wt_bytes at = sections->in;

    at.at = place;
    return at;
}

uint32_t wt_sections_function(const struct wt_sections *sections,
                              const struct wt_item *item)
{
    struct wt_bytes at = wt_sections_at(sections, item->type_place);
    uint32_t index = wt_bytes_u32(&at);

    assert(item->kind == WT_FUNCTION || item->kind == WT_TAG);
    assert(index < sections->types.count);
    return sections->types.places[index];
}
