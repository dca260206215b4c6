#include "dk_recipe.h"

#include <assert.h>
#include <stddef.h>

/*
 * The kernel is unpacked, not installed: installing it makes an initial file system that
 * nobody boots.  It is taken out of its packed form (where Linux's boot protocol says that
 * it lies), which a machine that is emulated needs seconds for.  Of its modules those stay
 * that init loads, with what they need before them, as an archive that is laid after
 * init's own.  The cloud kernel has no 9p.
 */
#define MACHINE_SCRIPT                                                                 \
    "cd /tmp; "                                                                        \
    "apt-get download $(apt-cache depends linux-image-amd64 |"                         \
    " sed -n \"s/^ *Depends: //p\" | head -n 1); "                                     \
    "dpkg-deb -x linux-image-*.deb k; rm linux-image-*.deb; "                          \
    "f=$(echo k/boot/vmlinuz-*); n() { od -An -tu$2 -j$1 -N$2 $f; }; "                 \
    "tail -c +$((($(n 497 1) + 1) * 512 + $(n 584 4) + 1)) $f |"                       \
    " head -c $(($(n 588 4))) | xz -dc --single-stream >" DK_MACHINE_KERNEL "; "       \
    "test -s " DK_MACHINE_KERNEL "; v=$(ls k/lib/modules); "                           \
    "depmod -b k $v; mkdir -p m/modules; "                                             \
    "for n in virtio_mmio virtio_console virtio_blk 9p 9pnet_virtio squashfs overlay; " \
    "do modprobe -d k -S $v --show-depends $n; done |"                                 \
    " sed -n \"s/^insmod //p\" | awk \"!s[\\$1]++ {print \\$1}\" >l; test -s l; "      \
    "while read f; do cp $f m/modules/; basename $f >>m/modules/list; done <l; "       \
    "cd m; find modules | cpio -o -H newc >" DK_MACHINE_MODULES "; cd ..; rm -r k m l"

const struct dk_recipe *dk_recipe(enum nacre_image image)
{
    static const struct dk_recipe recipes[NACRE_IMAGE_COUNT] = {
        [NACRE_IMAGE_SANDBOX] = { NACRE_DEFAULT_IMAGE,
                                  "bash ca-certificates curl git jq python3 ripgrep",
                                  NULL },
        [NACRE_IMAGE_VM] = { NACRE_VM_IMAGE,
                             "cpio kmod qemu-system-x86 squashfs-tools xz-utils",
                             MACHINE_SCRIPT },
    };

    assert(image < NACRE_IMAGE_COUNT);
    return &recipes[image];
}
