// SPDX-License-Identifier: (Apache-2.0 OR MIT) AND GPL-2.0
// Tells of calls that name a path and fail in one jail, through a ring of its own.
//
// Invariants:
// - a call that succeeds costs one comparison, and one of another mount namespace a few reads;
// - a path that is not there is told only where the jail does not show the machine's own files;
// - what does not fit into the ring is counted in `states`; nobody is woken, the reader looks from time to time.
#include "kernel.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

enum { NOT_PERMITTED = -1, NOT_THERE = -2, NO_ACCESS = -13, BUSY = -16, READ_ONLY = -30 };
enum { NAMESPACE = 0, LOST = 1, TOLD = 2, STATES = 3 };
enum { TMPFS = 0x01021994 };

#define RING_BYTES (1 << 20)
#define CALLS_MAX 512
#define PLACES_MAX 1024
#define PATH_BYTES 4096
#define NAME_BYTES 256
#define STEPS_MAX 512
#define ARGUMENTS 6
#define CURRENT_DIRECTORY (-100)
#define PRIME 0x100000001b3ULL
#define OFFSET 0xcbf29ce484222325ULL
// Beyond that many, more of them are no news, and only cost.
#define TOLD_MAX 200000

#include "climb.h"

// Set before loading: where the saved registers keep a call's number and its arguments.
const volatile u64 registers[1 + ARGUMENTS] = {};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct ns_common {
    unsigned int inum;
};
struct mnt_namespace {
    struct ns_common ns;
};
struct nsproxy {
    struct mnt_namespace *mnt_ns;
};
struct super_block {
    unsigned long s_magic;
};
struct fdtable {
    unsigned int max_fds;
    struct file **fd;
};
struct files_struct {
    struct fdtable *fdt;
};
struct task_struct___more {
    struct nsproxy *nsproxy;
    struct files_struct *files;
};
struct dentry___more {
    struct super_block *d_sb;
};
#pragma clang attribute pop

static void *(*const current_task)(void) = (void *)35;
static long (*const read_user_text)(void *to, u32 size, const void *from) = (void *)114;

struct denial {
    u64 at;
    u32 pid;
    u32 ppid;
    int answer;
    u32 number;
    u32 operand;
    u32 path_bytes;
    u32 base_bytes;
    u32 unused;
    u64 arguments[ARGUMENTS];
    // The path as it was given, then the names of the directory that it begins at, innermost first.
    char data[2 * PATH_BYTES + NAME_BYTES];
};

struct {
    MAP_NUMBER(type, MAP_RINGBUF);
    MAP_NUMBER(max_entries, RING_BYTES);
} denials SEC(".maps");

struct {
    MAP_NUMBER(type, MAP_ARRAY);
    MAP_NUMBER(max_entries, STATES);
    MAP_TYPE(key, u32);
    MAP_TYPE(value, u64);
} states SEC(".maps");

// For each call four bytes: for each of two paths one more than the argument that is its directory, and one more than
// the argument that is the path.
struct {
    MAP_NUMBER(type, MAP_ARRAY);
    MAP_NUMBER(max_entries, CALLS_MAX);
    MAP_TYPE(key, u32);
    MAP_TYPE(value, u32);
} calls SEC(".maps");

// The places of the jail by the hash of their paths: whether the machine's own files are seen there.
struct {
    MAP_NUMBER(type, MAP_HASH);
    MAP_NUMBER(max_entries, PLACES_MAX);
    MAP_TYPE(key, u64);
    MAP_TYPE(value, u32);
} places SEC(".maps");

struct {
    MAP_NUMBER(type, MAP_PERCPU_ARRAY);
    MAP_NUMBER(max_entries, 1);
    MAP_TYPE(key, u32);
    MAP_TYPE(value, struct denial);
} scratch SEC(".maps");

INLINE u64 *state(u32 which) {
    return map_lookup(&states, &which);
}

struct judgement {
    char *path;
    u64 hash;
    u64 seen;
};

// One byte of a path; at each end of a name the place of that name decides anew.
static long judge_step(u32 round, struct judgement *judgement) {
    u64 at = round;
    FORGET(at);
    at &= PATH_BYTES - 1;
    u8 byte = judgement->path[at];
    if ((byte == '/' && round > 0) || byte == 0) {
        u64 hash = judgement->hash;
        u32 *seen = map_lookup(&places, &hash);
        if (seen)
            judgement->seen = *seen;
    }
    if (byte == 0)
        return 1;
    judgement->hash = (judgement->hash ^ byte) * PRIME;
    return 0;
}

INLINE u64 argument(void *saved, u32 which) {
    u64 value = 0;
    if (which < 1 + ARGUMENTS)
        read_kernel(&value, sizeof value, saved + registers[which]);
    return value;
}

// Where a relative path begins.
INLINE bool begin_at(struct walk *walk, struct task_struct *task, u32 directory, const u64 *arguments) {
    struct fs_struct *fs = READ(task, fs);
    walk->root = READ(fs, root.dentry);
    walk->root_mount = READ(fs, root.mnt);
    walk->filled = 0;
    int number = CURRENT_DIRECTORY;
    if (directory >= 1 && directory <= ARGUMENTS)
        number = (int)arguments[directory - 1];
    if (number == CURRENT_DIRECTORY) {
        walk->at = READ(fs, pwd.dentry);
        walk->mount = READ(fs, pwd.mnt);
        return 1;
    }
    struct files_struct *files = READ((struct task_struct___more *)task, files);
    struct fdtable *table = READ(files, fdt);
    if (number < 0 || (u32)number >= READ(table, max_fds))
        return 0;
    struct file **all = READ(table, fd);
    struct file *file = NULL;
    read_kernel(&file, sizeof file, all + number);
    if (!file)
        return 0;
    walk->at = READ(file, f_path.dentry);
    walk->mount = READ(file, f_path.mnt);
    return 1;
}

// Whether an absolute path leads to where the machine's own files are seen.
INLINE bool is_seen(struct denial *denial) {
    struct judgement judgement = { .path = denial->data, .hash = OFFSET, .seen = 0 };
    loop(PATH_BYTES, judge_step, &judgement, 0);
    return judgement.seen != 0;
}

// Whether the jail may be the reason why nothing is there; of an absolute path that is known already.
INLINE bool may_be_hidden(struct denial *denial, struct walk *walk, bool absolute) {
    if (absolute)
        return 1;
    if (denial->data[0] == '.' && denial->data[1] == '.')
        return 1;
    struct super_block *on = READ((struct dentry___more *)walk->at, d_sb);
    return READ(on, s_magic) == TMPFS;
}

INLINE void tell(struct denial *denial, struct walk *walk, struct task_struct *task, u32 operand, u32 which) {
    u32 path = operand >> 8 & 0xff;
    if (path < 1 || path > ARGUMENTS)
        return;
    long length = read_user_text(denial->data, PATH_BYTES, (void *)denial->arguments[path - 1]);
    if (length <= 1)
        return;
    bool absolute = denial->data[0] == '/';
    if (!absolute && !begin_at(walk, task, operand & 0xff, denial->arguments))
        return;
    if (denial->answer == NOT_THERE && !may_be_hidden(denial, walk, absolute))
        return;
    u64 path_bytes = length;
    FORGET(path_bytes);
    if (path_bytes > PATH_BYTES)
        return;
    u64 base_bytes = 0;
    if (!absolute) {
        struct climb climb = { .data = denial->data + path_bytes, .walk = walk };
        loop(STEPS_MAX, climb_step, &climb, 0);
        base_bytes = walk->filled;
        FORGET(base_bytes);
        if (base_bytes > PATH_BYTES + NAME_BYTES)
            return;
    }
    denial->operand = which;
    denial->path_bytes = path_bytes;
    denial->base_bytes = base_bytes;
    u64 size = __builtin_offsetof(struct denial, data) + path_bytes + base_bytes;
    FORGET(size);
    if (size > sizeof *denial)
        return;
    u64 *told = state(TOLD);
    u64 *lost = state(LOST);
    if (!told || !lost)
        return;
    if (__sync_fetch_and_add(told, 1) >= TOLD_MAX || ring_output(&denials, denial, size, RING_NO_WAKEUP))
        __sync_fetch_and_add(lost, 1);
}

SEC("raw_tp/sys_exit")
int on_return(u64 *context) {
    long answer = (long)context[1];
    if (answer >= 0)
        return 0;
    if (answer != NOT_THERE && answer != NO_ACCESS && answer != READ_ONLY && answer != NOT_PERMITTED && answer != BUSY)
        return 0;
    u64 *jail = state(NAMESPACE);
    if (!jail || !*jail)
        return 0;
    struct task_struct *task = current_task();
    struct nsproxy *spaces = READ((struct task_struct___more *)task, nsproxy);
    struct mnt_namespace *mounts = READ(spaces, mnt_ns);
    if (READ(mounts, ns.inum) != *jail)
        return 0;
    void *saved = (void *)context[0];
    u32 number = (u32)argument(saved, 0);
    u32 *call = map_lookup(&calls, &number);
    if (!call || !*call)
        return 0;
    u32 operands = *call;
    u32 first = 0;
    struct denial *denial = map_lookup(&scratch, &first);
    struct walk *walk = map_lookup(&walks, &first);
    if (!denial || !walk)
        return 0;
    // Most of what is not there was looked for where everything is seen: that is found out first.
    if (answer == NOT_THERE && !(operands >> 16)) {
        long length = read_user_text(denial->data, PATH_BYTES, (void *)argument(saved, operands >> 8 & 0xff));
        if (length <= 1 || (denial->data[0] == '/' && is_seen(denial)))
            return 0;
    }
    struct task_struct *parent = READ(task, real_parent);
    denial->at = boot_nanos();
    denial->pid = current_pid_tgid() >> 32;
    denial->ppid = READ(parent, tgid);
    denial->answer = answer;
    denial->number = number;
    denial->unused = 0;
    denial->arguments[0] = argument(saved, 1);
    denial->arguments[1] = argument(saved, 2);
    denial->arguments[2] = argument(saved, 3);
    denial->arguments[3] = argument(saved, 4);
    denial->arguments[4] = argument(saved, 5);
    denial->arguments[5] = argument(saved, 6);
    tell(denial, walk, task, operands & 0xffff, 0);
    if (operands >> 16)
        tell(denial, walk, task, operands >> 16, 1);
    return 0;
}
