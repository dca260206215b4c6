#include "basic.h"

#include <string.h>
#include <strings.h>

#include "nacre/base64.h"

static const char scheme[] = "Basic ";

/* Piece by piece, so that nothing of it is ever outside of locked memory for long. */
bool door_basic_read(const char *value, size_t count, struct door_locked *out)
{
    bool good = true;

    if (count < sizeof(scheme) - 1 || strncasecmp(value, scheme, sizeof(scheme) - 1) != 0)
        return false;
    value += sizeof(scheme) - 1;
    count -= sizeof(scheme) - 1;
    while (count > 0 && value[0] == ' ')
        value++, count--;
    for (size_t i = 0; i < count && good; i += 4) {
        char three[3];
        size_t found;

        good = nacre_base64_read(NACRE_BASE64_PLAIN, value + i,
                                 count - i < 4 ? count - i : 4, three, sizeof(three),
                                 &found) &&
               (found == 3 || i + 4 >= count) && /* padding is the end */
               door_locked_add(out, three, found);
        explicit_bzero(three, sizeof(three));
    }
    return good;
}

bool door_basic_write(const char *bytes, size_t count, struct door_locked *out)
{
    bool good = door_locked_add(out, scheme, sizeof(scheme) - 1);

    for (size_t i = 0; i < count && good; i += 3) {
        char four[NACRE_BASE64_SIZE(3)];
        size_t length = nacre_base64_write(NACRE_BASE64_PLAIN, bytes + i,
                                           count - i < 3 ? count - i : 3, four);

        good = door_locked_add(out, four, length);
        explicit_bzero(four, sizeof(four));
    }
    return good;
}
