//! Snapshots as commits of the workspace's own repository, beneath `refs/sandbox/snapshots/`.
//!
//! A commit is a foreign form of a tree, as an archive is. No git is started: nothing that the repository's configuration,
//! attributes or hooks name is ever run, and of its configuration only the layout is believed. Objects and refs are added
//! and nothing else: HEAD, index, stash, branches and reflogs are not written. A ref comes back through the store, so that it is
//! restored by the same laws as any snapshot.

mod config;
mod content;
mod id;
mod ids;
mod index;
mod lay;
mod left;
mod nested;
mod objects;
mod over;
mod pack;
mod place;
mod refs;
#[cfg(test)]
mod tests;
mod tree;

use belay_store::{Assembled, Assembly, Coverage, Filter, Hash, Ignored, Lock, Manifest, Time, View};
use jiff::Timestamp;

pub use config::excludes_file;
pub(crate) use config::{BYTES_MAX as SETTINGS_BYTES_MAX, settings};
pub(crate) use id::Format;
pub use id::GitId;
pub(crate) use index::{Tracked, tracked_in};
pub use left::{NotInGit, WhyNotInGit};
pub use refs::SNAPSHOT_REFS;

pub(crate) use id::Kind as ObjectKind;
use ids::Ids;
use lay::Lay;
use over::Over;
use place::Repository;
pub(crate) use place::said_to_be_outside;
use tree::Commit;

use crate::error::{Error, Result};
use crate::import::{ImportRequest, Imported};
use crate::present::{Stored, Tree};
use crate::record::{Kind, Origin, Snapshot};
use crate::snapshot::SnapshotRequest;
use crate::workspace::{Work, Workspace};

const COMMIT_BYTES_MAX: u64 = 64 << 20;
/// What the repository's own ignore rules and the user's were, which no tree holds.
const OUTER_HEADER: &str = "belay-filter";
/// What was there and is not in the commit.
const COVERAGE_HEADER: &str = "belay-coverage";
/// What is left of its time, after the second.
const NANOS_HEADER: &str = "belay-nanos";
const TAGS_MAX: usize = 5;

/// A named snapshot in the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitRef {
    /// Its name without `refs/sandbox/snapshots/`.
    pub name: String,
    /// The commit.
    pub commit: GitId,
    /// When it was made.
    pub at: Timestamp,
    /// What it says.
    pub message: String,
}

/// A commit that was written.
#[derive(Clone, Debug)]
pub struct Committed {
    /// The ref.
    pub git_ref: GitRef,
    /// Entries in it that are not directories.
    pub files: u64,
    /// What it does not hold.
    pub left: Vec<NotInGit>,
    /// Whether the index could not be read whole, so that tracked files may be missing that an ignore file matches.
    pub is_index_partial: bool,
}

/// What to write.
#[derive(Clone, Debug, Default)]
pub struct CommitRequest {
    /// Its name beneath `refs/sandbox/snapshots/`.
    pub name: String,
    /// What it says.
    pub message: String,
    /// What git ignores, too.
    pub all: bool,
}

/// A ref, laid over the present; gc leaves both alone while this lives.
pub struct FromGit {
    /// The commit.
    pub commit: GitId,
    /// The tree of the commit, with everything that git does not say as it is now.
    pub tree: Tree,
    /// The present.
    pub present: Stored,
    key: Hash,
    stored_bytes: u64,
    full_name: String,
    _held: Lock,
}

impl Workspace<'_> {
    /// Whether named states are kept in the workspace's repository: it was chosen, and there is one.
    pub fn names_in_git(&self) -> Result<bool> {
        Ok(self.settings.choice("agents.named") == "git" && self.repository()?.is_some())
    }

    fn repository(&self) -> Result<Option<Repository>> {
        if self.is_layered() {
            return Ok(None);
        }
        Repository::of(self.root(), self.path(), self.settings.flag("agents.alternates"))
    }

    fn needed_repository(&self) -> Result<Repository> {
        self.repository()?.ok_or_else(|| Error::NoRepository(self.path().to_path_buf()))
    }

    /// The named snapshots of the repository, most recent first; none if there is no repository.
    pub fn git_refs(&self) -> Result<Vec<GitRef>> {
        let Some(repository) = self.repository()? else { return Ok(Vec::new()) };
        let mut refs = Vec::new();
        for (name, id) in repository.snapshot_refs()? {
            // One that nobody can read does not hide the others.
            refs.push(repository.commit(&id).map_or_else(
                |error| GitRef {
                    name: name.clone(),
                    commit: id,
                    at: Timestamp::UNIX_EPOCH,
                    message: error.to_string(),
                },
                |(commit, read)| GitRef { name: name.clone(), commit, at: moment(&read), message: text(&read.message) },
            ));
        }
        refs.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| a.name.cmp(&b.name)));
        Ok(refs)
    }

    /// Refuses a name that a ref has, or that git would not take.
    pub fn check_git_name(&self, name: &str) -> Result<()> {
        self.needed_repository()?.check_free(name).map(drop)
    }

    /// Whether a ref has that name.
    pub fn has_git_ref(&self, name: &str) -> Result<bool> {
        Ok(self.needed_repository()?.find_ref(&full_name(name))?.is_some())
    }

    /// Writes a snapshot as a commit: what git sees of it, or all that git can hold.
    pub fn commit(&self, snapshot: &Snapshot, request: &CommitRequest, work: Work<'_>) -> Result<Committed> {
        let repository = self.needed_repository()?;
        repository.check_free(&request.name)?;
        let store = self.home.store();
        let damaged = |source| Error::Damaged { snapshot: snapshot.id.clone(), source };
        let manifest = Manifest::read(store, &snapshot.manifest).map_err(damaged)?;
        work.progress.expect(manifest.counts.files, manifest.counts.bytes);
        let tracked = repository.tracked()?;
        let filter = self.git_filter(&repository);
        let mut ids = Ids::read(self.home.disk(), &self.file("git-ids"), repository.objects.format());
        let laid = Lay {
            view: View::stored(store),
            objects: &repository.objects,
            ids: &mut ids,
            filter: (!request.all).then_some(&filter),
            tracked: &tracked.paths,
            bytes_max: self.settings.limits().new_bytes_max,
            work,
        }
        .lay(&manifest.root)?;
        ids.save(self.home.disk(), &self.file("git-ids"));
        let outer = if request.all { Filter::everything() } else { filter };
        let at = self.home.options.clock.now();
        let extra = vec![
            (NANOS_HEADER.to_owned(), at.subsec_nanosecond().to_string()),
            (OUTER_HEADER.to_owned(), hex(&outer.encode())),
            (COVERAGE_HEADER.to_owned(), hex(&laid.coverage().encode())),
        ];
        let message = message(&request.message);
        let commit = Commit { tree: laid.tree, at: at.as_second(), message, extra };
        let id = repository.add_commit(&commit)?;
        repository.objects.sync()?;
        repository.create_ref(&request.name, &id)?;
        let name = request.name.clone();
        let git_ref = GitRef { name, commit: id, at: moment(&commit), message: text(&commit.message) };
        Ok(Committed { git_ref, files: laid.files, left: laid.left, is_index_partial: tracked.is_partial })
    }

    /// Lays a ref over the present, in the store; the workspace is only looked at.
    ///
    /// A name without `refs/` is one beneath `refs/sandbox/snapshots/`.
    pub fn read_git_ref(&self, name: &str, work: Work<'_>) -> Result<FromGit> {
        let repository = self.needed_repository()?;
        let full_name = full_name(name);
        let unknown = || Error::UnknownRef(full_name.clone());
        let id = repository.find_ref(&full_name)?.ok_or_else(unknown)?;
        let (commit, read) = repository.commit(&id)?;
        let present = self.stored(work)?;
        let store = self.home.store();
        let mut ids = Ids::read(self.home.disk(), &self.file("git-ids"), repository.objects.format());
        let mut filter = self.filter_of(&repository, &read);
        let links = present.tree.manifest().links(store)?;
        let mut coverage = coverage_of(&read);
        let lost = coverage.gaps.iter().map(|gap| gap.path.clone()).collect();
        let batch = store.begin()?;
        let mut assembly = Assembly::new(store, &batch, self.settings.limits());
        let said = Over {
            view: View::stored(store),
            objects: &repository.objects,
            ids: &mut ids,
            filter: &filter,
            present: &present.tree.manifest().root,
            links: &links,
            lost: &lost,
            at: Time { sec: read.at, nsec: 0 },
            bytes_max: self.settings.limits().new_bytes_max,
            work,
        }
        .lay(read.tree, &mut assembly)?;
        ids.save(self.home.disk(), &self.file("git-ids"));
        coverage.gaps.extend(said.gaps);
        // What is captured before a restore by the same rules then says of these, too, whether they were there.
        filter.force_include.extend(said.forced);
        coverage.gaps.sort();
        let Assembled { key, manifest, .. } = assembly.finish(&filter, &coverage)?;
        let (stored_bytes, held) = batch.finish()?;
        let format = repository.objects.format();
        let (tree, present) = (Tree::stored(manifest).named_by(format), present.named_by(format));
        Ok(FromGit { commit, tree, present, key, stored_bytes, full_name, _held: held })
    }

    /// Whether a restore of the ref would change something.
    pub fn differs(&self, from: &FromGit) -> Result<bool> {
        let plan = self.plan_between(from.present.tree.manifest(), from.tree.manifest(), &[], &self.guard())?;
        Ok(!plan.steps.is_empty())
    }

    /// Lists what a ref was laid out as in the timeline; the same again if it is there.
    pub fn adopt(&self, from: &FromGit, label: Option<String>, description: Option<String>) -> Result<Snapshot> {
        let is_same = |snapshot: &&Snapshot| snapshot.imported && snapshot.manifest == from.key;
        if label.is_none()
            && description.is_none()
            && let Some(known) = self.timeline()?.snapshots().iter().rev().find(is_same)
        {
            return Ok(known.clone());
        }
        let description = description.or_else(|| Some(format!("{} ({})", from.full_name, from.commit)));
        let request = SnapshotRequest {
            kind: Kind::Manual,
            origin: Origin::Manual,
            label,
            description,
            imported: true,
            ..SnapshotRequest::default()
        };
        self.name_tree(from.tree.manifest(), from.key, from.stored_bytes, &request)
    }

    /// Makes a snapshot of a ref.
    pub fn import_git_ref(&self, name: &str, request: ImportRequest, work: Work<'_>) -> Result<Imported> {
        if let Some(label) = &request.label {
            self.timeline()?.check_label(label)?;
        }
        let from = self.read_git_ref(name, work)?;
        Ok(Imported { snapshot: self.adopt(&from, request.label, request.description)?, is_verified: false })
    }

    /// What git leaves out of this workspace, but for its ignore files.
    fn git_filter(&self, repository: &Repository) -> Filter {
        let texts = repository.exclude().into_iter().chain(self.home.options.git_ignore.clone());
        let rules = texts.map(|text| without_remarks(&text)).filter(|text| !text.is_empty());
        Filter { outer: rules.map(|text| (String::new(), text)).collect(), ..git_rules() }
    }

    /// What a commit claims: by its own record, or by today's rules if it has none.
    fn filter_of(&self, repository: &Repository, commit: &Commit) -> Filter {
        let said = commit.header(OUTER_HEADER).and_then(unhex).and_then(|bytes| Filter::decode(&bytes).ok());
        match said {
            Some(filter) => Filter { gitignored: filter.gitignored, outer: filter.outer, ..git_rules() },
            None => self.git_filter(repository),
        }
    }
}

/// An ignore file's rules alone, since they go into every commit.
fn without_remarks(text: &str) -> String {
    let rules = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    rules.flat_map(|line| [line, "\n"]).collect()
}

/// Ignore files decide, and whatever is called `.git` is not looked into.
fn git_rules() -> Filter {
    Filter { gitignored: Ignored::Skip, exclude_patterns: vec![".git".to_owned()], ..Filter::everything() }
}

/// What a commit says that it lacks.
fn coverage_of(commit: &Commit) -> Coverage {
    let said = commit.header(COVERAGE_HEADER).and_then(unhex).and_then(|bytes| Coverage::decode(&bytes).ok());
    said.unwrap_or_default()
}

impl Repository {
    /// The commit that an object is, or that a tag leads to.
    fn commit(&self, id: &GitId) -> Result<(GitId, Commit)> {
        let mut id = *id;
        for _ in 0..TAGS_MAX {
            let (kind, bytes) = self.objects.read(&id, COMMIT_BYTES_MAX)?;
            match kind {
                ObjectKind::Commit => {
                    let commit = Commit::decode(self.objects.format(), &bytes);
                    return Ok((id, commit.ok_or_else(|| objects::bad(&id, "it is not readable"))?));
                }
                ObjectKind::Tag => match tree::decode_tag(self.objects.format(), &bytes) {
                    Some((_, next)) => id = next,
                    None => return Err(objects::bad(&id, "it is not readable")),
                },
                ObjectKind::Tree | ObjectKind::Blob => break,
            }
        }
        Err(objects::bad(&id, "it is no commit"))
    }

    fn add_commit(&self, commit: &Commit) -> Result<GitId> {
        let bytes = commit.encode();
        let id = self.objects.format().name(ObjectKind::Commit, &bytes);
        let id = id.map_err(|_| place::unusable("the commit would have the SHA-1 of something else"))?;
        if !self.objects.has(&id)? {
            let pour: &objects::Pour<'_> = &|take| take(&bytes).map_err(Error::Output);
            self.objects.add(&id, ObjectKind::Commit, bytes.len() as u64, pour)?;
        }
        Ok(id)
    }
}

fn full_name(name: &str) -> String {
    if name == "HEAD" || name.starts_with("refs/") { name.to_owned() } else { format!("{SNAPSHOT_REFS}{name}") }
}

/// When a commit was made; git's own time is in seconds.
fn moment(commit: &Commit) -> Timestamp {
    let nanos = commit.header(NANOS_HEADER).and_then(|nanos| nanos.parse().ok()).unwrap_or(0);
    Timestamp::new(commit.at, nanos).or_else(|_| Timestamp::from_second(commit.at)).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// A message as git stores it: no byte that ends a text, and a whole last line.
fn message(text: &str) -> Vec<u8> {
    let text = text.trim_end().replace('\0', " ");
    if text.is_empty() { Vec::new() } else { format!("{text}\n").into_bytes() }
}

fn text(message: &[u8]) -> String {
    String::from_utf8_lossy(message).trim_end().to_owned()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |c: u8| (c as char).to_digit(16);
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| Some((digit(pair[0])? * 16 + digit(*pair.get(1)?)?) as u8)).collect()
}
