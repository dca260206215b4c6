/*
 * JSON Patch and merge.  Copies of copies grow by doubling, and what is put in deep
 * places again and again grows deep: both have ceilings.
 */
#include <stdarg.h>
#include <string.h>

#include "edit.h"

#define KEYS_SHOWN 10

static bool fail(struct query_fault *fault, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool fail(struct query_fault *fault, const char *code, const char *format, ...)
{
    struct nacre_text text = { 0 };
    va_list list;

    va_start(list, format);
    nacre_text_addv(&text, format, list);
    va_end(list);
    fault->code = code;
    fault->text = text.bytes;
    return false;
}

/* ---- pointers ---- */

struct pointer {
    char *tokens[EDIT_DEPTH_MAX];
    size_t count;
    const char *shown;
};

static const char *shown(const char *bytes, size_t length)
{
    struct nacre_text text = { 0 };

    nacre_text_add(&text, "\"", 1);
    (void)nacre_text_add_shown(&text, bytes, length < 200 ? length : 200);
    nacre_text_add(&text, "\"", 1);
    return text.bytes;
}

static bool read_pointer(const char *bytes, size_t length, struct pointer *ret_pointer,
                         struct query_fault *fault)
{
    char *to = nacre_arena(length + 1);

    ret_pointer->count = 0;
    ret_pointer->shown = shown(bytes, length);
    if (length > 0 && bytes[0] != '/')
        return fail(fault, "bad-pointer", "%s: a JSON Pointer starts with \"/\"",
                    ret_pointer->shown);
    if (memchr(bytes, '\0', length))
        return fail(fault, "bad-pointer", "%s: no key has a NUL", ret_pointer->shown);
    for (size_t at = 0; at < length; at++) {
        if (bytes[at] == '/') {
            if (ret_pointer->count == EDIT_DEPTH_MAX)
                return fail(fault, "too-large", "%s is deeper than %d",
                            ret_pointer->shown, EDIT_DEPTH_MAX);
            if (at > 0)
                *to++ = '\0';
            ret_pointer->tokens[ret_pointer->count++] = to;
            continue;
        }
        if (bytes[at] == '~') {
            at++;
            if (at == length || (bytes[at] != '0' && bytes[at] != '1'))
                return fail(fault, "bad-pointer", "%s: \"~\" is written ~0, \"/\" in a "
                            "key ~1", ret_pointer->shown);
            *to++ = bytes[at] == '0' ? '~' : '/';
            continue;
        }
        *to++ = bytes[at];
    }
    *to = '\0';
    return true;
}

/* False: no number as RFC 6901 has it. */
static bool read_index(const char *token, size_t *ret_index)
{
    size_t index = 0;

    if (!*token || (token[0] == '0' && token[1]) || strlen(token) > 9)
        return false;
    for (; *token; token++) {
        if (*token < '0' || *token > '9')
            return false;
        index = index * 10 + (size_t)(*token - '0');
    }
    *ret_index = index;
    return true;
}

static bool not_there(const struct nacre_json *value, const char *token,
                      const struct pointer *pointer, struct query_fault *fault)
{
    struct nacre_text keys = { 0 };
    size_t count = 0;

    if (value->kind == NACRE_JSON_ARRAY)
        return fail(fault, "not-found", "%s leads nowhere: the array has %zu values, no "
                    "%s", pointer->shown, value->count, shown(token, strlen(token)));
    if (value->kind != NACRE_JSON_OBJECT)
        return fail(fault, "not-found", "%s leads nowhere: above %s there is neither an "
                    "object nor an array", pointer->shown, shown(token, strlen(token)));
    nacre_text_add(&keys, "", 0);
    for (const struct nacre_json *at = value->first; at && count < KEYS_SHOWN;
         at = at->next)
        nacre_text_addf(&keys, "%s%s", count++ ? ", " : "",
                        shown(at->key, strlen(at->key)));
    return fail(fault, "not-found", "%s leads nowhere: no key %s; there are %zu: %s%s",
                pointer->shown, shown(token, strlen(token)), value->count, keys.bytes,
                value->count > KEYS_SHOWN ? ", ..." : "");
}

static struct nacre_json *step(struct nacre_json *value, const char *token)
{
    size_t index;

    if (value->kind == NACRE_JSON_ARRAY)
        return read_index(token, &index) ? nacre_json_at(value, index) : NULL;
    return nacre_json_get(value, token);
}

/* The value that all tokens but the last `less` lead to. */
static struct nacre_json *walk(struct nacre_json *value, const struct pointer *pointer,
                               size_t less, struct query_fault *fault)
{
    struct nacre_json *next;

    for (size_t i = 0; i + less < pointer->count; i++, value = next) {
        next = step(value, pointer->tokens[i]);
        if (!next) {
            (void)not_there(value, pointer->tokens[i], pointer, fault);
            return NULL;
        }
    }
    return value;
}

struct nacre_json *pointer_find(struct nacre_json *root, const char *pointer,
                                size_t length, struct query_fault *fault)
{
    struct pointer way;

    return read_pointer(pointer, length, &way, fault) ? walk(root, &way, 0, fault) : NULL;
}

/* ---- changes ---- */

/* What copies may still make, in values and in depth. */
struct room {
    size_t values, depth;
};

static struct room room(void)
{
    return (struct room){ .values = EDIT_VALUES_MAX, .depth = EDIT_DEPTH_MAX };
}

/* NULL: there is no room. */
static struct nacre_json *clone(const struct nacre_json *value, struct room *left)
{
    struct nacre_json *copy, *inner;

    if (left->values == 0 || left->depth == 0)
        return NULL;
    left->values--;
    left->depth--;
    copy = nacre_json_new(value->kind);
    copy->text = value->text;
    copy->length = value->length;
    for (const struct nacre_json *at = value->first; at; at = at->next) {
        inner = clone(at, left);
        if (!inner)
            return NULL;
        inner->key = at->key;
        nacre_json_append(copy, inner);
    }
    left->depth++;
    return copy;
}

static bool no_room(struct query_fault *fault)
{
    return fail(fault, "too-large", "the values that are put in are more than %zu or "
                "deeper than %d", EDIT_VALUES_MAX, EDIT_DEPTH_MAX);
}

static size_t depth_of(const struct nacre_json *value)
{
    size_t deepest = 0, depth;

    for (const struct nacre_json *at = value->first; at; at = at->next) {
        depth = depth_of(at);
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest + 1;
}

static void insert(struct nacre_json *array, size_t index, struct nacre_json *value)
{
    struct nacre_json *before = index > 0 ? nacre_json_at(array, index - 1) : NULL;

    if (index == array->count) {
        nacre_json_append(array, value);
        return;
    }
    value->next = before ? before->next : array->first;
    if (before)
        before->next = value;
    else
        array->first = value;
    array->count++;
}

static void cut(struct nacre_json *array, size_t index)
{
    struct nacre_json *before = index > 0 ? nacre_json_at(array, index - 1) : NULL;
    struct nacre_json *gone = before ? before->next : array->first;

    if (before)
        before->next = gone->next;
    else
        array->first = gone->next;
    if (array->last == gone)
        array->last = before;
    array->count--;
}

static bool add(struct nacre_json **root, const struct pointer *pointer,
                struct nacre_json *value, struct query_fault *fault)
{
    struct nacre_json *parent;
    const char *token;
    size_t index;

    if (pointer->count == 0) {
        *root = value;
        return true;
    }
    parent = walk(*root, pointer, 1, fault);
    if (!parent)
        return false;
    token = pointer->tokens[pointer->count - 1];
    if (parent->kind == NACRE_JSON_OBJECT) {
        nacre_json_set(parent, token, value);
        return true;
    }
    if (parent->kind != NACRE_JSON_ARRAY)
        return not_there(parent, token, pointer, fault);
    if (strcmp(token, "-") == 0)
        index = parent->count;
    else if (!read_index(token, &index) || index > parent->count)
        return not_there(parent, token, pointer, fault);
    insert(parent, index, value);
    return true;
}

static bool take_out(struct nacre_json **root, const struct pointer *pointer,
                     struct query_fault *fault)
{
    struct nacre_json *parent = walk(*root, pointer, 1, fault);
    const char *token;
    size_t index = 0;

    if (pointer->count == 0)
        return fail(fault, "bad-edit", "the whole document can't be removed");
    if (!parent)
        return false;
    token = pointer->tokens[pointer->count - 1];
    if (!step(parent, token))
        return not_there(parent, token, pointer, fault);
    if (parent->kind == NACRE_JSON_OBJECT) {
        (void)nacre_json_remove(parent, token);
    } else {
        (void)read_index(token, &index);
        cut(parent, index);
    }
    return true;
}

static bool replace(struct nacre_json **root, const struct pointer *pointer,
                    struct nacre_json *value, struct query_fault *fault)
{
    struct nacre_json *old = walk(*root, pointer, 0, fault), *parent;
    size_t index = 0;

    if (!old)
        return false;
    if (pointer->count == 0) {
        *root = value;
        return true;
    }
    parent = walk(*root, pointer, 1, fault);
    if (parent->kind == NACRE_JSON_OBJECT) {
        nacre_json_set(parent, pointer->tokens[pointer->count - 1], value);
        return true;
    }
    (void)read_index(pointer->tokens[pointer->count - 1], &index);
    cut(parent, index);
    insert(parent, index, value);
    return true;
}

static bool is_within(const struct pointer *inner, const struct pointer *outer)
{
    if (inner->count <= outer->count)
        return false;
    for (size_t i = 0; i < outer->count; i++)
        if (strcmp(inner->tokens[i], outer->tokens[i]) != 0)
            return false;
    return true;
}

struct edit {
    const char *op;
    struct pointer path, from;
    const struct nacre_json *value; /* or NULL */
};

static bool read_edit(const struct nacre_json *edit, struct edit *ret_edit,
                      struct query_fault *fault)
{
    const struct nacre_json *op = nacre_json_get(edit, "op");
    const struct nacre_json *path = nacre_json_get(edit, "path");
    const struct nacre_json *from = nacre_json_get(edit, "from");
    bool needs_from;

    if (!op || op->kind != NACRE_JSON_STRING || !path || path->kind != NACRE_JSON_STRING)
        return fail(fault, "bad-edit", "an edit has an op and a path");
    ret_edit->op = op->text;
    ret_edit->value = nacre_json_get(edit, "value");
    needs_from = strcmp(op->text, "move") == 0 || strcmp(op->text, "copy") == 0;
    if (needs_from != (from != NULL) || (from && from->kind != NACRE_JSON_STRING))
        return fail(fault, "bad-edit", needs_from ? "%s needs from" : "%s takes no from",
                    shown(op->text, op->length));
    if ((strcmp(op->text, "add") == 0 || strcmp(op->text, "replace") == 0 ||
         strcmp(op->text, "test") == 0) != (ret_edit->value != NULL))
        return fail(fault, "bad-edit", ret_edit->value ? "%s takes no value"
                                                       : "%s needs a value",
                    shown(op->text, op->length));
    return read_pointer(path->text, path->length, &ret_edit->path, fault) &&
           (!from || read_pointer(from->text, from->length, &ret_edit->from, fault));
}

static bool test(struct nacre_json *root, const struct edit *edit,
                 struct query_fault *fault)
{
    struct nacre_json *value = walk(root, &edit->path, 0, fault);
    size_t steps = 0, length;
    char *text;

    if (!value)
        return false;
    if (json_equal(value, edit->value, &steps))
        return true;
    text = nacre_json_write(value, 0, &length);
    return fail(fault, "test-failed", "%s is %s", edit->path.shown, shown(text, length));
}

static bool move(struct nacre_json **root, const struct edit *edit, struct room *left,
                 struct query_fault *fault)
{
    bool is_copy = strcmp(edit->op, "copy") == 0;
    struct nacre_json *value = walk(*root, &edit->from, 0, fault), *copy;

    if (!value)
        return false;
    if (!is_copy && is_within(&edit->path, &edit->from))
        return fail(fault, "bad-edit", "%s can't be moved into itself", edit->from.shown);
    copy = clone(value, left);
    if (!copy)
        return no_room(fault);
    return (is_copy || edit->from.count == 0 || take_out(root, &edit->from, fault)) &&
           add(root, &edit->path, copy, fault);
}

static bool apply_one(struct nacre_json **root, const struct nacre_json *object,
                      struct room *left, struct query_fault *fault)
{
    struct edit edit;
    struct nacre_json *value = NULL;

    if (!read_edit(object, &edit, fault))
        return false;
    if (strcmp(edit.op, "test") == 0)
        return test(*root, &edit, fault);
    if (strcmp(edit.op, "remove") == 0)
        return take_out(root, &edit.path, fault);
    if (strcmp(edit.op, "move") == 0 || strcmp(edit.op, "copy") == 0)
        return move(root, &edit, left, fault);
    if (!edit.value)
        return fail(fault, "bad-edit", "op is add, remove, replace, move, copy or test, "
                    "not %s", shown(edit.op, strlen(edit.op)));
    value = clone(edit.value, left);
    if (!value)
        return no_room(fault);
    return strcmp(edit.op, "add") == 0 ? add(root, &edit.path, value, fault)
                                       : replace(root, &edit.path, value, fault);
}

static bool is_too_deep(const struct nacre_json *root, struct query_fault *fault)
{
    return depth_of(root) > EDIT_DEPTH_MAX &&
           !fail(fault, "too-large", "the document would be deeper than %d",
                 EDIT_DEPTH_MAX);
}

bool edit_apply(struct nacre_json **root, const struct nacre_json *edits,
                struct query_fault *fault)
{
    struct room left = room();
    size_t number = 0;

    if (edits->count > EDIT_COUNT_MAX)
        return fail(fault, "too-large", "more than %d edits at once", EDIT_COUNT_MAX);
    for (const struct nacre_json *at = edits->first; at; at = at->next) {
        number++;
        if (!apply_one(root, at, &left, fault))
            return fail(fault, fault->code, "edit %zu: %s", number, fault->text);
    }
    return !is_too_deep(*root, fault);
}

static struct nacre_json *merged(struct nacre_json *target,
                                 const struct nacre_json *merge, struct room *left)
{
    struct nacre_json *inner;

    if (merge->kind != NACRE_JSON_OBJECT)
        return clone(merge, left);
    if (!target || target->kind != NACRE_JSON_OBJECT)
        target = nacre_json_new(NACRE_JSON_OBJECT);
    for (const struct nacre_json *at = merge->first; at; at = at->next) {
        if (at->kind == NACRE_JSON_NULL) {
            (void)nacre_json_remove(target, at->key);
            continue;
        }
        inner = merged(nacre_json_get(target, at->key), at, left);
        if (!inner)
            return NULL;
        nacre_json_set(target, at->key, inner);
    }
    return target;
}

bool edit_merge(struct nacre_json **root, const struct nacre_json *merge,
                struct query_fault *fault)
{
    struct room left = room();
    struct nacre_json *result = merged(*root, merge, &left);

    if (!result)
        return no_room(fault);
    *root = result;
    return !is_too_deep(result, fault);
}
