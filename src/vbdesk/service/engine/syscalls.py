"""System calls denied in the sandbox, and their numbers on the supported processors."""

from collections.abc import Mapping
from dataclasses import dataclass

ABSENT = ("clone3", "openat2", "io_uring_setup")
"""Calls that bypass the filter, or whose arguments it cannot read. They appear not to exist, so libraries use older
calls."""

REFUSED = (
    "socket", "socketpair", "connect", "bind", "listen", "accept", "accept4", "sendto", "sendmsg", "sendmmsg",
    "execve", "execveat", "fork", "vfork", "kill", "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_open",
    "pidfd_getfd", "pidfd_send_signal", "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise",
    "kcmp", "setpriority", "ioprio_set", "sched_setparam", "sched_setscheduler", "sched_setattr",
    "sched_setaffinity", "migrate_pages", "move_pages", "shmget", "shmat", "msgget", "semget", "mq_open",
    "io_uring_enter", "io_uring_register", "bpf", "perf_event_open", "userfaultfd", "add_key", "request_key",
    "keyctl", "mount", "umount2", "pivot_root", "chroot", "unshare", "setns", "fsopen", "fsmount", "open_tree",
    "move_mount", "mount_setattr", "open_by_handle_at", "fanotify_init", "init_module", "finit_module",
    "delete_module", "kexec_load", "kexec_file_load", "reboot", "acct", "swapon", "swapoff", "personality", "creat",
    "truncate", "ftruncate", "mkdir", "mkdirat", "mknod", "mknodat", "link", "linkat", "symlink", "symlinkat",
    "unlink", "unlinkat", "rmdir", "rename", "renameat", "renameat2", "chmod", "fchmod", "fchmodat", "fchmodat2",
    "chown", "lchown", "fchown", "fchownat", "setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr",
    "fremovexattr", "utime", "utimes", "utimensat", "futimesat",
)  # fmt: skip
"""Network, other programs and processes, kernel configuration, and every change to files."""

CONDITIONAL = ("clone", "ioctl", "open", "openat", "prlimit64", "tgkill")
"""Calls refused depending on their arguments."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """Processor as the kernel names it.

    Attributes:
        audit: its architecture number in the filter's data.
        seccomp: number of the call that installs a filter.
        numbers: numbers of the calls above that it has.
    """

    audit: int
    seccomp: int
    numbers: Mapping[str, int]


ARCHITECTURES = {
    "x86_64": Architecture(0xC000_003E, 317, {
        "clone3": 435, "openat2": 437, "io_uring_setup": 425, "socket": 41, "socketpair": 53, "connect": 42,
        "bind": 49, "listen": 50, "accept": 43, "accept4": 288, "sendto": 44, "sendmsg": 46, "sendmmsg": 307,
        "execve": 59, "execveat": 322, "fork": 57, "vfork": 58, "kill": 62, "tkill": 200, "rt_sigqueueinfo": 129,
        "rt_tgsigqueueinfo": 297, "pidfd_open": 434, "pidfd_getfd": 438, "pidfd_send_signal": 424, "ptrace": 101,
        "process_vm_readv": 310, "process_vm_writev": 311, "process_madvise": 440, "kcmp": 312, "setpriority": 141,
        "ioprio_set": 251, "sched_setparam": 142, "sched_setscheduler": 144, "sched_setattr": 314,
        "sched_setaffinity": 203, "migrate_pages": 256, "move_pages": 279, "shmget": 29, "shmat": 30, "msgget": 68,
        "semget": 64, "mq_open": 240, "io_uring_enter": 426, "io_uring_register": 427, "bpf": 321,
        "perf_event_open": 298, "userfaultfd": 323, "add_key": 248, "request_key": 249, "keyctl": 250, "mount": 165,
        "umount2": 166, "pivot_root": 155, "chroot": 161, "unshare": 272, "setns": 308, "fsopen": 430, "fsmount": 432,
        "open_tree": 428, "move_mount": 429, "mount_setattr": 442, "open_by_handle_at": 304, "fanotify_init": 300,
        "init_module": 175, "finit_module": 313, "delete_module": 176, "kexec_load": 246, "kexec_file_load": 320,
        "reboot": 169, "acct": 163, "swapon": 167, "swapoff": 168, "personality": 135, "creat": 85, "truncate": 76,
        "ftruncate": 77, "mkdir": 83, "mkdirat": 258, "mknod": 133, "mknodat": 259, "link": 86, "linkat": 265,
        "symlink": 88, "symlinkat": 266, "unlink": 87, "unlinkat": 263, "rmdir": 84, "rename": 82, "renameat": 264,
        "renameat2": 316, "chmod": 90, "fchmod": 91, "fchmodat": 268, "fchmodat2": 452, "chown": 92, "lchown": 94,
        "fchown": 93, "fchownat": 260, "setxattr": 188, "lsetxattr": 189, "fsetxattr": 190, "removexattr": 197,
        "lremovexattr": 198, "fremovexattr": 199, "utime": 132, "utimes": 235, "utimensat": 280, "futimesat": 261,
        "clone": 56, "ioctl": 16, "open": 2, "openat": 257, "prlimit64": 302, "tgkill": 234,
    }),
    "aarch64": Architecture(0xC000_00B7, 277, {
        "clone3": 435, "openat2": 437, "io_uring_setup": 425, "socket": 198, "socketpair": 199, "connect": 203,
        "bind": 200, "listen": 201, "accept": 202, "accept4": 242, "sendto": 206, "sendmsg": 211, "sendmmsg": 269,
        "execve": 221, "execveat": 281, "kill": 129, "tkill": 130, "rt_sigqueueinfo": 138, "rt_tgsigqueueinfo": 240,
        "pidfd_open": 434, "pidfd_getfd": 438, "pidfd_send_signal": 424, "ptrace": 117, "process_vm_readv": 270,
        "process_vm_writev": 271, "process_madvise": 440, "kcmp": 272, "setpriority": 140, "ioprio_set": 30,
        "sched_setparam": 118, "sched_setscheduler": 119, "sched_setattr": 274, "sched_setaffinity": 122,
        "migrate_pages": 238, "move_pages": 239, "shmget": 194, "shmat": 196, "msgget": 186, "semget": 190,
        "mq_open": 180, "io_uring_enter": 426, "io_uring_register": 427, "bpf": 280, "perf_event_open": 241,
        "userfaultfd": 282, "add_key": 217, "request_key": 218, "keyctl": 219, "mount": 40, "umount2": 39,
        "pivot_root": 41, "chroot": 51, "unshare": 97, "setns": 268, "fsopen": 430, "fsmount": 432, "open_tree": 428,
        "move_mount": 429, "mount_setattr": 442, "open_by_handle_at": 265, "fanotify_init": 262, "init_module": 105,
        "finit_module": 273, "delete_module": 106, "kexec_load": 104, "kexec_file_load": 294, "reboot": 142,
        "acct": 89, "swapon": 224, "swapoff": 225, "personality": 92, "truncate": 45, "ftruncate": 46, "mkdirat": 34,
        "mknodat": 33, "linkat": 37, "symlinkat": 36, "unlinkat": 35, "renameat": 38, "renameat2": 276, "fchmod": 52,
        "fchmodat": 53, "fchmodat2": 452, "fchown": 55, "fchownat": 54, "setxattr": 5, "lsetxattr": 6, "fsetxattr": 7,
        "removexattr": 14, "lremovexattr": 15, "fremovexattr": 16, "utimensat": 88, "clone": 220, "ioctl": 29,
        "openat": 56, "prlimit64": 261, "tgkill": 131,
    }),
}  # fmt: skip
