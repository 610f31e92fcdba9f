// SPDX-License-Identifier: (Apache-2.0 OR MIT) AND GPL-2.0
// The kernel as seen from commands.bpf.c: the fields that it reads and the helpers that it calls, nothing else.
// Offsets are found when the program is loaded, from the running kernel's own type information.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef _Bool bool;

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))
#define NULL ((void *)0)

// A map is described to the loader by the types of a struct's members.
#define MAP_NUMBER(name, value) int(*name)[value]
#define MAP_TYPE(name, value) value *name

enum { MAP_HASH = 1, MAP_ARRAY = 2, MAP_PERCPU_ARRAY = 6, MAP_RINGBUF = 27 };
enum { ANY = 0 };
enum { RING_NO_WAKEUP = 1, RING_FORCE_WAKEUP = 2, RING_AVAILABLE = 0 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct qstr {
    const unsigned char *name;
};
struct dentry {
    struct dentry *d_parent;
    struct qstr d_name;
};
struct vfsmount {
    struct dentry *mnt_root;
};
struct mount {
    struct mount *mnt_parent;
    struct dentry *mnt_mountpoint;
    struct vfsmount mnt;
};
struct path {
    struct vfsmount *mnt;
    struct dentry *dentry;
};
struct fs_struct {
    struct path root;
    struct path pwd;
};
struct file {
    struct path f_path;
};
typedef struct {
    int counter;
} atomic_t;
struct signal_struct {
    atomic_t live;
    int group_exit_code;
    unsigned int flags;
};
struct mm_struct {
    unsigned long arg_start;
    unsigned long arg_end;
};
struct task_struct {
    int pid;
    int tgid;
    int exit_code;
    struct task_struct *real_parent;
    struct task_struct *group_leader;
    struct mm_struct *mm;
    struct fs_struct *fs;
    struct signal_struct *signal;
};
struct linux_binprm {
    struct file *file;
};
#pragma clang attribute pop

static void *(*const map_lookup)(void *map, const void *key) = (void *)1;
static long (*const map_update)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*const map_delete)(void *map, const void *key) = (void *)3;
static u64 (*const current_pid_tgid)(void) = (void *)14;
static u64 (*const current_uid_gid)(void) = (void *)15;
static long (*const read_user)(void *to, u32 size, const void *from) = (void *)112;
static long (*const read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static long (*const read_kernel_text)(void *to, u32 size, const void *from) = (void *)115;
static u64 (*const current_ancestor_cgroup)(int level) = (void *)123;
static u64 (*const boot_nanos)(void) = (void *)125;
static long (*const ring_output)(void *ring, void *data, u64 size, u64 flags) = (void *)130;
static void *(*const ring_reserve)(void *ring, u64 size, u64 flags) = (void *)131;
static void (*const ring_submit)(void *data, u64 flags) = (void *)132;
static u64 (*const ring_query)(void *ring, u64 what) = (void *)134;
static long (*const loop)(u32 rounds, void *step, void *context, u64 flags) = (void *)181;

// One field, however deep: what is read as a whole struct is not moved to where the kernel has its members.
#define READ(from, field)                                       \
    ({                                                          \
        __typeof__((from)->field) value_;                       \
        read_kernel(&value_, sizeof value_, &(from)->field);    \
        value_;                                                 \
    })

// The verifier forgets what it knew of a value, and believes the bound that comes next.
#define FORGET(value) asm volatile("" : "+r"(value))
