#ifndef NACRE_JSON_H
#define NACRE_JSON_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * JSON for tools: strict reading (RFC 8259, UTF-8 checked, duplicate keys refused),
 * values that can be changed, writing on one line or indented.  A tool lives for one
 * call: values come from an arena that is never freed, and out of memory ends the tool
 * with a sentence on stderr.
 */
enum nacre_json_kind {
    NACRE_JSON_NULL,
    NACRE_JSON_FALSE,
    NACRE_JSON_TRUE,
    NACRE_JSON_NUMBER,
    NACRE_JSON_STRING,
    NACRE_JSON_ARRAY,
    NACRE_JSON_OBJECT,
};

struct nacre_json {
    enum nacre_json_kind kind;
    const char *text; /* of a string (may hold NUL: see length), or of a number as it was
                         written: big ones lose nothing */
    size_t length;
    const char *key;  /* in an object; has no NUL in it */
    struct nacre_json *first, *last, *next; /* of an array's or object's values */
    size_t count;
};

#define NACRE_JSON_DEPTH_MAX 256

/* NULL: not JSON; then *ret_fault says what and *ret_offset where (bytes). */
struct nacre_json *nacre_json_read(const char *bytes, size_t count,
                                   const char **ret_fault, size_t *ret_offset);

struct nacre_json *nacre_json_new(enum nacre_json_kind kind); /* null, true, array, ... */
struct nacre_json *nacre_json_string(const char *text, size_t length);
struct nacre_json *nacre_json_text(const char *text); /* up to its NUL */
struct nacre_json *nacre_json_number(int64_t number);
struct nacre_json *nacre_json_bool(bool on);

/* The value of a key, or NULL.  `set` replaces or appends, `remove` tells if it was. */
struct nacre_json *nacre_json_get(const struct nacre_json *object, const char *key);
void nacre_json_set(struct nacre_json *object, const char *key, struct nacre_json *value);
bool nacre_json_remove(struct nacre_json *object, const char *key);
void nacre_json_append(struct nacre_json *array, struct nacre_json *value);
struct nacre_json *nacre_json_at(const struct nacre_json *array, size_t index);

/* A whole number, or `otherwise` where it is none that fits. */
int64_t nacre_json_int(const struct nacre_json *value, int64_t otherwise);
bool nacre_json_is_true(const struct nacre_json *value);

/* As text: indent 0 is one line.  From the arena, with a NUL behind it.  What is no UTF-8
 * in a string is written as the text \xNN: the whole is JSON whatever was put in. */
char *nacre_json_write(const struct nacre_json *value, int indent, size_t *ret_count);

/* The arena, for a tool's own use too; never NULL, not zeroed.  `old_bytes` is what the
 * block was asked or grown for; the old pointer is gone, as with realloc(). */
void *nacre_arena(size_t bytes);
void *nacre_arena_grow(void *block, size_t old_bytes, size_t new_bytes);
/* All of it back: for tests, which live for many calls. */
void nacre_arena_reset(void);

/* Text that grows, from the arena; a NUL is always behind it. */
struct nacre_text {
    char *bytes;
    size_t count, room;
};
void nacre_text_add(struct nacre_text *text, const char *bytes, size_t count);
void nacre_text_addf(struct nacre_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void nacre_text_addv(struct nacre_text *text, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
/* Invalid UTF-8 becomes \xNN, control characters but \n and \t too: how many bytes. */
size_t nacre_text_add_shown(struct nacre_text *text, const char *bytes, size_t count);

/* How many bytes the first character has; 0: that is no UTF-8, or nothing. */
size_t nacre_utf8_length(const char *bytes, size_t count);
/* How many bytes are no UTF-8, but for the last three: an end may have cut them. */
size_t nacre_utf8_wrong(const char *bytes, size_t count);

#endif
