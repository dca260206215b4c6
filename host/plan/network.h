#ifndef NACRE_PLAN_NETWORK_H
#define NACRE_PLAN_NETWORK_H

#include "nacre/plan.h"

/* Private to host/plan: what a policy's network and a request's secrets come to. */

#define RULE_DENIED_HOSTS "capabilities.network.denied_hosts"
#define RULE_RESOLVERS "capabilities.network.resolvers"
#define RULE_FIXED_HOSTS "capabilities.network.fixed_hosts"
#define RULE_SSRF "capabilities.network.ssrf_protection"
#define RULE_LEAKS "capabilities.secrets.leak_detection.enabled"
#define RULE_PRIVATE RULE_SSRF ".block_private_ips"

#define NACRE_WAIVER_TUNNEL "tunnel-scan"

/* What a way means to who calls the host: "; by ...", or "". */
const char *nacre_way_words(enum nacre_way way);

/* Does the caller let what goes through a tunnel unscanned? */
bool nacre_tunnel_is_waived(const struct nacre_request *request);

/* "name=address" taken apart; false when it is no such thing. */
bool nacre_fixed_host_read(const char *text, char ret_name[NACRE_NAME_SIZE],
                           struct nacre_address *ret_address);

/* Is this secret, of request->granted, put in by the door? */
bool nacre_secret_is_doors(const struct nacre_policy *policy,
                           const struct nacre_request *request, uint32_t index);

/*
 * The rules for the door.  Names that the policy keeps are read without failing; a host
 * that a secret is bound to, or that --intercept names, may be anything: NACRE_ERR_DENIED
 * then, with the sentence.
 */
NACRE_MUST_CHECK enum nacre_status
nacre_network_rules(const struct nacre_policy *policy,
                    const struct nacre_request *request, struct nacre_egress *ret_egress,
                    struct nacre_error *err);

#endif
