#ifndef DK_KVM_H
#define DK_KVM_H

#include "dk_site.h"

/*
 * Whether KVM boots a machine here.  /dev/kvm may be there and open, and boot nothing: on
 * a machine that is one itself.  So a machine is booted, once for each start of this
 * machine; what came of it is kept in the state directory.
 */
#define DK_KVM_TEXT 160
#define DK_KVM_DEVICE "/dev/kvm"
#define DK_KVM_MS 10000 /* in which a machine has to have answered */

/* True: an init answered from a machine within 10 s.  `ret_why` says what was found. */
bool dk_kvm_is_usable(struct dk_site *site, const struct dk_caller *caller,
                      char ret_why[DK_KVM_TEXT]);

#define DK_NO_VM_IMAGE                                                               \
    "the engine has no image '" NACRE_VM_IMAGE "' with QEMU and a kernel: make it with " \
    "`nacre image build vm`"

#endif
