/*
 * Any bytes as a page: its text is no longer than a few times the page, and is UTF-8
 * where the page is.  Any bytes as windows-1252 become UTF-8.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "html.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data;
    struct nacre_text text = { 0 };
    struct html_page page;
    char name[32];

    nacre_text_add(&text, "", 0);
    (void)charset_find("text/html", bytes, size, true, name);
    charset_decode_cp1252(bytes, size, &text);
    assert(charset_is_utf8(text.bytes, text.count, false));

    html_read(bytes, size, &page);
    assert(page.text.count <= 16 * size + 64);
    assert(page.title.count <= 16 * 500 + 64);
    if (charset_is_utf8(bytes, size, false))
        assert(charset_is_utf8(page.text.bytes, page.text.count, false));
    nacre_arena_reset();
    return 0;
}
