#include "spec.h"

#include <stddef.h>

const char *spec_kind_words(uint64_t kind)
{
    static const char *const words[] = {
        [SPEC_NONE] = "nothing",
#define X(id, text) [SPEC_##id] = text,
        SPEC_KIND_MAP(X)
#undef X
    };

    return kind < SPEC_KIND_COUNT ? words[kind] : words[SPEC_NONE];
}

void spec_head_pack(struct pack *pack, const struct spec_head *head)
{
    pack_u64(pack, SPEC_VERSION);
    pack_u64(pack, head->uid);
    pack_u64(pack, head->gid);
    pack_u64(pack, head->landlock);
    pack_text(pack, head->hostname);
    pack_u64(pack, head->op_count);
}

void spec_op_pack(struct pack *pack, const struct spec_op *op)
{
    const uint64_t numbers[] = { op->kind,  op->flags, op->fd,    op->device,
                                 op->inode, op->bytes, op->files, op->mode };

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        pack_u64(pack, numbers[i]);
    pack_text(pack, op->text ? op->text : "");
    pack_text(pack, op->target);
}

bool spec_head_unpack(struct unpack *unpack, struct spec_head *ret_head)
{
    struct spec_head head = { 0 };
    uint64_t version = unpack_u64(unpack);

    head.uid = unpack_u64(unpack);
    head.gid = unpack_u64(unpack);
    head.landlock = unpack_u64(unpack) != 0;
    head.hostname = unpack_text(unpack);
    head.op_count = unpack_u64(unpack);
    if (unpack->failed || version != SPEC_VERSION)
        return false;
    *ret_head = head;
    return true;
}

bool spec_op_unpack(struct unpack *unpack, struct spec_op *ret_op)
{
    struct spec_op op = { 0 };
    uint64_t *const numbers[] = { &op.kind,  &op.flags, &op.fd,    &op.device,
                                  &op.inode, &op.bytes, &op.files, &op.mode };

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        *numbers[i] = unpack_u64(unpack);
    op.text = unpack_text(unpack);
    op.target = unpack_text(unpack);
    if (unpack->failed || op.kind == SPEC_NONE || op.kind >= SPEC_KIND_COUNT ||
        op.target[0] == '/')
        return false;
    *ret_op = op;
    return true;
}
