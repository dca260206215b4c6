#ifndef NACRE_POLICY_ENTRIES_H
#define NACRE_POLICY_ENTRIES_H

#include "schema.h"

/*
 * Entries of lists, each checked and brought to one spelling.  `node` is a text.
 */
typedef enum nacre_status nacre_entry_read(const struct nacre_reading *at,
                                           const struct nacre_node *node, char **ret_text,
                                           struct nacre_error *err);

nacre_entry_read nacre_entry_host;        /* lower case, no dot at the end */
nacre_entry_read nacre_entry_mount_path;  /* normalised, absolute or relative */
nacre_entry_read nacre_entry_denied_path; /* normalised, absolute */
nacre_entry_read nacre_entry_command;     /* as written, not empty */

#endif
