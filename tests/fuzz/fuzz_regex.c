/*
 * Any pattern over any text: the first byte says how, then comes the pattern up to a NUL,
 * then the text.  With literals and DFA, with the DFA alone and with neither the same
 * lines are found, and where a line is found there are bounds inside of it.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "glob.h"
#include "regex.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LINES_MAX 64
#define PROGRAM_MAX 3000 /* more is only slower */

static size_t search(struct nacre_regex *regex, const char *text, size_t count,
                     struct nacre_regex_line lines[LINES_MAX])
{
    size_t found = 0, from = 0;

    while (found < LINES_MAX &&
           nacre_regex_next_line(regex, text, count, from, &lines[found])) {
        const struct nacre_regex_line *line = &lines[found++];
        size_t start, end;

        assert(line->start >= from && line->end >= line->start && line->end <= count);
        assert(memchr(text + line->start, '\n', line->end - line->start) == NULL);
        assert(nacre_regex_bounds(regex, text + line->start, line->end - line->start,
                                  &start, &end));
        assert(start <= end && end <= line->end - line->start);
        from = line->end + 1;
    }
    return found;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nacre_regex_line one[LINES_MAX], other[LINES_MAX];
    const char *pattern = (const char *)data + 1, *nul, *text;
    struct nacre_regex_error error;
    struct nacre_regex *regex;
    size_t count, found;

    if (size < 2 || !(nul = memchr(pattern, '\0', size - 1)))
        return 0;
    text = nul + 1;
    count = size - (size_t)(text - (const char *)data);
    (void)glob_matches(pattern, (size_t)(nul - pattern), text, count);
    regex = nacre_regex_new(pattern, (size_t)(nul - pattern), data[0] & 15, &error);
    if (!regex) {
        assert(error.text[0] != '\0' && error.offset <= size);
        return 0;
    }
    if (nacre_regex_size(regex) <= PROGRAM_MAX) {
        found = search(regex, text, count, one);
        for (int way = 1; way < 3; way++) {
            nacre_regex_disable(regex, true, way > 1);
            assert(search(regex, text, count, other) == found);
            for (size_t i = 0; i < found; i++)
                assert(one[i].start == other[i].start);
        }
    }
    nacre_regex_free(regex);
    return 0;
}
