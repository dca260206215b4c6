#include <assert.h>

#include "seccomp.h"
#include "seccomp_profile.inc" /* by seccomp_generate.c, from the native tables */

const char *nacre_seccomp_profile_json(enum nacre_seccomp_kind kind)
{
    assert(kind == NACRE_SECCOMP_NATIVE || kind == NACRE_SECCOMP_BROWSER);
    return kind == NACRE_SECCOMP_NATIVE ? native_profile : browser_profile;
}
