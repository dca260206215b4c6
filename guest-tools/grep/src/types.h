#ifndef NACRE_GREP_TYPES_H
#define NACRE_GREP_TYPES_H

#include "choice.h"

/* The files of a language, by their names; an unknown one ends the tool. */
void types_add(struct choice *choice, const char *type);

#endif
