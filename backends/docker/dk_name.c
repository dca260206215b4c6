#include "dk_name.h"

#include <string.h>

#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define CONTAINER_MAX 128
#define IMAGE_MAX 512

static bool is_made_of(const char *text, const char *letters, size_t length_max)
{
    size_t length = strnlen(text, length_max + 1);

    return length > 0 && length <= length_max && strspn(text, letters) == length &&
           strchr(DIGITS LETTERS, text[0]);
}

bool dk_name_is_container(const char *name)
{
    return is_made_of(name, DIGITS LETTERS "_.-", CONTAINER_MAX);
}

bool dk_name_is_image(const char *name)
{
    const char *part = name;

    if (!is_made_of(name, DIGITS LETTERS "_.-/:@", IMAGE_MAX))
        return false;
    /* The engine's router tidies paths: "a/../../containers" would be another call. */
    for (;;) {
        size_t length = strcspn(part, "/");

        if (length == 0 || strspn(part, ".") == length)
            return false;
        if (part[length] == '\0')
            return true;
        part += length + 1;
    }
}

bool dk_name_is_id(const char *text)
{
    return strnlen(text, 65) == 64 && strspn(text, DIGITS "abcdef") == 64;
}

bool dk_name_is_image_id(const char *text)
{
    return strncmp(text, "sha256:", 7) == 0 && dk_name_is_id(text + 7);
}

enum nacre_status dk_query_add(struct nacre_buf *path, const char *key, const char *value,
                               struct nacre_error *err)
{
    char mark = path->size > 0 && strchr(path->bytes, '?') ? '&' : '?';
    enum nacre_status status = nacre_buf_addf(path, err, "%c%s=", mark, key);

    for (const char *c = value; status == NACRE_OK && *c; c++)
        status = strchr(DIGITS LETTERS "-._~", *c)
                     ? nacre_buf_add(path, c, 1, err)
                     : nacre_buf_addf(path, err, "%%%02X", (unsigned char)*c);
    return status;
}
