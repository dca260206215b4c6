#ifndef NACRE_APPROVALS_SOUL_H
#define NACRE_APPROVALS_SOUL_H

#include "nacre/approval.h"

/*
 * The operator's SOUL.md.  What it approves stands in fenced blocks:
 *
 *     ```nacre-approve
 *     tool: exec
 *     arguments: sha256:<hex> | *
 *     expires: 2026-12-31T00:00:00Z
 *     ```
 *
 * Each block has exactly these three lines.  The file has to lie outside every directory
 * that a guest may write, belong to the operator, be closed to other writers all the way
 * up, and be the one that was trusted by `nacre approvals trust`: a change approves
 * nothing until it is trusted again.
 */

/* Pure: is the tool with these arguments approved at this time?  A block that can't be
 * read is a failure with its place: half a file approves nothing. */
NACRE_MUST_CHECK enum nacre_status soul_judge(const char *source, const char *bytes,
                                              size_t count, const char *tool,
                                              const struct nacre_digest *arguments,
                                              uint64_t now_ms, bool *ret_approved,
                                              struct nacre_error *err);

/* The file, checked and read once.  *ret_why says why it approves nothing ("" when it may). */
NACRE_MUST_CHECK enum nacre_status soul_ask(const struct nacre_approval_options *options,
                                            const char *tool, const char *arguments,
                                            bool *ret_approved, char *ret_why,
                                            size_t why_size, struct nacre_error *err);

#endif
