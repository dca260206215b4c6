#ifndef NACRE_AUTHOR_TEMPLATES_H
#define NACRE_AUTHOR_TEMPLATES_H

/* The files of a new tool; `language` is "all" for those that each has.  __NAME__ and
 * __LANGUAGE__ stand for what is asked for.  The last row has no text. */
struct author_template {
    const char *language, *path, *text;
};
extern const struct author_template author_templates[];

#endif
