//! Where the grants of a policy lead on this machine: real paths, what is there, and what lies under what.
//!
//! Invariants: a link on the way to a grant is shown as the link that it is, and what it leads to stands at its own
//! path, unless a confined program could have made that link: such a one grants nothing, and takes at most; what is sealed is no place and
//! lies beneath none; a place is always listed after the places that it lies beneath; what is not there is left out.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use crate::error::{Error, Result};
use crate::policy::{Access, Policy};

/// More links than this on the way to one path are a circle, as for the kernel.
const LINKS_MAX: usize = 40;

/// One path of the composed root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The path, without links.
    pub(crate) path: PathBuf,
    /// The path as its grant has it.
    pub(crate) written: PathBuf,
    /// How it can be reached.
    pub(crate) access: Access,
    /// Whether it is a directory.
    pub(crate) directory: bool,
    /// Its permissions.
    pub(crate) mode: u32,
    /// How the place that it lies beneath can be reached; none if that is the bare root.
    pub(crate) beneath: Option<Access>,
    /// Whether other places lie beneath it.
    pub(crate) has_inner: bool,
}

/// All of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Links that stand in the bare root, with their text.
    pub(crate) links: Vec<(PathBuf, PathBuf)>,
    /// The places, outer before inner.
    pub(crate) places: Vec<Place>,
    /// Paths that should be protected in a writable tree but are not there, so that anybody can make them.
    pub(crate) absent: Vec<PathBuf>,
    /// Every path that a grant names, without links, whether it is there or not; of two the later one counts.
    pub(crate) named: Vec<(PathBuf, Access)>,
    /// Grants that lead through a link in a tree that can be written.
    pub(crate) planted: Vec<Planted>,
}

/// A grant that leads through a link which a confined program could have made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Planted {
    /// The path as the grant has it.
    pub(crate) path: PathBuf,
    /// The link.
    pub(crate) link: PathBuf,
    /// Whether what it leads to is hidden or protected all the same.
    pub(crate) narrows: bool,
}

/// Looks at every path that the policy grants.
pub(crate) fn layout(policy: &Policy) -> Result<Layout> {
    let mut layout = Layout::default();
    let mut found: Vec<Place> = Vec::new();
    let sealed = policy.sealed.iter().map(|path| real(path)).collect::<Result<Vec<PathBuf>>>()?;
    let writable = writable(policy)?;
    for grant in policy.in_order() {
        if !grant.path.is_absolute() {
            return Err(Error::Relative { path: grant.path.clone() });
        }
        let mut links = Vec::new();
        let (path, metadata) = walk(&grant.path, &mut links)?;
        if let Some((link, _)) = links.iter().find(|(link, _)| writable.iter().any(|tree| link.starts_with(tree))) {
            // What it leads to may be kept from the program, but never given to it.
            let narrows = metadata.is_some() && narrows(policy, grant.access, &path);
            layout.planted.push(Planted { path: grant.path.clone(), link: link.clone(), narrows });
            layout.named.push((grant.path.clone(), grant.access));
            if !narrows {
                continue;
            }
            links.clear();
        }
        layout.links.append(&mut links);
        layout.named.push((path.clone(), grant.access));
        if grant.access != Access::Hidden && sealed.iter().any(|sealed| path.starts_with(sealed)) {
            continue;
        }
        let (directory, mode) = match (&metadata, grant.access) {
            (Some(metadata), _) => (metadata.is_dir(), metadata.mode() & 0o7777),
            (None, Access::Empty) => (true, 0o700),
            (None, access) => {
                if access == Access::Read && makeable(policy, &path) {
                    layout.absent.push(path);
                }
                continue;
            }
        };
        found.retain(|other| other.path != path);
        let written = grant.path.clone();
        found.push(Place { path, written, access: grant.access, directory, mode, beneath: None, has_inner: false });
    }
    found.sort_by_key(|place| place.path.components().count());
    let places = nest(found);
    // A link beneath a place is there already; only the bare root has none.
    layout.links.retain(|(path, _)| !places.iter().any(|place| path.starts_with(&place.path)));
    layout.links.sort();
    layout.links.dedup();
    Ok(Layout { places, ..layout })
}

/// Whether a grant takes something from a program that it would have without.
fn narrows(policy: &Policy, access: Access, path: &Path) -> bool {
    let around = policy.decides(path).filter(|around| around.path != path);
    let is_open = around.is_some_and(|around| matches!(around.access, Access::Write | Access::Private));
    is_open && matches!(access, Access::Hidden | Access::Read)
}

/// The trees in which a confined program, this one or one before it, can leave a link behind.
fn writable(policy: &Policy) -> Result<Vec<PathBuf>> {
    let is_kept = |path: &Path| policy.kept.iter().any(|kept| kept.path == path);
    let lasting = policy.grants.iter().filter(|grant| grant.access == Access::Write || is_kept(&grant.path));
    lasting.map(|grant| real(&grant.path)).collect()
}

/// The path without links.
pub(crate) fn real(path: &Path) -> Result<PathBuf> {
    Ok(walk(path, &mut Vec::new())?.0)
}

/// Whether a program could make what is not there: its directory is, in a tree that can be written.
fn makeable(policy: &Policy, path: &Path) -> bool {
    let Some(parent) = path.parent() else { return false };
    parent.is_dir() && policy.decides(parent).is_some_and(|grant| grant.access == Access::Write)
}

/// Says for each place what it lies beneath, and leaves out those that change nothing.
fn nest(found: Vec<Place>) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    for mut place in found {
        let outer = places.iter().rposition(|other| place.path.starts_with(&other.path));
        place.beneath = outer.map(|index| places[index].access);
        let changes_nothing = match place.access {
            Access::Read | Access::Write | Access::Private => place.beneath == Some(place.access),
            Access::Hidden => matches!(place.beneath, None | Some(Access::Hidden | Access::Empty)),
            Access::Empty => false,
        };
        if changes_nothing {
            continue;
        }
        if let Some(index) = outer {
            places[index].has_inner = true;
            let pins = pins(&places[index], &place);
            places.extend(pins);
        }
        places.push(place);
    }
    places
}

/// Directories between a writable tree and a protected place in it, as places of their own.
///
/// A directory can be renamed although something is mounted beneath it, and another put where it was; what is a place
/// itself cannot.
fn pins(outer: &Place, inner: &Place) -> Vec<Place> {
    if outer.access != Access::Write || !matches!(inner.access, Access::Read | Access::Hidden) {
        return Vec::new();
    }
    let between = inner.path.ancestors().skip(1).take_while(|path| *path != outer.path);
    let pin = |path: &Path| Place { path: path.to_owned(), beneath: Some(Access::Write), ..outer.clone() };
    let mut pins: Vec<Place> = between.map(pin).collect();
    pins.reverse();
    pins
}

/// Where a path leads.
#[derive(Debug)]
pub struct Followed {
    /// The path without links; what is not there is left as it was written.
    pub path: PathBuf,
    /// What is there.
    pub found: Option<Metadata>,
    /// The links on the way, with their texts.
    pub links: Vec<(PathBuf, PathBuf)>,
}

/// Follows a path as the kernel does.
pub fn follow(path: &Path) -> Result<Followed> {
    let mut links = Vec::new();
    let (path, found) = walk(path, &mut links)?;
    Ok(Followed { path, found, links })
}

/// The real path of a path, what is there, and the links on the way.
pub(crate) fn walk(path: &Path, links: &mut Vec<(PathBuf, PathBuf)>) -> Result<(PathBuf, Option<Metadata>)> {
    let mut rest: VecDeque<OsString> = components(path);
    let mut real = PathBuf::from("/");
    let mut metadata = look(&real)?;
    let mut followed = 0;
    while let Some(name) = rest.pop_front() {
        if name == ".." {
            real.pop();
            continue;
        }
        real.push(&name);
        metadata = look(&real)?;
        match &metadata {
            None => {
                real.extend(rest);
                return Ok((real, None));
            }
            Some(found) if found.is_symlink() => {
                followed += 1;
                if followed > LINKS_MAX {
                    // Links that lead round in a circle lead to nothing.
                    return Ok((real, None));
                }
                let text = fs::read_link(&real).map_err(|source| Error::Look { path: real.clone(), source })?;
                links.push((real.clone(), text.clone()));
                real.pop();
                if text.is_absolute() {
                    real = PathBuf::from("/");
                }
                let mut next = components(&text);
                next.append(&mut rest);
                rest = next;
                metadata = look(&real)?;
            }
            Some(_) => {}
        }
    }
    if metadata.as_ref().is_none_or(Metadata::is_symlink) {
        metadata = look(&real)?;
    }
    Ok((real, metadata))
}

fn components(path: &Path) -> VecDeque<OsString> {
    let name = |component: Component<'_>| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    };
    path.components().filter_map(name).collect()
}

/// What is at a path; nothing if it cannot be reached or named, since then it cannot be shown either.
fn look(path: &Path) -> Result<Option<Metadata>> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error)
            if matches!(
                error.raw_os_error(),
                Some(libc::ENOENT | libc::ENOTDIR | libc::EACCES | libc::ENAMETOOLONG)
            ) =>
        {
            Ok(None)
        }
        Err(source) => Err(Error::Look { path: path.to_owned(), source }),
    }
}
