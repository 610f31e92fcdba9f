//! Puts the programs into the kernel, with the calls that they need and no others.
//!
//! A loader for all programs on all kernels first asks the kernel what it supports, and reads the types of everything; that took
//! longer than the rest of a run's start. What these programs need, every kernel has that has `bpf_loop` (5.17).

use std::collections::{HashMap, HashSet};
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use aya::{Btf, BtfError};
use aya_obj::btf::{BtfFeatures, BtfRelocationError};
use aya_obj::generated::bpf_insn;
use aya_obj::relocation::EbpfRelocationError;
use aya_obj::{EbpfSectionKind, Function, Map, Object, ParseError};
use belay_sys::bpf::{self, INSTRUCTION_BYTES, MapShape, Program};

/// The oldest kernel that has all that the programs call understands these forms of types; the object has no others.
const KNOWN_FORMS: BtfFeatures = BtfFeatures::new(true, true, true, true, true, true, true, false);

/// Why the programs are not in the kernel.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    #[error("the object is damaged")]
    Object(#[from] ParseError),
    #[error("its types are damaged")]
    Types(#[from] BtfError),
    #[error("it has no types, program or map of the name {0}")]
    Missing(&'static str),
    #[error("this kernel's types do not fit")]
    OtherTypes(#[from] BtfRelocationError),
    #[error("its parts do not fit together")]
    Parts(#[from] EbpfRelocationError),
    #[error("the kernel refuses")]
    Kernel(#[from] io::Error),
}

/// What is to be loaded.
pub(super) struct Plan<'a> {
    /// The object file.
    pub(super) object: &'a [u8],
    /// The kernel's types, or as many of them as the programs name.
    pub(super) types: &'a Btf,
    /// A constant of the programs, and its value.
    pub(super) constant: (&'a str, &'a [u8]),
    /// Maps that are to have another number of entries.
    pub(super) entries: &'a [(&'a str, u32)],
}

/// The programs, which are not attached yet.
pub(super) struct Loaded {
    pub(super) maps: HashMap<String, OwnedFd>,
    programs: HashMap<String, OwnedFd>,
}

impl Loaded {
    /// Makes the maps and has the kernel check the programs.
    pub(super) fn new(plan: &Plan<'_>) -> Result<Loaded, Trouble> {
        let mut object = Object::parse(plan.object)?;
        object.patch_map_data(HashMap::from([(plan.constant.0, (plan.constant.1, true))]))?;
        let types = object.fixup_and_sanitize_btf(&KNOWN_FORMS)?.ok_or(Trouble::Missing("types"))?;
        let types = bpf::load_types(&types.to_bytes())?;
        object.relocate_btf(plan.types)?;
        let mut made = HashMap::new();
        for (name, map) in std::mem::take(&mut object.maps) {
            let entries = plan.entries.iter().find(|(other, _)| *other == name).map(|(_, entries)| *entries);
            made.insert(name.clone(), (make(&name, &map, entries)?, map));
        }
        let sections: HashSet<usize> = object.functions.keys().map(|(section, _)| *section).collect();
        let places = made.iter().map(|(name, (fd, map))| (name.as_str(), fd.as_raw_fd(), map));
        object.relocate_maps(places, &sections)?;
        object.relocate_calls(&sections)?;
        let mut programs = HashMap::new();
        for (name, program) in &object.programs {
            let function = object.functions.get(&program.function_key()).ok_or(Trouble::Missing("program"))?;
            let program = Program {
                name,
                instructions: &bytes(function),
                license: &program.license,
                types: types.as_fd(),
                functions: &function.func_info.func_info_bytes(),
            };
            programs.insert(name.clone(), bpf::load_program(&program)?);
        }
        Ok(Loaded { maps: made.into_iter().map(|(name, (fd, _))| (name, fd)).collect(), programs })
    }

    /// Runs a program at a tracepoint as long as what is returned is kept.
    pub(super) fn attach(&self, program: &'static str, tracepoint: &'static str) -> Result<OwnedFd, Trouble> {
        let program = self.programs.get(program).ok_or(Trouble::Missing(program))?;
        let name = CString::new(tracepoint).expect("a tracepoint's name has no zero byte");
        Ok(bpf::attach_to_tracepoint(program.as_fd(), &name)?)
    }
}

fn make(name: &str, map: &Map, entries: Option<u32>) -> io::Result<OwnedFd> {
    let shape = MapShape {
        kind: map.map_type(),
        key_bytes: map.key_size(),
        value_bytes: map.value_size(),
        entries_max: entries.unwrap_or_else(|| map.max_entries()),
        flags: map.map_flags(),
    };
    // What the object calls `.rodata` is no name for the kernel.
    let made = bpf::create_map(name.trim_start_matches('.'), &shape)?;
    if map.section_kind() == EbpfSectionKind::Rodata {
        bpf::fill_and_freeze(made.as_fd(), &shape, map.data())?;
    }
    Ok(made)
}

/// The instructions as the kernel takes them.
fn bytes(function: &Function) -> Vec<u8> {
    function.instructions.iter().flat_map(encoded).collect()
}

fn encoded(instruction: &bpf_insn) -> [u8; INSTRUCTION_BYTES] {
    let [offset_low, offset_high] = instruction.off.to_ne_bytes();
    let [a, b, c, d] = instruction.imm.to_ne_bytes();
    let registers = match cfg!(target_endian = "little") {
        true => instruction.dst_reg() | instruction.src_reg() << 4,
        false => instruction.src_reg() | instruction.dst_reg() << 4,
    };
    [instruction.code, registers, offset_low, offset_high, a, b, c, d]
}
