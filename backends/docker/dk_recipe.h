#ifndef DK_RECIPE_H
#define DK_RECIPE_H

#include "nacre/boxes.h"

/* Where the machine's image has them. */
#define DK_MACHINE_KERNEL "/boot/vmlinuz"
#define DK_MACHINE_KERNEL_UNPACKED "/boot/vmlinux"
#define DK_MACHINE_MODULES "/boot/modules.cpio"

/* What an image is made of: Debian's packages, and a script that runs in it after them. */
struct dk_recipe {
    const char *tag;      /* what it is called unless another name is given */
    const char *packages; /* with blanks between them; without what they recommend */
    const char *script;   /* one line for sh -e, without a single quote; or NULL */
};
const struct dk_recipe *dk_recipe(enum nacre_image image);

#endif
