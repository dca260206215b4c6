#ifndef NACRE_HTML_H
#define NACRE_HTML_H

#include "nacre_json.h"

/*
 * A page as text to read: title, headings, paragraphs, lists, tables, preformatted text,
 * links as [text](href), images as ![alt].  Scripts, styles, comments and what is marked
 * hidden are left out.  One pass, linear in the page, whatever it holds; nesting costs
 * nothing.
 */
struct html_page {
    struct nacre_text title;
    struct nacre_text text;
    size_t link_count;
};

void html_read(const char *bytes, size_t count, struct html_page *ret_page);

/* At "&": what the reference stands for, as UTF-8 in `ret_bytes` (at most 4), and how
 * long it is in all; 0: it is none. */
size_t html_entity(const char *at, const char *end, char ret_bytes[4],
                   size_t *ret_byte_count);
size_t html_utf8(uint32_t character, char ret_bytes[4]);
/* What windows-1252 means by 0x80 to 0x9f. */
uint32_t html_cp1252(unsigned char byte);

/* ---- how the bytes are to be read ---- */

enum charset {
    CHARSET_UNKNOWN, /* not said */
    CHARSET_UTF8,
    CHARSET_CP1252,  /* and latin-1, which every browser reads as that */
    CHARSET_OTHER,   /* said, and not known here */
};

/* By Content-Type's "charset=", a byte order mark, or a <meta> near the start.  The name
 * as it was said goes to `ret_name`. */
enum charset charset_find(const char *content_type, const char *bytes, size_t count,
                          bool is_html, char ret_name[32]);
void charset_decode_cp1252(const char *bytes, size_t count, struct nacre_text *out);
/* `is_cut`: the last character may lack its end. */
bool charset_is_utf8(const char *bytes, size_t count, bool is_cut);

#endif
