#ifndef NACRE_TEST_CONFIG_DUMP_H
#define NACRE_TEST_CONFIG_DUMP_H

#include "nacre/buf.h"
#include "nacre/config.h"

/* Everything that a configuration says, a line each, with its place; what it does not say
 * is not there.  Memory is not short in a test: it ends the process. */
void config_dump(const struct nacre_config *config, struct nacre_buf *out);

#endif
