#ifndef NACRE_TEST_BPF_RUN_H
#define NACRE_TEST_BPF_RUN_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What a filter says to a call, as the kernel would find out; 0x0badc0de when the
 * program is none that a kernel accepts. */
static inline uint32_t bpf_run(const struct sock_filter *code, size_t count,
                               const struct seccomp_data *call)
{
    uint32_t a = 0;

    for (size_t at = 0; at < count; at++) {
        uint32_t k = code[at].k;
        int holds;

        switch (code[at].code) {
        case BPF_LD | BPF_W | BPF_ABS:
            if (k > sizeof(*call) - sizeof(a) || k % sizeof(a) != 0)
                return 0x0badc0de;
            memcpy(&a, (const char *)call + k, sizeof(a));
            continue;
        case BPF_ALU | BPF_AND | BPF_K:
            a &= k;
            continue;
        case BPF_JMP | BPF_JA:
            at += k;
            continue;
        case BPF_RET | BPF_K:
            return k;
        case BPF_JMP | BPF_JEQ | BPF_K:
            holds = a == k;
            break;
        case BPF_JMP | BPF_JGT | BPF_K:
            holds = a > k;
            break;
        case BPF_JMP | BPF_JGE | BPF_K:
            holds = a >= k;
            break;
        default:
            return 0x0badc0de;
        }
        at += holds ? code[at].jt : code[at].jf;
    }
    return 0x0badc0de;
}

#endif
