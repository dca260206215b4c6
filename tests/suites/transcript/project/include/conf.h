#ifndef CONF_H
#define CONF_H

#include <stddef.h>

/* The text behind `key =` in a configuration's lines; false when there is no such key. */
int conf_get(const char *lines, const char *key, char *ret_value, size_t size);

/* Without the blanks at both ends, in place. */
char *conf_trim(char *text);

#endif
