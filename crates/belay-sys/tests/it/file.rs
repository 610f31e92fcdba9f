//! Holes, clones and lengths of open files.

use std::os::unix::fs::FileExt;

use belay_sys::{advise_sequential, clone_file, data_extents, punch_or_extend, stat_file};

use crate::world_dir;

#[test]
fn holes_are_found_and_stay_holes() {
    let (_temp, dir) = world_dir();
    let file = dir.create_new(b"sparse", 0o600).unwrap();
    let (block, size) = (1 << 16, 10 << 20);
    punch_or_extend(&file, size).unwrap();
    assert_eq!(data_extents(&file, size).unwrap(), []);
    file.write_all_at(&vec![1; block as usize], 4 * block).unwrap();
    file.write_all_at(&vec![2; block as usize], size - block).unwrap();
    assert_eq!(data_extents(&file, size).unwrap(), [(4 * block, block), (size - block, block)]);
    assert_eq!(data_extents(&file, 4 * block + 10).unwrap(), [(4 * block, 10)]);
    assert_eq!(data_extents(&file, 4 * block).unwrap(), []);
    assert_eq!(rustix::fs::tell(&file).unwrap(), 0);
    assert!(stat_file(&file).unwrap().blocks * 512 < size);
    punch_or_extend(&file, 5).unwrap();
    assert_eq!(stat_file(&file).unwrap().size, 5);
}

#[test]
fn a_full_file_is_one_extent() {
    let (_temp, dir) = world_dir();
    let file = dir.create_new(b"full", 0o600).unwrap();
    assert_eq!(data_extents(&file, 0).unwrap(), []);
    file.write_all_at(&[7; 5000], 0).unwrap();
    advise_sequential(&file).unwrap();
    assert_eq!(data_extents(&file, 5000).unwrap(), [(0, 5000)]);
}

#[test]
fn a_clone_has_the_same_bytes_or_says_that_it_cannot() {
    let (_temp, dir) = world_dir();
    let (from, to) = (dir.create_new(b"from", 0o600).unwrap(), dir.create_new(b"to", 0o600).unwrap());
    from.write_all_at(&[9; 8192], 0).unwrap();
    match clone_file(&from, &to) {
        Ok(()) => assert_eq!(stat_file(&to).unwrap().size, 8192),
        Err(_) => {
            println!("skipped: no reflinks on this file system");
            assert_eq!(stat_file(&to).unwrap().size, 0);
        }
    }
}
