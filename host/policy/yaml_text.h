#ifndef NACRE_POLICY_YAML_TEXT_H
#define NACRE_POLICY_YAML_TEXT_H

#include "nacre/buf.h"

/* Appends `text`, which is UTF-8, as a scalar that every YAML reads as exactly this text:
 * plain where nothing else could be meant, else in double quotes, on one line. */
NACRE_MUST_CHECK enum nacre_status nacre_yaml_text_add(struct nacre_buf *out,
                                                       const char *text,
                                                       struct nacre_error *err);

#endif
