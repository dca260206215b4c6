#include <errno.h>

#include "state.h"

int ws_errno(int sys_errno)
{
    switch (sys_errno) {
#define MAP(id)    \
    case E##id:    \
        return P1_##id;
        MAP(2BIG) MAP(ACCES) MAP(AGAIN) MAP(BADF) MAP(BUSY) MAP(DQUOT) MAP(EXIST)
        MAP(FAULT) MAP(FBIG) MAP(ILSEQ) MAP(INTR) MAP(INVAL) MAP(IO) MAP(ISDIR)
        MAP(LOOP) MAP(MFILE) MAP(MLINK) MAP(NAMETOOLONG) MAP(NFILE) MAP(NODEV)
        MAP(NOENT) MAP(NOLCK) MAP(NOMEM) MAP(NOSPC) MAP(NOSYS) MAP(NOTDIR)
        MAP(NOTEMPTY) MAP(NOTSUP) MAP(NOTTY) MAP(NXIO) MAP(OVERFLOW) MAP(PERM)
        MAP(PIPE) MAP(RANGE) MAP(ROFS) MAP(SPIPE) MAP(STALE) MAP(TIMEDOUT)
        MAP(TXTBSY) MAP(XDEV)
#undef MAP
    default:
        return P1_IO;
    }
}
