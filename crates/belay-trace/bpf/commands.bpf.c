// SPDX-License-Identifier: (Apache-2.0 OR MIT) AND GPL-2.0
// Tells of every process that a run forks, executes and ends, through one ring buffer.
//
// Invariants:
// - a process outside the run costs one comparison and leaves no record;
// - what does not fit into the ring is counted in `states`, never dropped in silence;
// - the reader is woken only when it sleeps or a good deal is waiting: a wake-up for each record costs more than
//   the record.
#include "kernel.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

enum { FORK = 1, EXEC = 2, ARGUMENTS = 3, EXIT = 4 };
enum { LOST = 0, ASLEEP = 1, STATES = 2 };
enum { GROUP_EXIT = 4 };

#define RING_BYTES (8 << 20)
#define WAKE_BYTES (1 << 20)
#define FOLLOWED_MAX 65536
#define NAME_BYTES 256
#define PATH_BYTES 16384
#define STEPS_MAX 1024
#define ARGUMENTS_INLINE 4096
#define CHUNK_BYTES 8192
// With the first part, two mebibytes: what a kernel with an ordinary stack limit takes at most.
#define CHUNKS_MAX 256

#include "climb.h"

// Set before loading: the run's control group, its depth, and whether to follow forks instead.
const volatile u64 watched[3] = {};

struct header {
    u32 kind;
    u32 pid;
    u64 at;
};
struct fork_record {
    struct header header;
    u32 child;
    u32 unused;
};
struct exec_record {
    struct header header;
    u32 ppid;
    u32 uid;
    u32 cwd_bytes;
    u32 exe_bytes;
    u32 arguments_bytes;
    u32 arguments_total;
    char data[PATH_BYTES + NAME_BYTES + ARGUMENTS_INLINE];
};
struct arguments_record {
    struct header header;
    u32 bytes;
    u32 unused;
    char data[CHUNK_BYTES];
};
struct exit_record {
    struct header header;
    u32 status;
    u32 unused;
};

struct {
    MAP_NUMBER(type, MAP_RINGBUF);
    MAP_NUMBER(max_entries, RING_BYTES);
} records SEC(".maps");

struct {
    MAP_NUMBER(type, MAP_ARRAY);
    MAP_NUMBER(max_entries, STATES);
    MAP_TYPE(key, u32);
    MAP_TYPE(value, u64);
} states SEC(".maps");

struct {
    MAP_NUMBER(type, MAP_HASH);
    MAP_NUMBER(max_entries, FOLLOWED_MAX);
    MAP_TYPE(key, u32);
    MAP_TYPE(value, u32);
} followed SEC(".maps");

struct {
    MAP_NUMBER(type, MAP_PERCPU_ARRAY);
    MAP_NUMBER(max_entries, 1);
    MAP_TYPE(key, u32);
    MAP_TYPE(value, struct exec_record);
} scratch SEC(".maps");

INLINE u64 *state(u32 which) {
    return map_lookup(&states, &which);
}

INLINE void lose(void) {
    u64 *lost = state(LOST);
    if (lost)
        __sync_fetch_and_add(lost, 1);
}

INLINE u64 wakeup(void) {
    u64 *asleep = state(ASLEEP);
    if (asleep && *asleep) {
        *asleep = 0;
        return RING_FORCE_WAKEUP;
    }
    return ring_query(&records, RING_AVAILABLE) > WAKE_BYTES ? RING_FORCE_WAKEUP : RING_NO_WAKEUP;
}

INLINE bool in_run(u32 pid) {
    if (watched[2])
        return map_lookup(&followed, &pid) != NULL;
    return current_ancestor_cgroup((int)watched[1]) == watched[0];
}

INLINE u32 current_pid(void) {
    return current_pid_tgid() >> 32;
}

INLINE void begin(struct header *header, u32 kind, u32 pid) {
    header->kind = kind;
    header->pid = pid;
    header->at = boot_nanos();
}

SEC("raw_tp/sched_process_fork")
int on_fork(u64 *context) {
    struct task_struct *task = (void *)context[1];
    u32 child = READ(task, tgid);
    if ((u32)READ(task, pid) != child)
        return 0;
    u32 pid = current_pid();
    if (!in_run(pid))
        return 0;
    if (watched[2] && map_update(&followed, &child, &pid, ANY))
        lose();
    struct fork_record *record = ring_reserve(&records, sizeof *record, 0);
    if (!record) {
        lose();
        return 0;
    }
    begin(&record->header, FORK, pid);
    record->child = child;
    record->unused = 0;
    ring_submit(record, wakeup());
    return 0;
}

struct chunks {
    u64 from;
    u64 total;
    u32 pid;
};

static long chunk_step(u32 round, struct chunks *chunks) {
    u64 done = ARGUMENTS_INLINE + (u64)round * CHUNK_BYTES;
    if (done >= chunks->total)
        return 1;
    struct arguments_record *record = ring_reserve(&records, sizeof *record, 0);
    if (!record) {
        lose();
        return 1;
    }
    begin(&record->header, ARGUMENTS, chunks->pid);
    u64 wanted = chunks->total - done;
    FORGET(wanted);
    if (wanted > CHUNK_BYTES)
        wanted = CHUNK_BYTES;
    record->bytes = wanted;
    record->unused = 0;
    if (read_user(record->data, wanted, (void *)(chunks->from + done)))
        record->bytes = 0;
    ring_submit(record, wakeup());
    return 0;
}

SEC("raw_tp/sched_process_exec")
int on_exec(u64 *context) {
    u32 pid = current_pid();
    if (!in_run(pid))
        return 0;
    struct task_struct *task = (void *)context[0];
    struct linux_binprm *program = (void *)context[2];
    u32 first = 0;
    struct exec_record *record = map_lookup(&scratch, &first);
    struct walk *walk = map_lookup(&walks, &first);
    if (!record || !walk)
        return 0;

    begin(&record->header, EXEC, pid);
    struct task_struct *parent = READ(task, real_parent);
    record->ppid = READ(parent, tgid);
    record->uid = (u32)current_uid_gid();

    struct fs_struct *fs = READ(task, fs);
    struct file *file = READ(program, file);
    struct climb climb = { .data = record->data, .walk = walk };
    walk->filled = 0;
    walk->root = READ(fs, root.dentry);
    walk->root_mount = READ(fs, root.mnt);
    walk->at = READ(fs, pwd.dentry);
    walk->mount = READ(fs, pwd.mnt);
    loop(STEPS_MAX, climb_step, &climb, 0);
    u64 cwd_bytes = walk->filled;
    record->cwd_bytes = cwd_bytes;
    walk->at = READ(file, f_path.dentry);
    walk->mount = READ(file, f_path.mnt);
    loop(STEPS_MAX, climb_step, &climb, 0);
    u64 filled = walk->filled;
    // A program that lies in memory alone has no place, but a name.
    if (filled == cwd_bytes && filled < PATH_BYTES) {
        u64 at = filled;
        FORGET(at);
        at &= PATH_BYTES - 1;
        struct dentry *entry = READ(file, f_path.dentry);
        long length = read_kernel_text(record->data + at, NAME_BYTES, READ(entry, d_name.name));
        if (length > 0)
            filled = at + length;
    }
    record->exe_bytes = filled - cwd_bytes;

    struct mm_struct *mm = READ(task, mm);
    u64 from = READ(mm, arg_start);
    u64 total = READ(mm, arg_end) - from;
    record->arguments_total = total;
    u64 wanted = total;
    FORGET(wanted);
    if (wanted > ARGUMENTS_INLINE)
        wanted = ARGUMENTS_INLINE;
    FORGET(filled);
    if (filled > PATH_BYTES + NAME_BYTES)
        filled = PATH_BYTES + NAME_BYTES;
    if (read_user(record->data + filled, wanted, (void *)from))
        wanted = 0;
    record->arguments_bytes = wanted;
    u64 size = __builtin_offsetof(struct exec_record, data) + filled + wanted;
    FORGET(size);
    if (size > sizeof *record)
        return 0;
    if (ring_output(&records, record, size, wakeup())) {
        lose();
        return 0;
    }
    if (total > ARGUMENTS_INLINE) {
        struct chunks chunks = { .from = from, .total = total, .pid = pid };
        loop(CHUNKS_MAX, chunk_step, &chunks, 0);
    }
    return 0;
}

SEC("raw_tp/sched_process_exit")
int on_exit(u64 *context) {
    struct task_struct *task = (void *)context[0];
    struct signal_struct *signal = READ(task, signal);
    if (READ(signal, live.counter) != 0)
        return 0;
    u32 pid = current_pid();
    if (!in_run(pid))
        return 0;
    if (watched[2])
        map_delete(&followed, &pid);
    struct exit_record *record = ring_reserve(&records, sizeof *record, 0);
    if (!record) {
        lose();
        return 0;
    }
    begin(&record->header, EXIT, pid);
    struct task_struct *leader = READ(task, group_leader);
    record->status =
        READ(signal, flags) & GROUP_EXIT ? READ(signal, group_exit_code) : READ(leader, exit_code);
    record->unused = 0;
    ring_submit(record, wakeup());
    return 0;
}
