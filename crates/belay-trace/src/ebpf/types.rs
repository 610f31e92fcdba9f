//! The few kernel types that the programs name, cut out of the kernel's description of all its types.
//!
//! The kernel describes some hundred thousand types, and a loader that reads them all spends most of a run's start on it.
//! Invariants: a type keeps its name, size, members and offsets; what a pointer points to is left out, since the programs
//! only ever ask where a member lies; a description that is not understood is an error, and the loader reads the whole.

use std::collections::HashMap;

const HEADER_BYTES: usize = 24;
const MAGIC: u16 = 0xeb9f;
const MEMBER_BYTES: usize = 12;

const INT: u32 = 1;
const POINTER: u32 = 2;
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const ENUM: u32 = 6;
const TYPEDEF: u32 = 8;
const RESTRICT: u32 = 11;
const FLOAT: u32 = 16;
const TYPE_TAG: u32 = 18;
const ENUM64: u32 = 19;

/// A description in the same form, of the structs with these names and whatever they hold.
pub(super) fn cut_out(all: &[u8], names: &[&str]) -> Option<Vec<u8>> {
    let whole = Whole::read(all)?;
    let mut cut = Cut { whole: &whole, numbers: HashMap::new(), todo: Vec::new(), types: Vec::new(), texts: vec![0] };
    for (number, at) in whole.places.iter().enumerate() {
        let head = whole.head(*at)?;
        if head.kind == STRUCT && head.name != 0 && names.contains(&whole.text(head.name)?) {
            cut.number(u32::try_from(number).ok()? + 1);
        }
    }
    let mut next = 0;
    while let Some(number) = cut.todo.get(next).copied() {
        next += 1;
        cut.copy(number)?;
    }
    Some(cut.finish())
}

/// Where everything is in a description.
struct Whole<'a> {
    types: &'a [u8],
    texts: &'a [u8],
    /// Where each type begins; the first has the number 1, since 0 is `void`.
    places: Vec<usize>,
}

struct Head {
    name: u32,
    info: u32,
    kind: u32,
    count: usize,
    /// The size, or the type that is meant.
    third: u32,
}

impl<'a> Whole<'a> {
    fn read(all: &'a [u8]) -> Option<Whole<'a>> {
        let magic = u16::from_ne_bytes(all.get(..2)?.try_into().ok()?);
        let field = |index: usize| word(all, 4 + 4 * index).map(|word| word as usize);
        let (header, types_at, types_len, texts_at, texts_len) =
            (field(0)?, field(1)?, field(2)?, field(3)?, field(4)?);
        let types = all.get(header + types_at..)?.get(..types_len)?;
        let texts = all.get(header + texts_at..)?.get(..texts_len)?;
        let mut whole = Whole { types, texts, places: Vec::with_capacity(types_len / 24) };
        let mut at = 0;
        while at < types_len {
            whole.places.push(at);
            at += 12 + whole.head(at)?.more()?;
        }
        (magic == MAGIC && at == types_len).then_some(whole)
    }

    fn head(&self, at: usize) -> Option<Head> {
        let (name, info, third) = (word(self.types, at)?, word(self.types, at + 4)?, word(self.types, at + 8)?);
        Some(Head { name, info, kind: info >> 24 & 0x1f, count: (info & 0xffff) as usize, third })
    }

    fn text(&self, at: u32) -> Option<&'a str> {
        let rest = self.texts.get(at as usize..)?;
        str::from_utf8(&rest[..rest.iter().position(|byte| *byte == 0)?]).ok()
    }
}

impl Head {
    /// How many bytes follow.
    fn more(&self) -> Option<usize> {
        Some(match self.kind {
            INT | 14 | 17 => 4,
            ARRAY => 12,
            STRUCT | UNION | 15 | ENUM64 => MEMBER_BYTES * self.count,
            ENUM | 13 => 8 * self.count,
            1..20 => 0,
            _ => return None,
        })
    }
}

/// The part that is cut out.
struct Cut<'a> {
    whole: &'a Whole<'a>,
    numbers: HashMap<u32, u32>,
    todo: Vec<u32>,
    types: Vec<u8>,
    texts: Vec<u8>,
}

impl Cut<'_> {
    /// The new number of a type, which will be copied in its turn.
    fn number(&mut self, old: u32) -> u32 {
        if old == 0 {
            return 0;
        }
        *self.numbers.entry(old).or_insert_with(|| {
            self.todo.push(old);
            u32::try_from(self.todo.len()).expect("there are fewer types than before, which had 32-bit numbers")
        })
    }

    fn copy(&mut self, old: u32) -> Option<()> {
        let whole = self.whole;
        let at = *whole.places.get(old as usize - 1)?;
        let head = whole.head(at)?;
        let name = self.name(head.name)?;
        match head.kind {
            POINTER => self.put(&[0, head.info, 0]),
            INT => self.put(&[name, head.info, head.third, word(whole.types, at + 12)?]),
            FLOAT => self.put(&[name, head.info, head.third]),
            // The size of an enum is all that matters, not its values.
            ENUM | ENUM64 => self.put(&[name, head.info & !0xffff, head.third]),
            TYPEDEF..=RESTRICT | TYPE_TAG => {
                let meant = self.number(head.third);
                self.put(&[name, head.info, meant]);
            }
            ARRAY => {
                let field = |index: usize| word(whole.types, at + 12 + 4 * index);
                let (element, index) = (self.number(field(0)?), self.number(field(1)?));
                self.put(&[name, head.info, head.third, element, index, field(2)?]);
            }
            STRUCT | UNION => {
                self.put(&[name, head.info, head.third]);
                for member in 0..head.count {
                    let field = |index: usize| word(whole.types, at + 12 + MEMBER_BYTES * member + 4 * index);
                    let (name, meant) = (self.name(field(0)?)?, self.number(field(1)?));
                    self.put(&[name, meant, field(2)?]);
                }
            }
            // Nothing else can be inside of a struct.
            _ => return None,
        }
        Some(())
    }

    fn name(&mut self, old: u32) -> Option<u32> {
        if old == 0 {
            return Some(0);
        }
        let new = u32::try_from(self.texts.len()).ok()?;
        self.texts.extend_from_slice(self.whole.text(old)?.as_bytes());
        self.texts.push(0);
        Some(new)
    }

    fn put(&mut self, words: &[u32]) {
        self.types.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
    }

    fn finish(self) -> Vec<u8> {
        let length = |bytes: &[u8]| u32::try_from(bytes.len()).expect("a part is shorter than the whole");
        let (types, texts) = (length(&self.types), length(&self.texts));
        let mut all = Vec::with_capacity(HEADER_BYTES + self.types.len() + self.texts.len());
        all.extend_from_slice(&MAGIC.to_ne_bytes());
        all.extend_from_slice(&[1, 0]);
        all.extend([HEADER_BYTES as u32, 0, types, types, texts].iter().flat_map(|word| word.to_ne_bytes()));
        all.extend_from_slice(&self.types);
        all.extend_from_slice(&self.texts);
        all
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use aya::{Btf, Endianness};

    use super::{Whole, cut_out};

    #[test]
    fn a_part_of_this_kernels_types_is_a_description_too() {
        let Ok(all) = std::fs::read("/sys/kernel/btf/vmlinux") else {
            return belay_testkit::skip("no BTF of the kernel");
        };
        let part = cut_out(&all, &["task_struct", "dentry"]).expect("this kernel's types are understood");
        assert!(part.len() < all.len() / 10, "{} of {} bytes", part.len(), all.len());
        Btf::parse(&part, Endianness::default()).expect("the loader understands it");
        let members = |bytes: &[u8], name: &str| {
            let whole = Whole::read(bytes).unwrap();
            let at = *whole.places.iter().find(|at| {
                let head = whole.head(**at).unwrap();
                head.kind == super::STRUCT && whole.text(head.name) == Some(name)
            })?;
            let field = |member: usize, index: usize| super::word(whole.types, at + 12 + 12 * member + 4 * index);
            let count = whole.head(at)?.count;
            Some(
                (0..count)
                    .map(|member| (whole.text(field(member, 0).unwrap()), field(member, 2)))
                    .collect::<Vec<_>>()
                    .into_iter()
                    .map(|(name, at)| (name.map(str::to_owned), at))
                    .collect::<Vec<_>>(),
            )
        };
        for name in ["task_struct", "dentry"] {
            let theirs = members(&all, name);
            assert!(theirs.as_ref().is_some_and(|all| all.len() > 5), "{name}");
            assert_eq!(members(&part, name), theirs, "{name}");
        }
    }

    #[test]
    fn nonsense_is_not_understood() {
        assert!(cut_out(b"", &["file"]).is_none());
        assert!(cut_out(&[0; 64], &["file"]).is_none());
        let mut odd = vec![0x9f, 0xeb, 1, 0];
        odd.extend([24_u32, 0, 12, 12, 1, 0, 31 << 24, 0].iter().flat_map(|word| word.to_ne_bytes()));
        odd.push(0);
        assert!(cut_out(&odd, &["file"]).is_none(), "a kind of type that nobody knows");
    }
}
