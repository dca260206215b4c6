#include "nacre/kernelfs.h"

#include <linux/magic.h>
#include <stddef.h>

#include "nacre/own.h"

/* Not among <linux/magic.h> of every supported system. */
#define MAGIC_CONFIGFS 0x62656570
#define MAGIC_FUSECTL 0x65735543
#define MAGIC_MQUEUE 0x19800202
#define MAGIC_RPC_PIPEFS 0x67596969
#define MAGIC_NFSD 0x6e667364
#define MAGIC_RESCTRL 0x7655821
#define MAGIC_BINDERFS 0x6c6f6f70
#define MAGIC_PIDFS 0x50494446
#define MAGIC_APPARMOR 0x5a3c69f0

bool nacre_kernelfs_is(uint32_t magic)
{
    static const uint32_t magics[] = {
        PROC_SUPER_MAGIC,  SYSFS_MAGIC,          DEBUGFS_MAGIC,     TRACEFS_MAGIC,
        SECURITYFS_MAGIC,  SELINUX_MAGIC,        SMACK_MAGIC,       CGROUP_SUPER_MAGIC,
        CGROUP2_SUPER_MAGIC, BPF_FS_MAGIC,       PSTOREFS_MAGIC,    EFIVARFS_MAGIC,
        BINFMTFS_MAGIC,    DEVPTS_SUPER_MAGIC,   NSFS_MAGIC,        SOCKFS_MAGIC,
        PIPEFS_MAGIC,      ANON_INODE_FS_MAGIC,  XENFS_SUPER_MAGIC, USBDEVICE_SUPER_MAGIC,
        OPENPROM_SUPER_MAGIC, MAGIC_CONFIGFS,    MAGIC_FUSECTL,     MAGIC_MQUEUE,
        MAGIC_RPC_PIPEFS,  MAGIC_NFSD,           MAGIC_RESCTRL,     MAGIC_BINDERFS,
        MAGIC_PIDFS,       MAGIC_APPARMOR,
    };

    for (size_t i = 0; i < NACRE_COUNT(magics); i++)
        if (magics[i] == magic)
            return true;
    return false;
}
