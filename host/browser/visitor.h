#ifndef BROWSER_VISITOR_H
#define BROWSER_VISITOR_H

#include "box.h"
#include "token.h"

struct visitor_at {
    struct box box;
    struct tokens *tokens;
    char browser_path[128];
};

/* One who has connected to `port`: read, judged, and served to the end.  Takes `fd`. */
void visitor_serve(const struct visitor_at *at, int fd, uint16_t port, bool of_screen);

#endif
