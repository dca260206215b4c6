#include "feed.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nacre/own.h"

enum nacre_status feed_open(struct feed *feed, int *fd, struct nacre_error *err)
{
    int ends[2];

    if (!isatty(*fd))
        return NACRE_OK;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "a socket for the command's input");
    *feed = (struct feed){ .from = *fd, .to = ends[0], .other_end = ends[1] };
    *fd = ends[1];
    return NACRE_OK;
}

static void drop(int *fd)
{
    nacre_fd_guard(fd);
    *fd = -1;
}

void feed_handed_over(struct feed *feed)
{
    drop(&feed->other_end);
}

void feed_close(struct feed *feed)
{
    drop(&feed->other_end);
    drop(&feed->to);
}

struct pollfd feed_poll(const struct feed *feed)
{
    if (feed->to < 0)
        return (struct pollfd){ .fd = -1 };
    if (feed->sent < feed->used)
        return (struct pollfd){ .fd = feed->to, .events = POLLOUT };
    return (struct pollfd){ .fd = feed->from, .events = POLLIN };
}

/* The end of the input, or of who reads it, is the feed's. */
void feed_move(struct feed *feed)
{
    ssize_t count;

    if (feed->sent < feed->used) {
        count = send(feed->to, feed->bytes + feed->sent, feed->used - feed->sent,
                     MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count > 0)
            feed->sent += (size_t)count;
    } else {
        count = read(feed->from, feed->bytes, sizeof(feed->bytes));
        feed->used = count > 0 ? (size_t)count : 0;
        feed->sent = 0;
    }
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR))
        drop(&feed->to);
}
