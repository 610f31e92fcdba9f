//! What a jail shows of the machine, asked path by path: the same layout that its root is composed of.
//!
//! Invariants: nothing is decided here that the layout does not say; a link leads on only where a program in the jail
//! would see that link.

use std::path::{Path, PathBuf};

use crate::calls::Wanted;
use crate::error::Result;
use crate::places::{self, Layout, Place};
use crate::policy::{Access, Policy};

/// Everything that a policy shows here and now.
#[derive(Debug)]
pub struct Sight {
    layout: Layout,
    shown: Vec<PathBuf>,
}

/// What becomes of one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Where it is, once links are followed that the jail shows.
    pub path: PathBuf,
    /// How it can be reached.
    pub access: Access,
    /// The path of the grant that says so, as it is written; without one nothing does.
    pub grant: Option<PathBuf>,
    /// Whether it is a directory of the jail's own, on the way to what is granted beneath it.
    pub is_way: bool,
    /// Whether something is there outside.
    pub is_there: bool,
    /// What would be protected here if it were there.
    pub unprotected: Option<PathBuf>,
}

impl Sight {
    /// What the policy shows.
    pub fn of(policy: &Policy) -> Result<Sight> {
        let shown = policy.shown.iter().map(|shown| shown.at.clone()).collect();
        Ok(Sight { layout: places::layout(policy)?, shown })
    }

    /// Looks at a path, which is absolute.
    pub fn see(&self, path: &Path) -> Seen {
        let mut links = Vec::new();
        // What cannot be looked at is not there.
        let (real, is_there) = match places::walk(path, &mut links) {
            Ok((real, found)) => (real, found.is_some()),
            Err(_) => (path.to_owned(), false),
        };
        let unseen = links.into_iter().map(|(link, _)| link).find(|link| !self.shows_link(link));
        let (path, is_there) = unseen.map_or((real, is_there), |link| (link, true));
        let unprotected = self.layout.absent.iter().find(|absent| path.starts_with(absent)).cloned();
        if self.shown.contains(&path) {
            return Seen { path, access: Access::Read, grant: None, is_way: false, is_there, unprotected };
        }
        let place = self.place(&path);
        let access = place.map_or(Access::Hidden, |place| place.access);
        let grant = place.map(|place| place.written.clone());
        let is_way = matches!(access, Access::Hidden | Access::Empty) && self.leads_on(&path);
        Seen { path, access, grant, is_way, is_there, unprotected }
    }

    /// Directories and files whose grant says how everything beneath them can be reached, with whether they can be seen.
    pub fn places(&self) -> impl Iterator<Item = (&Path, bool)> {
        let is_seen = |access| matches!(access, Access::Read | Access::Write | Access::Private);
        self.layout.places.iter().map(move |place| (place.path.as_path(), is_seen(place.access)))
    }

    /// Every path that a grant names, without links, whether it is there or not; of two the later one counts.
    pub fn named(&self) -> impl Iterator<Item = (&Path, Access)> {
        self.layout.named.iter().map(|(path, access)| (path.as_path(), *access))
    }

    fn place(&self, path: &Path) -> Option<&Place> {
        let around = self.layout.places.iter().filter(|place| path.starts_with(&place.path));
        around.max_by_key(|place| place.path.components().count())
    }

    fn shows_link(&self, link: &Path) -> bool {
        let stands = || self.layout.links.iter().any(|(path, _)| path == link);
        let access = self.place(link).map(|place| place.access);
        matches!(access, Some(Access::Read | Access::Write | Access::Private)) || stands()
    }

    fn leads_on(&self, path: &Path) -> bool {
        let places = self.layout.places.iter().filter(|place| place.access != Access::Hidden || place.has_inner);
        let ends = places.map(|place| &place.path).chain(self.layout.links.iter().map(|(path, _)| path));
        ends.chain(&self.shown).any(|end| end.starts_with(path))
    }
}

impl Seen {
    /// Whether what is there outside can be used so.
    pub fn allows(&self, wanted: Wanted) -> bool {
        match self.access {
            Access::Write | Access::Private => true,
            Access::Read => wanted == Wanted::Read,
            Access::Hidden | Access::Empty => self.is_way && wanted == Wanted::Read,
        }
    }
}
