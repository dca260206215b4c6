#ifndef NACRE_POLICY_ENTRIES_H
#define NACRE_POLICY_ENTRIES_H

#include "schema.h"

/* The entries of lists that more than one dialect has. */
nacre_entry_read nacre_entry_host;        /* lower case, no dot at the end */
nacre_entry_read nacre_entry_mount_path;  /* normalised, absolute or relative */
nacre_entry_read nacre_entry_denied_path; /* normalised, absolute */
nacre_entry_read nacre_entry_command;     /* as written, not empty */
nacre_entry_read nacre_entry_text;        /* as written, not empty */
nacre_entry_read nacre_entry_syscall;     /* as written, a name that is one */

#endif
