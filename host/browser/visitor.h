#ifndef BROWSER_VISITOR_H
#define BROWSER_VISITOR_H

#include "box.h"
#include "token.h"

struct visitor_at {
    struct box box;
    struct tokens *tokens;
    char browser_path[128];
};

/* Whom a token is asked of: called once, when a good one was shown.  False: there is no
 * place. */
struct visitor_gate {
    bool (*let_in)(void *data);
    void *data;
};

/* One who has connected to `port`: read, judged, and served to the end. */
void visitor_serve(const struct visitor_at *at, const struct visitor_gate *gate, int fd,
                   uint16_t port, bool of_screen);

#endif
