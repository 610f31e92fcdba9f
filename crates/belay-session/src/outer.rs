//! The ignore files above a workspace that is a part of a repository.

use std::path::Path;

/// Ignore files larger than this are no ignore files.
const BYTES_MAX: u64 = 1 << 20;

/// For each directory above the workspace, up to its repository's top: the workspace's path beneath it, and the
/// text of its ignore file. Nothing if the workspace is a repository itself, or in none.
pub(crate) fn ignore_files(workspace: &Path) -> Vec<(String, String)> {
    let is_top = |dir: &&Path| dir.join(".git").symlink_metadata().is_ok();
    if is_top(&workspace) {
        return Vec::new();
    }
    let Some(top) = workspace.ancestors().skip(1).find(is_top) else { return Vec::new() };
    let mut found = Vec::new();
    for dir in workspace.ancestors().skip(1).take_while(|dir| dir.starts_with(top)) {
        let Some(beneath) = workspace.strip_prefix(dir).ok().and_then(Path::to_str) else { continue };
        found.extend(text(&dir.join(".gitignore")).map(|text| (beneath.to_owned(), text)));
        if dir == top {
            found.extend(text(&dir.join(".git/info/exclude")).map(|text| (beneath.to_owned(), text)));
        }
    }
    found
}

fn text(path: &Path) -> Option<String> {
    let meta = path.symlink_metadata().ok()?;
    // Anything but a plain file of a sane size could block, follow elsewhere, or fill memory.
    if !meta.is_file() || meta.len() > BYTES_MAX {
        return None;
    }
    std::fs::read_to_string(path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignore_files_are_collected_up_to_the_top_of_the_repository() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().join("repo");
        let workspace = top.join("packages/web");
        std::fs::create_dir_all(&workspace).unwrap();
        std::fs::create_dir_all(top.join(".git/info")).unwrap();
        std::fs::write(dir.path().join(".gitignore"), "above the repository\n").unwrap();
        std::fs::write(top.join(".gitignore"), "dist\n").unwrap();
        std::fs::write(top.join(".git/info/exclude"), "private\n").unwrap();
        std::fs::write(top.join("packages/.gitignore"), "*.log\n").unwrap();
        std::fs::write(workspace.join(".gitignore"), "its own\n").unwrap();
        let expected = [("web", "*.log\n"), ("packages/web", "dist\n"), ("packages/web", "private\n")];
        let expected: Vec<_> = expected.iter().map(|(path, text)| (path.to_string(), text.to_string())).collect();
        assert_eq!(ignore_files(&workspace), expected);
        assert_eq!(ignore_files(&top), []);
        assert_eq!(ignore_files(dir.path()), []);
    }

    #[test]
    fn a_symlink_or_pipe_is_no_ignore_file() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join(".git")).unwrap();
        std::fs::create_dir_all(dir.path().join("in")).unwrap();
        std::fs::write(dir.path().join("real"), "x\n").unwrap();
        std::os::unix::fs::symlink("real", dir.path().join(".gitignore")).unwrap();
        assert_eq!(ignore_files(&dir.path().join("in")), []);
    }
}
