#ifndef NACRE_TRUST_H
#define NACRE_TRUST_H

/* The file of certificates that this system trusts, where its distribution keeps it; NULL
 * when there is none to read. */
const char *nacre_trust_bundle(void);

#endif
