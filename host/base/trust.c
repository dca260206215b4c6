#include "nacre/trust.h"

#include <stddef.h>
#include <unistd.h>

#include "nacre/own.h"

const char *nacre_trust_bundle(void)
{
    static const char *const bundles[] = {
        "/etc/ssl/certs/ca-certificates.crt", /* Debian, Ubuntu, Alpine, Arch */
        "/etc/pki/tls/certs/ca-bundle.crt",   /* Fedora, RHEL */
        "/etc/ssl/ca-bundle.pem",             /* SUSE */
        "/etc/ssl/cert.pem",
    };

    for (size_t i = 0; i < NACRE_COUNT(bundles); i++)
        if (access(bundles[i], R_OK) == 0)
            return bundles[i];
    return NULL;
}
