/* Trusts nothing: addresses, counts and the bytes behind them are the guest's. */
#include "guest_memory.h"

#include <string.h>

/* What one read or write may move: Linux moves no more either, and it fits an i32. */
#define TOTAL_MAX UINT64_C(0x7ffff000)

void *ws_guest(const struct nacre_wasi *wasi, uint64_t address, uint64_t count)
{
    const struct nacre_wasi_memory *memory = wasi->call.memory;

    if (address > memory->size || count > memory->size - address)
        return NULL;
    return memory->base + address;
}

int ws_guest_get(const struct nacre_wasi *wasi, uint64_t address, void *ret_bytes,
                 size_t count)
{
    const void *from = ws_guest(wasi, address, count);

    if (!from)
        return P1_FAULT;
    memcpy(ret_bytes, from, count);
    return P1_SUCCESS;
}

int ws_guest_put(const struct nacre_wasi *wasi, uint64_t address, const void *bytes,
                 size_t count)
{
    void *to = ws_guest(wasi, address, count);

    if (!to)
        return P1_FAULT;
    memcpy(to, bytes, count);
    return P1_SUCCESS;
}

int ws_guest_put_u32(const struct nacre_wasi *wasi, uint64_t address, uint32_t value)
{
    return ws_guest_put(wasi, address, &value, sizeof(value));
}

int ws_guest_put_u64(const struct nacre_wasi *wasi, uint64_t address, uint64_t value)
{
    return ws_guest_put(wasi, address, &value, sizeof(value));
}

int ws_guest_path(const struct nacre_wasi *wasi, uint32_t address, uint32_t count,
                  char ret_path[NACRE_PATH_MAX])
{
    const void *from = ws_guest(wasi, address, count);

    if (!from)
        return P1_FAULT;
    if (count == 0)
        return P1_NOENT;
    if (count >= NACRE_PATH_MAX)
        return P1_NAMETOOLONG;
    /* A name cut at a NUL would be another name than the one that was judged. */
    if (memchr(from, '\0', count))
        return P1_INVAL;
    memcpy(ret_path, from, count);
    ret_path[count] = '\0';
    return P1_SUCCESS;
}

int ws_iov_begin(const struct nacre_wasi *wasi, struct ws_iov *iov, uint32_t address,
                 uint32_t count)
{
    if (!ws_guest(wasi, address, (uint64_t)count * sizeof(struct p1_iovec)))
        return P1_FAULT;
    iov->address = address;
    iov->left = count;
    iov->total = 0;
    iov->count = 0;
    iov->bytes = 0;
    return P1_SUCCESS;
}

int ws_iov_next(struct nacre_wasi *wasi, struct ws_iov *iov)
{
    iov->count = 0;
    iov->bytes = 0;
    for (uint32_t seen = 0; iov->left > 0 && iov->count < WS_IOV_MAX; seen++) {
        struct p1_iovec item;
        void *bytes;

        /* Millions of empty vectors are work too. */
        if (seen % 65536 == 65535 && ws_is_late(wasi))
            return ws_end_by(wasi, NACRE_WASI_TIMED_OUT);
        if (ws_guest_get(wasi, iov->address, &item, sizeof(item)) != P1_SUCCESS)
            return P1_FAULT;
        bytes = ws_guest(wasi, item.buf, item.length);
        if (!bytes)
            return P1_FAULT;
        if (item.length > TOTAL_MAX - iov->total) {
            item.length = (uint32_t)(TOTAL_MAX - iov->total);
            iov->left = 1;
        }
        iov->address += (uint32_t)sizeof(item);
        iov->left--;
        if (item.length == 0)
            continue;
        iov->total += item.length;
        iov->bytes += item.length;
        iov->items[iov->count++] = (struct iovec){ bytes, item.length };
    }
    return P1_SUCCESS;
}

int ws_iov_fill(struct nacre_wasi *wasi, struct ws_iov *iov, const unsigned char *bytes,
                uint64_t count, uint64_t *position)
{
    uint64_t at = *position, begun = at;
    int error = P1_SUCCESS;

    while (at < count && (error = ws_iov_next(wasi, iov)) == P1_SUCCESS && iov->count > 0)
        for (int i = 0; i < iov->count && at < count; i++) {
            size_t room = iov->items[i].iov_len;
            size_t some = room < count - at ? room : (size_t)(count - at);

            memcpy(iov->items[i].iov_base, bytes + at, some);
            at += some;
        }
    if (error != P1_SUCCESS && (at == begun || error == NACRE_WASI_UNWIND))
        return error;
    *position = at;
    return P1_SUCCESS;
}
