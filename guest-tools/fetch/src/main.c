/*
 * fetch: one request by the egress import, its answer as text or JSON.  What comes is
 * hostile: it is read with ceilings, and shown without bytes that a terminal or a model
 * could take for something else.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "html.h"
#include "nacre_http.h"
#include "nacre_tool.h"

#define BODY_BYTES_MAX ((size_t)4 << 20)
#define SHOWN_BYTES 65536 /* unless max_bytes says another */
#define JSON_STRUCTURED_MAX ((size_t)256 << 10)

struct answer {
    uint32_t status;
    char type[128];      /* Content-Type without parameters, in small letters */
    char type_line[512]; /* as it came */
    char length[32];     /* Content-Length, or empty */
    char *body;
    size_t count;
    bool is_cut;         /* there is more than BODY_BYTES_MAX */
    int broken;          /* why the body broke off, or OK */
    const char *broken_sentence;
};

static noreturn void fail_http(int code)
{
    const char *sentence = nacre_http_sentence();
    struct nacre_text text = { 0 };

    nacre_text_add(&text, "", 0);
    (void)nacre_text_add_shown(&text, sentence, strlen(sentence));
    nacre_tool_fail(nacre_http_code_name(code), "%s", text.bytes);
}

static const char *header_lines(const struct nacre_json *headers)
{
    struct nacre_text lines = { 0 };

    nacre_text_add(&lines, "", 0);
    if (!headers)
        return lines.bytes;
    for (const struct nacre_json *at = headers->first; at; at = at->next) {
        /* One header must not become two. */
        if (at->kind != NACRE_JSON_STRING || strpbrk(at->key, ":\r\n ") || !at->key[0] ||
            memchr(at->text, '\n', at->length) || memchr(at->text, '\r', at->length) ||
            memchr(at->text, '\0', at->length))
            nacre_tool_fail("bad-arguments", "headers: a name without \":\" and spaces, "
                            "and a text of one line");
        nacre_text_addf(&lines, "%s: %s\n", at->key, at->text);
    }
    return lines.bytes;
}

static void read_head(const struct nacre_http_answer *from, struct answer *answer)
{
    static char text[NACRE_HTTP_HEADERS_MAX];
    uint32_t size = 0;
    size_t length;

    if (nacre_http_headers(from->handle, text, sizeof(text), &size) != NACRE_HTTP_OK)
        size = 0;
    if (size > sizeof(text))
        size = sizeof(text);
    if (!nacre_http_header(text, size, "Content-Type", answer->type_line,
                           sizeof(answer->type_line)))
        answer->type_line[0] = '\0';
    if (!nacre_http_header(text, size, "Content-Length", answer->length,
                           sizeof(answer->length)))
        answer->length[0] = '\0';
    length = strcspn(answer->type_line, "; \t");
    if (length >= sizeof(answer->type))
        length = 0;
    for (size_t i = 0; i < length; i++) {
        char sign = answer->type_line[i];

        answer->type[i] = (char)(sign >= 'A' && sign <= 'Z' ? sign | 0x20 : sign);
    }
    answer->type[length] = '\0';
}

static void read_body(uint32_t handle, struct answer *answer)
{
    size_t room = 65536;
    uint32_t count;
    int code;

    answer->body = nacre_arena(room + 1);
    for (;;) {
        if (answer->count == room) {
            if (room >= BODY_BYTES_MAX) {
                char more;

                code = nacre_http_read(handle, &more, 1, &count);
                answer->is_cut = code == NACRE_HTTP_OK && count > 0;
                break;
            }
            answer->body = nacre_arena_grow(answer->body, room + 1, room * 2 + 1);
            room *= 2;
        }
        code = nacre_http_read(handle, answer->body + answer->count,
                               (uint32_t)(room - answer->count), &count);
        if (code != NACRE_HTTP_OK || count == 0)
            break;
        answer->count += count;
    }
    answer->body[answer->count] = '\0';
    answer->broken = code;
    if (code == NACRE_HTTP_OK)
        return;
    if (answer->count == 0)
        fail_http(code);
    answer->broken_sentence = nacre_http_sentence();
}

/* ---- what it is ---- */

static bool ends(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);

    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

static bool is_json(const struct answer *answer)
{
    return strcmp(answer->type, "application/json") == 0 || ends(answer->type, "+json");
}

static bool starts_like_html(const struct answer *answer)
{
    const char *at = answer->body + strspn(answer->body, " \t\r\n");

    return strncasecmp(at, "<!doctype html", 14) == 0 || strncasecmp(at, "<html", 5) == 0;
}

static bool is_html(const struct answer *answer)
{
    return strcmp(answer->type, "text/html") == 0 ||
           strcmp(answer->type, "application/xhtml+xml") == 0 ||
           (!answer->type[0] && starts_like_html(answer));
}

static const char *magic_of(const struct answer *answer)
{
    static const struct {
        const char *bytes, *kind;
        size_t count;
    } magics[] = {
        { "\x89PNG\r\n", "a PNG image", 6 }, { "\xff\xd8\xff", "a JPEG image", 3 },
        { "GIF8", "a GIF image", 4 },        { "%PDF-", "a PDF document", 5 },
        { "PK\x03\x04", "a ZIP archive", 4 }, { "\x1f\x8b", "gzip", 2 },
        { "\x7f" "ELF", "an ELF program", 4 }, { "\0asm", "a WebAssembly module", 4 },
        { "RIFF", "a RIFF file (WebP, WAV, AVI)", 4 }, { "OggS", "an Ogg file", 4 },
        { "ID3", "an MP3 file", 3 },         { "wOF2", "a font", 4 },
    };

    for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++)
        if (answer->count >= magics[i].count &&
            memcmp(answer->body, magics[i].bytes, magics[i].count) == 0)
            return magics[i].kind;
    return NULL;
}

/* What a text never has; what the server calls it does not make it one. */
static bool is_binary(const struct answer *answer)
{
    static const char *const kinds[] = { "image/", "audio/", "video/", "font/" };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strncmp(answer->type, kinds[i], strlen(kinds[i])) == 0 &&
            !ends(answer->type, "+xml"))
            return true;
    return magic_of(answer) != NULL ||
           memchr(answer->body, '\0', answer->count < 8192 ? answer->count : 8192);
}

/* ---- what is told ---- */

static void tell_binary(const struct answer *answer)
{
    const char *magic = magic_of(answer);

    nacre_tool_say("%s, ", magic ? magic : "binary data");
    if (answer->is_cut && answer->length[0])
        nacre_tool_say("%s bytes", answer->length);
    else
        nacre_tool_say("%s%zu bytes", answer->is_cut ? "more than " : "", answer->count);
    nacre_tool_say("; not shown\n");
    nacre_tool_set("binary", nacre_json_bool(true));
    nacre_tool_set("kind", magic ? nacre_json_text(magic)
                                 : nacre_json_new(NACRE_JSON_NULL));
}

/* At most `max` bytes of it, whole characters only. */
static void tell_text(const char *bytes, size_t count, size_t max)
{
    struct nacre_text shown = { 0 };
    size_t cut = count, back = 0;

    if (count > max)
        for (cut = max; back < 3 && cut > 0 && ((unsigned char)bytes[cut] & 0xc0) == 0x80;
             back++)
            cut--;
    nacre_text_add(&shown, "", 0);
    (void)nacre_text_add_shown(&shown, bytes, cut);
    nacre_text_add(nacre_tool_content(), shown.bytes, shown.count);
    if (shown.count > 0 && shown.bytes[shown.count - 1] != '\n')
        nacre_tool_say("\n");
    if (cut < count)
        nacre_tool_say("(cut: %zu of %zu bytes are shown; a larger max_bytes shows "
                       "more)\n", cut, count);
    nacre_tool_set("truncated", nacre_json_bool(cut < count));
}

/* Numbers that are beyond 64 bits or a double become texts: a reader that can't hold
 * them would refuse the whole answer. */
static void make_portable(struct nacre_json *value)
{
    bool is_whole;

    for (struct nacre_json *at = value->first; at; at = at->next)
        make_portable(at);
    if (value->kind != NACRE_JSON_NUMBER)
        return;
    is_whole = strcspn(value->text, ".eE") >= value->length;
    if (is_whole ? nacre_json_int(value, 0) != nacre_json_int(value, 1)
                 : !isfinite(strtod(value->text, NULL)))
        value->kind = NACRE_JSON_STRING;
}

static bool tell_json(const struct answer *answer, size_t max)
{
    const char *fault;
    size_t offset, count;
    struct nacre_json *value = nacre_json_read(answer->body, answer->count, &fault,
                                               &offset);
    char *text;

    if (!value) {
        nacre_tool_say("(called JSON, but is none: %s at byte %zu)\n", fault, offset);
        return false;
    }
    text = nacre_json_write(value, 2, &count);
    tell_text(text, count, max);
    if (count <= max && answer->count <= JSON_STRUCTURED_MAX) {
        make_portable(value);
        nacre_tool_set("json", value);
    }
    return true;
}

/* The body as UTF-8, as far as it is known how. */
static void decode(struct answer *answer)
{
    char name[32];
    enum charset charset = charset_find(answer->type_line, answer->body, answer->count,
                                        is_html(answer), name);
    struct nacre_text text = { 0 };

    if (answer->count >= 3 && memcmp(answer->body, "\xef\xbb\xbf", 3) == 0) {
        answer->body += 3;
        answer->count -= 3;
    }
    if (charset == CHARSET_UNKNOWN && is_html(answer) &&
        !charset_is_utf8(answer->body, answer->count, answer->is_cut)) {
        nacre_tool_say("(no charset is said and it is no UTF-8: read as windows-1252)\n");
        charset = CHARSET_CP1252;
    }
    if (charset == CHARSET_OTHER)
        nacre_tool_say("(charset %s is not known here: bytes that are no UTF-8 are shown "
                       "as \\xNN)\n", name);
    if (charset != CHARSET_CP1252)
        return;
    nacre_text_add(&text, "", 0);
    charset_decode_cp1252(answer->body, answer->count, &text);
    answer->body = text.bytes;
    answer->count = text.count;
}

static void tell_html(const struct answer *answer, size_t max)
{
    struct html_page page;
    struct nacre_text title = { 0 };

    html_read(answer->body, answer->count, &page);
    if (page.title.count > 0) {
        (void)nacre_text_add_shown(&title, page.title.bytes, page.title.count);
        nacre_tool_say("Title: %s\n\n", title.bytes);
        nacre_tool_set("title", nacre_json_string(title.bytes, title.count));
    }
    if (page.text.count == 0)
        nacre_tool_say("(the page has no text; it may be made by scripts)\n");
    tell_text(page.text.bytes, page.text.count, max);
    nacre_tool_set("links", nacre_json_number((int64_t)page.link_count));
}

static void tell(struct answer *answer, size_t max, bool is_raw)
{
    struct nacre_text type = { 0 };

    nacre_text_add(&type, "", 0);
    (void)nacre_text_add_shown(&type, answer->type, strlen(answer->type));
    nacre_tool_say("HTTP %u, %s\n", (unsigned)answer->status,
                   type.count > 0 ? type.bytes : "no type said");
    nacre_tool_set("status", nacre_json_number(answer->status));
    nacre_tool_set("type", nacre_json_text(type.bytes));
    nacre_tool_set("bytes", nacre_json_number((int64_t)answer->count));
    if (answer->is_cut)
        nacre_tool_say("(only the first %zu bytes of it were read)\n", BODY_BYTES_MAX);
    if (answer->broken != NACRE_HTTP_OK) {
        nacre_tool_say("(it broke off after %zu bytes: %s: %s)\n", answer->count,
                       nacre_http_code_name(answer->broken), answer->broken_sentence);
        nacre_tool_set("broken", nacre_json_text(nacre_http_code_name(answer->broken)));
    }
    if (answer->count == 0)
        return;
    if (is_binary(answer)) {
        tell_binary(answer);
        return;
    }
    decode(answer);
    if (is_json(answer) && !is_raw && tell_json(answer, max))
        return;
    if (is_html(answer) && !is_raw)
        tell_html(answer, max);
    else
        tell_text(answer->body, answer->count, max);
}

int main(void)
{
    const struct nacre_json *args = nacre_tool_arguments();
    const struct nacre_json *body = nacre_json_get(args, "body");
    struct nacre_http_call call = {
        .url = nacre_tool_text(args, "url", NULL),
        .method = nacre_tool_text(args, "method", body ? "POST" : "GET"),
        .headers = header_lines(nacre_json_get(args, "headers")),
    };
    int64_t max = nacre_tool_int(args, "max_bytes", SHOWN_BYTES);
    struct nacre_http_answer from;
    struct answer answer = { 0 };
    int code;

    if (!call.url)
        nacre_tool_fail("bad-arguments", "url is a text");
    if (strcmp(call.method, "GET") != 0 && strcmp(call.method, "HEAD") != 0 &&
        strcmp(call.method, "POST") != 0)
        nacre_tool_fail("bad-arguments", "method is GET, HEAD or POST");
    if (body && strcmp(call.method, "POST") != 0)
        nacre_tool_fail("bad-arguments", "only POST has a body");
    if (body) {
        call.body = body->text;
        call.body_size = body->length;
    }
    code = nacre_http_send(&call, &from);
    if (code != NACRE_HTTP_OK)
        fail_http(code);
    answer.status = from.status;
    read_head(&from, &answer);
    read_body(from.handle, &answer);
    (void)nacre_http_close(from.handle);
    tell(&answer, max < 1 ? 1 : (size_t)max, nacre_tool_flag(args, "raw", false));
    return nacre_tool_answer();
}
