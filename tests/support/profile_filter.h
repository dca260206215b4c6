#ifndef NACRE_TEST_PROFILE_FILTER_H
#define NACRE_TEST_PROFILE_FILTER_H

#include <linux/filter.h>
#include <stddef.h>

/*
 * A container engine's seccomp profile made into a filter the way that runc does it, by
 * libseccomp; but without runc's ENOSYS for newer calls.  Returns the number of
 * instructions; 0, with a sentence on stderr, when the text is no such profile.
 */
size_t profile_filter(const char *json, struct sock_filter *ret_code, size_t count_max);

#endif
