// SPDX-License-Identifier: (Apache-2.0 OR MIT) AND GPL-2.0
// The way from a directory or file up to the root that its process sees, name by name.
//
// Whoever includes this has said before how long a path gets, PATH_BYTES, and a name, NAME_BYTES; the buffer of a climb
// has room for both.

struct walk {
    u64 filled;
    struct dentry *at;
    struct vfsmount *mount;
    struct dentry *root;
    struct vfsmount *root_mount;
};

struct {
    MAP_NUMBER(type, MAP_PERCPU_ARRAY);
    MAP_NUMBER(max_entries, 1);
    MAP_TYPE(key, u32);
    MAP_TYPE(value, struct walk);
} walks SEC(".maps");

struct climb {
    char *data;
    struct walk *walk;
};

// Compares two pointers without letting the verifier conclude anything about either.
INLINE bool same(const void *one, const void *other) {
    u64 difference = (u64)one ^ (u64)other;
    FORGET(difference);
    return difference == 0;
}

// One step towards the root: over a mount's edge, or one name, which is appended with its zero byte.
static long climb_step(u32 round, struct climb *climb) {
    struct walk *walk = climb->walk;
    struct dentry *at = walk->at;
    struct vfsmount *inner = walk->mount;
    if (same(at, walk->root) && same(inner, walk->root_mount))
        return 1;
    struct dentry *parent = READ(at, d_parent);
    if (same(at, READ(inner, mnt_root)) || same(at, parent)) {
        struct mount *mount = (void *)inner - __builtin_preserve_field_info(((struct mount *)0)->mnt, 0);
        struct mount *outer = READ(mount, mnt_parent);
        if (same(mount, outer))
            return 1;
        walk->at = READ(mount, mnt_mountpoint);
        walk->mount = (void *)outer + __builtin_preserve_field_info(((struct mount *)0)->mnt, 0);
        return 0;
    }
    u64 filled = walk->filled;
    if (filled >= PATH_BYTES)
        return 1;
    FORGET(filled);
    filled &= PATH_BYTES - 1;
    long length = read_kernel_text(climb->data + filled, NAME_BYTES, READ(at, d_name.name));
    if (length > 0)
        walk->filled = filled + length;
    walk->at = parent;
    return 0;
}
