#ifndef BROWSER_LOOKUP_H
#define BROWSER_LOOKUP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "nacre/url.h"

/* Where a URL's host is, by the system's own resolver, which knows no deadline: one that
 * does not answer in time is left behind. */
#define LOOKUP_PLACES_MAX 8

struct lookup_place {
    struct sockaddr_storage address;
    socklen_t size;
};

/* How many; 0: none is known by then. */
size_t lookup(const struct nacre_url *url, uint64_t deadline_ns,
              struct lookup_place ret_places[LOOKUP_PLACES_MAX]);

#endif
