#include "nacre/path.h"

#include <string.h>

bool nacre_path_normalise(const char *path, char *ret_path, size_t size)
{
    bool absolute = path[0] == '/';
    size_t start = absolute ? 1 : 0; /* where the components begin in ret_path */
    size_t used = start;

    if (size < 2)
        return false;
    if (absolute)
        ret_path[0] = '/';
    while (*path) {
        size_t length = strcspn(path, "/");

        if (length == 2 && path[0] == '.' && path[1] == '.') {
            if (used == start && !absolute)
                return false;
            while (used > start && ret_path[used - 1] != '/')
                used--;
            if (used > start)
                used--; /* the slash before the component that was dropped */
        } else if (length > 0 && !(length == 1 && path[0] == '.')) {
            if (length + 2 > size - used)
                return false;
            if (used > start)
                ret_path[used++] = '/';
            memcpy(ret_path + used, path, length);
            used += length;
        }
        path += length;
        path += *path == '/';
    }
    if (used == 0)
        ret_path[used++] = '.';
    ret_path[used] = '\0';
    return true;
}

bool nacre_path_is_below(const char *path, const char *top, const char **ret_rest)
{
    size_t length = strlen(top);
    const char *rest;

    if (strcmp(top, ".") == 0) {
        if (path[0] == '/')
            return false;
        rest = strcmp(path, ".") == 0 ? "" : path;
    } else if (strcmp(top, "/") == 0) {
        if (path[0] != '/')
            return false;
        rest = path + 1;
    } else {
        if (strncmp(path, top, length) != 0 ||
            (path[length] != '\0' && path[length] != '/'))
            return false;
        rest = path[length] == '/' ? path + length + 1 : path + length;
    }
    if (ret_rest)
        *ret_rest = rest;
    return true;
}
