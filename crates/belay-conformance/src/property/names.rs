//! Any byte in a name, and names of any length.

use std::io;

use super::{Property, content};
use crate::at::join;
use crate::stage::{MADE, Made, Stage};

const AWKWARD: &[&[u8]] = &[
    b" leading and trailing ",
    b"-rf",
    b"--help",
    b"...",
    b"~",
    b"$HOME",
    b"`id`",
    b"quote'and\"quote",
    b"back\\slash",
    b"star*question?[bracket]",
    b"#hash",
    b"!bang",
    b"a:b",
];
const CONTROL: &[&[u8]] = &[b"new\nline", b"carriage\rreturn", b"tab\tstop", b"escape\x1b[31mred", b"bell\x07\x7f"];
const NOT_UTF8: &[&[u8]] = &[b"not-utf8-\xff\xfe", b"overlong-\xc0\xaf", b"latin-\xe9"];
const ALIKE: &[&[u8]] = &[b"Case", b"case", b"CASE", "\u{fc}-composed".as_bytes(), "u\u{308}-composed".as_bytes()];

pub(super) static ALL: &[Property] = &[
    content("L4", "names with blanks, quotes, dashes and stars", |stage| make(stage, AWKWARD), wreck),
    content("L4", "names with line ends and control characters", |stage| make(stage, CONTROL), wreck),
    content("L4", "names that are not UTF-8", |stage| make(stage, NOT_UTF8), wreck),
    content("L4", "names that differ in case or composition alone", |stage| make(stage, ALIKE), wreck),
    content("L4", "a name of 255 bytes", |stage| make(stage, &[&[b'n'; 255]]), wreck),
    content(
        "L4",
        "a path of more than 4,096 bytes",
        |stage| {
            let mut path = b"names".to_vec();
            while path.len() <= 4096 {
                path = join(&path, &[b'd'; 200]);
            }
            stage.file(join(&path, b"bottom"), "at the bottom\n")?;
            MADE
        },
        wreck,
    ),
    content(
        "L5",
        "a change of case alone",
        |stage| {
            stage.file("readme", "r\n")?;
            MADE
        },
        |stage| stage.rename("readme", "README"),
    ),
];

fn make(stage: &Stage, names: &[&[u8]]) -> Made {
    for name in names {
        match stage.file(join(b"names", name), name) {
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::ILSEQ.raw_os_error()) => {
                return Ok(Some("the filesystem takes no such names"));
            }
            other => other?,
        }
    }
    MADE
}

fn wreck(stage: &Stage) -> io::Result<()> {
    stage.remove("names")
}
