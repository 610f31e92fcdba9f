//! A snapshot as an object: its root, its hard links, the filter it was made with and what it lacks.

use crate::codec::{Decoder, Encoder};
use crate::error::Result;
use crate::filter::Filter;
use crate::hash::{Algorithm, Hash};
use crate::objects::Store;
use crate::tree::{Entry, Kind};

const MANIFEST_VERSION: u8 = 1;
const LINKS_VERSION: u8 = 1;
const COVERAGE_VERSION: u8 = 1;

/// Everything that a snapshot of a tree is; its key is what a timeline records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The workspace's own directory; its name is empty and its kind is `Dir`.
    pub root: Entry,
    /// The hash over everything captured but times and owners.
    pub identity: Hash,
    /// The key of the hard-link groups, if there are any.
    pub links: Option<Hash>,
    /// The key of the filter that was in force.
    pub filter: Hash,
    /// The key of what could not be, or was not to be, captured.
    pub coverage: Hash,
    /// How much the tree holds.
    pub counts: Counts,
}

/// How much a tree holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Entries that are not directories.
    pub files: u64,
    /// Bytes in regular files.
    pub bytes: u64,
    /// Gaps of the coverage that the user did not ask for: unreadable, hung, unstable, over a limit.
    pub gaps: u64,
}

impl Manifest {
    /// Computes the identity of a root with its hard links.
    pub fn identity_of(algorithm: Algorithm, root: &Entry, links: Option<&Hash>) -> Hash {
        let mut out = Encoder::default();
        out.bytes.extend_from_slice(b"belay root 1\0");
        root.encode_identity(&mut out);
        if let Some(links) = links {
            out.hash(links);
        }
        algorithm.hash(&out.bytes)
    }

    /// The key of the root directory's node.
    pub fn root_node(&self) -> Hash {
        match self.root.kind {
            Kind::Dir { node, .. } => node,
            _ => unreachable!("decode and capture both insist on a directory"),
        }
    }

    /// The key under which a store has it, or would have it.
    pub fn key(&self, store: &Store) -> Hash {
        store.algorithm().hash(&self.encode())
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Encoder::default();
        out.byte(MANIFEST_VERSION);
        self.root.encode(&mut out);
        out.hash(&self.identity);
        out.byte(u8::from(self.links.is_some()));
        if let Some(links) = &self.links {
            out.hash(links);
        }
        out.hash(&self.filter);
        out.hash(&self.coverage);
        out.number(self.counts.files);
        out.number(self.counts.bytes);
        out.number(self.counts.gaps);
        out.bytes
    }

    pub(crate) fn decode(bytes: &[u8], algorithm: Algorithm) -> Result<Manifest> {
        let mut input = Decoder::new(bytes, "a snapshot");
        if input.byte()? != MANIFEST_VERSION {
            return Err(input.bad("its version is unknown"));
        }
        let root = Entry::decode(&mut input)?;
        let identity = input.hash()?;
        let links = match input.byte()? {
            0 => None,
            1 => Some(input.hash()?),
            _ => return Err(input.bad("a flag is neither yes nor no")),
        };
        let filter = input.hash()?;
        let coverage = input.hash()?;
        let counts = Counts { files: input.number()?, bytes: input.number()?, gaps: input.number()? };
        if !matches!(root.kind, Kind::Dir { .. }) || !root.name.is_empty() {
            return Err(input.bad("its root is not a directory"));
        }
        if Manifest::identity_of(algorithm, &root, links.as_ref()) != identity {
            return Err(input.bad("its root hash does not match its tree"));
        }
        input.finish()?;
        Ok(Manifest { root, identity, links, filter, coverage, counts })
    }

    /// Reads the snapshot of that key.
    pub fn read(store: &Store, key: &Hash) -> Result<Manifest> {
        Manifest::decode(&store.read(key)?, store.algorithm())
    }

    /// The filter that was in force.
    pub fn filter(&self, store: &Store) -> Result<Filter> {
        Filter::decode(&store.read(&self.filter)?)
    }

    /// What the snapshot lacks.
    pub fn coverage(&self, store: &Store) -> Result<Coverage> {
        Coverage::decode(&store.read(&self.coverage)?)
    }

    /// The hard-link groups.
    pub fn links(&self, store: &Store) -> Result<Links> {
        match &self.links {
            Some(key) => Links::decode(&store.read(key)?),
            None => Ok(Links::default()),
        }
    }
}

/// Which paths are one file: groups of at least two, sorted inside and among each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// The groups.
    pub groups: Vec<Vec<Vec<u8>>>,
}

impl Links {
    /// Sorts the groups and drops those with a single member.
    pub fn normalised(mut groups: Vec<Vec<Vec<u8>>>) -> Links {
        groups.iter_mut().for_each(|group| group.sort());
        groups.retain(|group| group.len() > 1);
        groups.sort();
        Links { groups }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Encoder::default();
        out.byte(LINKS_VERSION);
        out.number(self.groups.len() as u64);
        for group in &self.groups {
            out.number(group.len() as u64);
            group.iter().for_each(|path| out.blob(path));
        }
        out.bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Links> {
        let mut input = Decoder::new(bytes, "a table of hard links");
        if input.byte()? != LINKS_VERSION {
            return Err(input.bad("its version is unknown"));
        }
        let count = input.count()?;
        let mut groups = Vec::with_capacity(count);
        for _ in 0..count {
            let members = input.count()?;
            groups.push((0..members).map(|_| Ok(input.blob()?.to_vec())).collect::<Result<Vec<_>>>()?);
        }
        input.finish()?;
        Ok(Links { groups })
    }
}

/// What a snapshot lacks, path by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// The gaps, sorted by path.
    pub gaps: Vec<Gap>,
}

/// One path that a snapshot lacks, or holds with a reservation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gap {
    /// The path beneath the workspace.
    pub path: Vec<u8>,
    /// What is wrong with it.
    pub kind: GapKind,
    /// What the operating system said, or another detail; may be empty.
    pub detail: String,
}

/// What is wrong with a path that a snapshot lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GapKind {
    /// It could not be read.
    Unreadable,
    /// It did not answer in time.
    Hung,
    /// Another filesystem is mounted there.
    Mount,
    /// It is regenerable and was left out by default.
    Regenerable,
    /// Git ignores it, and the filter said to skip that.
    GitIgnored,
    /// A pattern of the configuration excludes it.
    Excluded,
    /// A limit was reached before it.
    OverLimit,
    /// It went away between being listed and being read.
    Vanished,
    /// It would not hold still; what is stored may mix two of its states.
    Unstable,
    /// It is captured but for its extended attributes, which could not be read.
    Attributes,
}

impl GapKind {
    /// All kinds, in the order of their codes.
    pub const ALL: [GapKind; 10] = [
        GapKind::Unreadable,
        GapKind::Hung,
        GapKind::Mount,
        GapKind::Regenerable,
        GapKind::GitIgnored,
        GapKind::Excluded,
        GapKind::OverLimit,
        GapKind::Vanished,
        GapKind::Unstable,
        GapKind::Attributes,
    ];

    /// Whether the gap was asked for (by default or configuration) rather than suffered.
    pub fn is_wanted(self) -> bool {
        matches!(self, GapKind::Regenerable | GapKind::GitIgnored | GapKind::Excluded)
    }
}

impl Coverage {
    /// The coverage as the bytes that a snapshot stores.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Encoder::default();
        out.byte(COVERAGE_VERSION);
        out.number(self.gaps.len() as u64);
        for gap in &self.gaps {
            out.blob(&gap.path);
            out.byte(GapKind::ALL.iter().position(|kind| *kind == gap.kind).expect("the table lists every kind") as u8);
            out.blob(gap.detail.as_bytes());
        }
        out.bytes
    }

    /// Reads what [`Coverage::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<Coverage> {
        let mut input = Decoder::new(bytes, "a coverage");
        if input.byte()? != COVERAGE_VERSION {
            return Err(input.bad("its version is unknown"));
        }
        let count = input.count()?;
        let mut gaps = Vec::with_capacity(count);
        for _ in 0..count {
            let path = input.blob()?.to_vec();
            let code = usize::from(input.byte()?);
            let kind = *GapKind::ALL.get(code).ok_or_else(|| input.bad("a gap is of an unknown kind"))?;
            gaps.push(Gap { path, kind, detail: input.text()? });
        }
        input.finish()?;
        Ok(Coverage { gaps })
    }
}
