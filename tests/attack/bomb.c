/*
 * bomb KIND: a module that is small to send and dear to compile, on standard output.
 * Every one of them is valid, or ends where a count says that there is more.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bytes {
    unsigned char *at;
    size_t used, room;
};

static void bytes_drop(struct bytes *bytes)
{
    free(bytes->at);
}
#define BYTES __attribute__((cleanup(bytes_drop))) struct bytes

static void put(struct bytes *to, const void *from, size_t count)
{
    if (to->used + count > to->room) {
        to->room = 2 * (to->used + count);
        to->at = realloc(to->at, to->room);
        if (!to->at)
            abort();
    }
    memcpy(to->at + to->used, from, count);
    to->used += count;
}

static void put_byte(struct bytes *to, int byte)
{
    unsigned char one = (unsigned char)byte;

    put(to, &one, 1);
}

static void put_number(struct bytes *to, uint64_t number)
{
    do {
        put_byte(to, (int)((number & 0x7f) | (number > 0x7f ? 0x80 : 0)));
        number >>= 7;
    } while (number > 0);
}

static void put_section(struct bytes *to, int id, const struct bytes *body)
{
    put_byte(to, id);
    put_number(to, body->used);
    put(to, body->at, body->used);
}

/* A module of `count` functions with this body; the first is _start. */
static void module(uint64_t count, const struct bytes *body)
{
    BYTES whole = { 0 }, section = { 0 };

    put(&whole, "\0asm\1\0\0\0", 8);
    put(&section, "\1\x60\0\0", 4); /* one type: () -> () */
    put_section(&whole, 1, &section);
    section.used = 0;
    put_number(&section, count);
    for (uint64_t i = 0; i < count; i++)
        put_byte(&section, 0);
    put_section(&whole, 3, &section);
    section.used = 0;
    put(&section, "\1\6_start\0\0", 10);
    put_section(&whole, 7, &section);
    section.used = 0;
    put_number(&section, count);
    for (uint64_t i = 0; i < count; i++) {
        put_number(&section, body->used);
        put(&section, body->at, body->used);
    }
    put_section(&whole, 10, &section);
    (void)fwrite(whole.at, 1, whole.used, stdout);
}

/* Thousands of live values in each of many functions: hard on the register allocator. */
static void locals(void)
{
    BYTES body = { 0 };

    put(&body, "\1", 1);
    put_number(&body, 50000);
    put_byte(&body, 0x7e); /* i64 */
    for (uint64_t i = 0; i < 20000; i++) {
        put_byte(&body, 0x20);
        put_number(&body, i);
        put_byte(&body, 0x20);
        put_number(&body, (i * 7919) % 50000);
        put_byte(&body, 0x7c);
        put_byte(&body, 0x21);
        put_number(&body, (i * 104729) % 50000);
    }
    put_byte(&body, 0x0b);
    module(120, &body);
}

/* Blocks in blocks, and jump tables that lead out of all of them. */
static void tables(void)
{
    BYTES body = { 0 };
    const uint64_t depth = 4000, entries = 60000;

    put_byte(&body, 0);
    for (uint64_t i = 0; i < depth; i++)
        put(&body, "\2\x40", 2);
    for (int k = 0; k < 20; k++) {
        put(&body, "\2\x40\x41\0\x0e", 5);
        put_number(&body, entries);
        for (uint64_t i = 0; i <= entries; i++)
            put_number(&body, (i * 7919) % depth);
        put_byte(&body, 0x0b);
    }
    for (uint64_t i = 0; i < depth; i++)
        put_byte(&body, 0x0b);
    put_byte(&body, 0x0b);
    module(1, &body);
}

/* One function as long as a function may be. */
static void length(void)
{
    BYTES body = { 0 };

    put(&body, "\1\1\x7f", 3);
    while (body.used < 7600000)
        put(&body, "\x20\0\x41\3\x6c\x41\5\x6a\x21\0", 10);
    put_byte(&body, 0x0b);
    module(1, &body);
}

static void functions(void)
{
    BYTES body = { 0 };

    put(&body, "\0\x0b", 2);
    module(999999, &body);
}

static void nesting(void)
{
    BYTES body = { 0 };

    put_byte(&body, 0);
    for (int i = 0; i < 1000000; i++)
        put(&body, "\2\x40", 2);
    for (int i = 0; i < 1000000; i++)
        put_byte(&body, 0x0b);
    put_byte(&body, 0x0b);
    module(1, &body);
}

/* Four billion types, announced in nine bytes. */
static void promise(void)
{
    BYTES whole = { 0 };

    put(&whole, "\0asm\1\0\0\0\1\5\xff\xff\xff\xff\x0f", 15);
    (void)fwrite(whole.at, 1, whole.used, stdout);
}

/* In the text format, of which nacre takes a mebibyte. */
static void text(const char *before, const char *open, const char *close, int times,
                 const char *after)
{
    (void)fputs(before, stdout);
    for (int i = 0; i < times; i++)
        (void)fputs(open, stdout);
    for (int i = 0; close && i < times; i++)
        (void)fputs(close, stdout);
    (void)fputs(after, stdout);
}

static void text_depth(void)
{
    text("(module ", "(", NULL, 1000000, "");
}

static void text_blocks(void)
{
    text("(module (func (export \"_start\")", "(block ", ")", 120000, "))");
}

static void text_comments(void)
{
    text("(module ", "(;", NULL, 500000, "");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*make)(void);
    } kinds[] = { { "locals", locals },       { "tables", tables },
                  { "length", length },       { "functions", functions },
                  { "nesting", nesting },     { "promise", promise },
                  { "text-depth", text_depth }, { "text-blocks", text_blocks },
                  { "text-comments", text_comments } };

    for (size_t i = 0; argc == 2 && i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i].name, argv[1]) == 0) {
            kinds[i].make();
            return ferror(stdout) || fflush(stdout) != 0;
        }
    return 2;
}
