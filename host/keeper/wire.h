#ifndef NACRE_KEEPER_WIRE_H
#define NACRE_KEEPER_WIRE_H

#include "nacre/error.h"
#include "nacre/keeper.h"
#include "nacre/plan.h"
#include "nacre/result.h"
#include "nacre/tool.h"

/*
 * A run as text, between a client and the keeper: JSON objects in which every field has
 * to be there and no other may be.  Only what an executor reads travels: a plan's
 * decisions stay with the client, who explains and records; callbacks and fds are the
 * protocol's affair.
 */
struct json_t; /* jansson's; the caller owns what it gets */

/* NULL only when memory is short. */
struct json_t *nacre_wire_plan(const struct nacre_plan *plan);
struct json_t *nacre_wire_request(const struct nacre_request *request);
struct json_t *nacre_wire_tool(const struct nacre_tool *tool); /* a command or a text */
struct json_t *nacre_wire_result(const struct nacre_result *result); /* without output */
struct json_t *nacre_wire_error(const struct nacre_error *err);
struct json_t *nacre_wire_mechanism(const struct nacre_mechanism *mechanism);
struct json_t *nacre_wire_box(const struct nacre_box_info *info);
struct json_t *nacre_wire_choice(const struct nacre_keeper_choice *choice);

/* NACRE_ERR_PARSE names the field that is missing, unknown or of another kind. */
NACRE_MUST_CHECK enum nacre_status nacre_wire_read_plan(const struct json_t *json,
                                                        struct nacre_plan **ret_plan,
                                                        struct nacre_error *err);
NACRE_MUST_CHECK enum nacre_status nacre_wire_read_tool(const struct json_t *json,
                                                        struct nacre_tool **ret_tool,
                                                        struct nacre_error *err);
/* Into a result that is new; its output is left as it is.  After a failure the result
 * holds nothing that can be used. */
NACRE_MUST_CHECK enum nacre_status nacre_wire_read_result(const struct json_t *json,
                                                          struct nacre_result *result,
                                                          struct nacre_error *err);
/* The failure that it tells of, in *ret_failure. */
NACRE_MUST_CHECK enum nacre_status nacre_wire_read_error(const struct json_t *json,
                                                         struct nacre_error *ret_failure,
                                                         struct nacre_error *err);
NACRE_MUST_CHECK enum nacre_status
nacre_wire_read_mechanism(const struct json_t *json,
                          struct nacre_mechanism *ret_mechanism, struct nacre_error *err);
NACRE_MUST_CHECK enum nacre_status nacre_wire_read_box(const struct json_t *json,
                                                       struct nacre_box_info *ret_info,
                                                       struct nacre_error *err);

/* These own their texts once they have been read; clear() is due after success only. */
NACRE_MUST_CHECK enum nacre_status
nacre_wire_read_request(const struct json_t *json, struct nacre_request *ret_request,
                        struct nacre_error *err);
void nacre_wire_request_clear(struct nacre_request *request);
NACRE_MUST_CHECK enum nacre_status
nacre_wire_read_choice(const struct json_t *json, struct nacre_keeper_choice *ret_choice,
                       struct nacre_error *err);
void nacre_wire_choice_clear(struct nacre_keeper_choice *choice);

#endif
