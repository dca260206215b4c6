/*
 * Reads HTML that anybody wrote: nothing of it is trusted, and nothing is looked at
 * twice.  What never ends (a comment, a script, a tag) ends with the page.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "html.h"

#define NAME_BYTES 16
#define HREF_BYTES_MAX 2000
#define TITLE_BYTES_MAX 500
#define LIST_DEPTH_MAX 16

enum effect {
    EFFECT_NONE,
    EFFECT_BLOCK, /* an empty line before and behind */
    EFFECT_LINE,  /* a line of its own */
    EFFECT_DROP,  /* with all up to its end tag, which is text, not tags */
    EFFECT_SKIP,  /* with all in it */
};

struct tag {
    char name[NAME_BYTES];
    bool is_end, is_hidden;
    const char *href, *alt; /* or NULL */
    size_t href_length, alt_length;
};

struct reader {
    const char *at, *end;
    struct html_page *page;
    unsigned breaks;      /* line ends that come before the next text */
    bool has_space;       /* a space, too */
    unsigned pre_depth, list_depth;
    unsigned numbers[LIST_DEPTH_MAX]; /* of ordered lists; 0: not ordered */
    const char *href;     /* of the link that is open */
    size_t href_length;
    bool link_has_text;
    char skipped[NAME_BYTES]; /* what is left out, and how deep in it */
    unsigned skipped_depth;
};

static bool is_blank(char sign)
{
    return sign == ' ' || sign == '\t' || sign == '\n' || sign == '\r' || sign == '\f';
}

static bool is_letter(char sign)
{
    return (sign >= 'a' && sign <= 'z') || (sign >= 'A' && sign <= 'Z');
}

static enum effect effect_of(const char *name)
{
    static const struct {
        enum effect effect;
        const char *names; /* each between blanks */
    } effects[] = {
        { EFFECT_BLOCK, " p h1 h2 h3 h4 h5 h6 ul ol dl table pre blockquote section "
                        "article header footer nav aside main form fieldset figure "
                        "address details hr body title " },
        { EFFECT_LINE, " div li tr dt dd option summary figcaption caption legend br " },
        { EFFECT_DROP, " script style iframe noembed noframes xmp " },
        { EFFECT_SKIP, " svg template math object " },
    };
    char word[NAME_BYTES + 2];

    (void)snprintf(word, sizeof(word), " %s ", name);
    for (size_t i = 0; i < sizeof(effects) / sizeof(effects[0]); i++)
        if (strstr(effects[i].names, word))
            return effects[i].effect;
    return EFFECT_NONE;
}

/* ---- what comes out ---- */

static void flush(struct reader *reader)
{
    struct nacre_text *text = &reader->page->text;

    if (text->count > 0) {
        for (; reader->breaks > 0; reader->breaks--)
            nacre_text_add(text, "\n", 1);
        if (reader->has_space && text->bytes[text->count - 1] != '\n')
            nacre_text_add(text, " ", 1);
    }
    reader->breaks = 0;
    reader->has_space = false;
    if (reader->href && !reader->link_has_text) {
        nacre_text_add(text, "[", 1);
        reader->link_has_text = true;
    }
}

static void put(struct reader *reader, const char *bytes, size_t count)
{
    flush(reader);
    nacre_text_add(&reader->page->text, bytes, count);
}

static void put_break(struct reader *reader, unsigned breaks)
{
    if (reader->breaks < breaks)
        reader->breaks = breaks;
    reader->has_space = false;
}

/* Text with its references, its blanks as one outside of <pre>. */
static void put_text(struct reader *reader, const char *at, const char *end)
{
    const char *from;
    char bytes[4];
    size_t length, count;

    while (at < end) {
        if (reader->pre_depth == 0 && is_blank(*at)) {
            reader->has_space = true;
            at++;
            continue;
        }
        length = *at == '&' ? html_entity(at, end, bytes, &count) : 0;
        if (length > 0) {
            put(reader, bytes, count);
            at += length;
            continue;
        }
        from = at++;
        while (at < end && *at != '&' && (reader->pre_depth > 0 || !is_blank(*at)))
            at++;
        put(reader, from, (size_t)(at - from));
    }
}

/* Of a URL only what can't be mistaken for the text around it. */
static void put_href(struct reader *reader)
{
    struct nacre_text *text = &reader->page->text;
    char bytes[4];
    size_t length, count;
    const char *at = reader->href, *end = at + reader->href_length;

    while (at < end) {
        length = *at == '&' ? html_entity(at, end, bytes, &count) : 0;
        if (length == 0) {
            bytes[0] = *at;
            count = length = 1;
        }
        at += length;
        if (count == 1 && (bytes[0] == '(' || bytes[0] == ')' || bytes[0] == ' '))
            nacre_text_addf(text, "%%%02x", (unsigned)bytes[0]);
        else if (count > 1 || (unsigned char)bytes[0] > ' ')
            nacre_text_add(text, bytes, count);
    }
}

static void close_link(struct reader *reader)
{
    if (reader->href && reader->link_has_text) {
        nacre_text_add(&reader->page->text, "](", 2);
        put_href(reader);
        nacre_text_add(&reader->page->text, ")", 1);
        reader->page->link_count++;
    }
    reader->href = NULL;
    reader->link_has_text = false;
}

static void open_link(struct reader *reader, const struct tag *tag)
{
    static const char *const useless[] = { "#", "javascript:", "data:" };

    close_link(reader);
    if (!tag->href || tag->href_length == 0 || tag->href_length > HREF_BYTES_MAX)
        return;
    for (size_t i = 0; i < sizeof(useless) / sizeof(useless[0]); i++)
        if (tag->href_length >= strlen(useless[i]) &&
            strncasecmp(tag->href, useless[i], strlen(useless[i])) == 0)
            return;
    reader->href = tag->href;
    reader->href_length = tag->href_length;
}

/* ---- tags ---- */

static void read_attribute(struct reader *reader, struct tag *tag)
{
    const char *name = reader->at, *value;
    size_t length, value_length = 0;
    char quote;

    while (reader->at < reader->end && !is_blank(*reader->at) && *reader->at != '>' &&
           *reader->at != '=' && *reader->at != '/')
        reader->at++;
    length = (size_t)(reader->at - name);
    if (length == 0)
        reader->at++;
    while (reader->at < reader->end && is_blank(*reader->at))
        reader->at++;
    value = reader->at;
    if (reader->at < reader->end && *reader->at == '=') {
        reader->at++;
        while (reader->at < reader->end && is_blank(*reader->at))
            reader->at++;
        value = reader->at;
        quote = reader->at < reader->end ? *reader->at : '\0';
        if (quote == '"' || quote == '\'') {
            value++;
            reader->at = memchr(value, quote, (size_t)(reader->end - value));
            if (!reader->at)
                reader->at = reader->end;
            value_length = (size_t)(reader->at - value);
            reader->at += reader->at < reader->end;
        } else {
            while (reader->at < reader->end && !is_blank(*reader->at) &&
                   *reader->at != '>')
                reader->at++;
            value_length = (size_t)(reader->at - value);
        }
    }
    while (value_length > 0 && is_blank(*value)) {
        value++;
        value_length--;
    }
    if (length == 4 && strncasecmp(name, "href", 4) == 0) {
        tag->href = value;
        tag->href_length = value_length;
    } else if (length == 3 && strncasecmp(name, "alt", 3) == 0) {
        tag->alt = value;
        tag->alt_length = value_length;
    } else if (length == 6 && strncasecmp(name, "hidden", 6) == 0) {
        tag->is_hidden = true;
    }
}

/* At "<" and a letter or "/"; behind ">" then. */
static void read_tag(struct reader *reader, struct tag *ret_tag)
{
    size_t length = 0;

    *ret_tag = (struct tag){ .is_end = reader->at[1] == '/' };
    reader->at += 1 + ret_tag->is_end;
    for (; reader->at < reader->end && !is_blank(*reader->at) && *reader->at != '>' &&
           *reader->at != '/'; reader->at++)
        if (length < NAME_BYTES - 1)
            ret_tag->name[length++] = (char)(is_letter(*reader->at) ? *reader->at | 0x20
                                                                    : *reader->at);
    while (reader->at < reader->end && *reader->at != '>') {
        if (is_blank(*reader->at) || *reader->at == '/')
            reader->at++;
        else
            read_attribute(reader, ret_tag);
    }
    reader->at += reader->at < reader->end;
}

/* From behind <name> to before </name: what is between is not HTML. */
static const char *raw_end(const struct reader *reader, const char *name)
{
    size_t length = strlen(name);
    const char *at = reader->at;

    while ((at = memchr(at, '<', (size_t)(reader->end - at)))) {
        if ((size_t)(reader->end - at) > length + 2 && at[1] == '/' &&
            strncasecmp(at + 2, name, length) == 0 && !is_letter(at[2 + length]))
            return at;
        at++;
    }
    return reader->end;
}

static void read_title(struct reader *reader)
{
    const char *end = raw_end(reader, "title");
    struct html_page *page = reader->page, inner = { 0 };
    struct reader title = { .page = &inner };

    if (page->title.count == 0) {
        put_text(&title, reader->at,
                 end - reader->at > TITLE_BYTES_MAX ? reader->at + TITLE_BYTES_MAX : end);
        page->title = inner.text;
    }
    reader->at = end;
}

static void put_item(struct reader *reader)
{
    unsigned depth = reader->list_depth < LIST_DEPTH_MAX ? reader->list_depth
                                                         : LIST_DEPTH_MAX;
    char marker[LIST_DEPTH_MAX * 2 + 16];
    unsigned *number = depth > 0 ? &reader->numbers[depth - 1] : NULL;
    int indent = depth > 0 ? (int)(depth - 1) * 2 : 0, length;

    length = number && *number > 0
                 ? snprintf(marker, sizeof(marker), "%*s%u. ", indent, "", (*number)++)
                 : snprintf(marker, sizeof(marker), "%*s- ", indent, "");
    put(reader, marker, (size_t)length);
}

static void open_list(struct reader *reader, bool is_ordered)
{
    if (reader->list_depth > 0) /* one in another: no empty line */
        reader->breaks = 1;
    if (reader->list_depth < LIST_DEPTH_MAX)
        reader->numbers[reader->list_depth] = is_ordered;
    if (reader->list_depth < UINT32_MAX)
        reader->list_depth++;
}

static void open_tag(struct reader *reader, const struct tag *tag)
{
    const char *name = tag->name;
    char heading[] = "###### ";

    if (strcmp(name, "a") == 0) {
        open_link(reader, tag);
    } else if (strcmp(name, "img") == 0 && tag->alt_length > 0) {
        put(reader, "![", 2);
        put_text(reader, tag->alt, tag->alt + tag->alt_length);
        put(reader, "]", 1);
    } else if (name[0] == 'h' && name[1] >= '1' && name[1] <= '6' && !name[2]) {
        put(reader, heading + ('6' - name[1]), (size_t)(name[1] - '0') + 1);
    } else if (strcmp(name, "ul") == 0 || strcmp(name, "ol") == 0) {
        open_list(reader, name[0] == 'o');
    } else if (strcmp(name, "li") == 0) {
        put_item(reader);
    } else if (strcmp(name, "pre") == 0) {
        reader->pre_depth++;
    } else if (strcmp(name, "hr") == 0) {
        put(reader, "---", 3);
        put_break(reader, 2);
    } else if ((strcmp(name, "td") == 0 || strcmp(name, "th") == 0) &&
               reader->breaks == 0 && reader->page->text.count > 0) {
        reader->has_space = true;
        put(reader, "| ", 2);
    }
}

static void close_tag(struct reader *reader, const struct tag *tag)
{
    if (strcmp(tag->name, "a") == 0)
        close_link(reader);
    else if (strcmp(tag->name, "pre") == 0 && reader->pre_depth > 0)
        reader->pre_depth--;
    else if ((strcmp(tag->name, "ul") == 0 || strcmp(tag->name, "ol") == 0) &&
             reader->list_depth > 0)
        reader->list_depth--;
}

static void take_tag(struct reader *reader, const struct tag *tag)
{
    enum effect effect = effect_of(tag->name);
    bool may_hide = strcmp(tag->name, "div") == 0 || strcmp(tag->name, "span") == 0 ||
                    strcmp(tag->name, "section") == 0;

    if (reader->skipped_depth > 0) {
        if (strcmp(tag->name, reader->skipped) == 0)
            reader->skipped_depth = tag->is_end ? reader->skipped_depth - 1
                                                : reader->skipped_depth + 1;
        return;
    }
    if (!tag->is_end && (effect == EFFECT_SKIP || (may_hide && tag->is_hidden))) {
        memcpy(reader->skipped, tag->name, sizeof(reader->skipped));
        reader->skipped_depth = 1;
        return;
    }
    if (strcmp(tag->name, "title") == 0 && !tag->is_end) {
        read_title(reader);
        return;
    }
    if (effect == EFFECT_BLOCK)
        put_break(reader, 2);
    else if (effect == EFFECT_LINE)
        put_break(reader, 1);
    if (tag->is_end)
        close_tag(reader, tag);
    else
        open_tag(reader, tag);
}

/* At "<!" or "<?": a comment, a doctype. */
static void skip_declaration(struct reader *reader)
{
    bool is_comment = reader->end - reader->at >= 4 && memcmp(reader->at, "<!--", 4) == 0;
    const char *at = reader->at + (is_comment ? 4 : 2);

    /* "<!-->" ends, too: its dashes count for both. */
    while ((at = memchr(at, '>', (size_t)(reader->end - at)))) {
        at++;
        if (!is_comment || (at[-2] == '-' && at[-3] == '-'))
            break;
    }
    reader->at = at ? at : reader->end;
}

void html_read(const char *bytes, size_t count, struct html_page *ret_page)
{
    struct reader reader = { .at = bytes, .end = bytes + count, .page = ret_page };
    const char *from;
    struct tag tag;

    *ret_page = (struct html_page){ 0 };
    nacre_text_add(&ret_page->text, "", 0);
    while (reader.at < reader.end) {
        const char *at = reader.at;
        char next = reader.end - at > 1 ? at[1] : '\0';
        char after = reader.end - at > 2 ? at[2] : '\0';

        if (*at == '<' && (next == '!' || next == '?')) {
            skip_declaration(&reader);
        } else if (*at == '<' && (is_letter(next) || (next == '/' && is_letter(after)))) {
            read_tag(&reader, &tag);
            if (!tag.is_end && effect_of(tag.name) == EFFECT_DROP)
                reader.at = raw_end(&reader, tag.name);
            else
                take_tag(&reader, &tag);
        } else {
            from = at;
            reader.at = memchr(at + 1, '<', (size_t)(reader.end - at - 1));
            if (!reader.at)
                reader.at = reader.end;
            if (reader.skipped_depth == 0)
                put_text(&reader, from, reader.at);
        }
    }
    close_link(&reader);
}
