#ifndef NACRE_CLI_REPORT_H
#define NACRE_CLI_REPORT_H

#include <jansson.h>

#include "args.h"
#include "nacre/hash.h"
#include "nacre/policy.h"
#include "nacre/result.h"

/* Builders below return NULL when memory runs out; json_pack("o") passes that on, so
 * that one check at cli_json_print() is enough. */

/* Text of any origin: what is not UTF-8 is escaped. */
json_t *cli_json_text(const char *text);
json_t *cli_json_digest(const struct nacre_digest *digest);
json_t *cli_json_mechanisms(const struct nacre_mechanism *mechanisms, uint32_t count);
json_t *cli_json_error(const struct nacre_error *err); /* without the "error" around it */

/* To stdout: one line, or indented on a terminal.  Takes `value`; false (and said)
 * when it is NULL. */
bool cli_json_print(json_t *value);

/* Nacre failed: says so on stderr, with --json also as {"error": ...} on stdout.
 * Returns the exit status. */
int cli_fail(const struct cli_args *args, const struct nacre_error *err);

/* The end of "1 run", "2 runs". */
static inline const char *cli_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* "policy.yaml:12:9", or "default" where nobody wrote it.  Returns `ret_text`. */
#define CLI_PLACE 320
const char *cli_place(char ret_text[CLI_PLACE], const struct nacre_policy *policy,
                      struct nacre_place place);

/* The same for any document. */
const char *cli_place_of(char ret_text[CLI_PLACE], const char *source,
                         struct nacre_place place);

#endif
