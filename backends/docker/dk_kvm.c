#include "dk_kvm.h"

#include <stdio.h>

bool dk_kvm_is_usable(struct dk_site *site, const _Atomic int *cancelled,
                      char ret_why[DK_KVM_TEXT])
{
    (void)site;
    (void)cancelled;
    (void)snprintf(ret_why, DK_KVM_TEXT, "not probed yet");
    return false;
}
