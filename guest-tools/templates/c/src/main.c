#include <ctype.h>
#include <string.h>

#include "nacre_tool.h"

int main(void)
{
    const struct nacre_json *args = nacre_tool_arguments();
    const char *text = nacre_tool_text(args, "text", "");
    int64_t lines = 0, words = 0;
    bool within = false;

    for (; *text; text++) {
        lines += *text == '\n';
        words += !isspace((unsigned char)*text) && !within;
        within = !isspace((unsigned char)*text);
    }
    nacre_tool_say("%lld lines, %lld words", (long long)lines, (long long)words);
    nacre_tool_set("lines", nacre_json_number(lines));
    nacre_tool_set("words", nacre_json_number(words));
    return nacre_tool_answer();
}
