//! What a library file is: for which computer, and which functions of LSL it has.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use object::read::macho::{FatArch as _, MachOFatFile32};
use object::{Architecture, BinaryFormat, File, FileKind, Object as _};

/// A library, for one kind of computer or several.
pub(in crate::cmd) struct Binary {
    kinds: BTreeSet<String>,
    functions: BTreeSet<String>,
}

impl Binary {
    /// Reads a file; none if it is no library.
    pub(in crate::cmd) fn read(file: &Path) -> io::Result<Option<Self>> {
        if fs::metadata(file)?.len() > BYTES_MAX {
            return Ok(None);
        }
        let bytes = fs::read(file)?;
        Ok(Self::parse(&bytes))
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut binary = Self { kinds: BTreeSet::new(), functions: BTreeSet::new() };
        match FileKind::parse(bytes).ok()? {
            FileKind::MachOFat32 => {
                for part in MachOFatFile32::parse(bytes).ok()?.arches() {
                    binary.add(part.data(bytes).ok()?)?;
                }
            }
            _ => binary.add(bytes)?,
        }
        Some(binary)
    }

    fn add(&mut self, bytes: &[u8]) -> Option<()> {
        let file = File::parse(bytes).ok()?;
        self.kinds.insert(kind(file.format(), file.architecture()));
        let names = file
            .exports()
            .ok()?
            .into_iter()
            .filter_map(|one| core::str::from_utf8(one.name()).ok().map(str::to_owned));
        // macOS puts a line before the name of each function of C.
        let names = names.map(|name| name.strip_prefix('_').map(str::to_owned).unwrap_or(name));
        self.functions.extend(names.filter(|name| name.starts_with("lsl_") || name.starts_with("schwann_")));
        Some(())
    }

    /// Whether it is an LSL library.
    pub(in crate::cmd) fn is_lsl(&self) -> bool {
        self.functions.contains("lsl_create_outlet")
    }

    /// Whether it is Schwann's.
    pub(in crate::cmd) fn is_ours(&self) -> bool {
        self.functions.contains("schwann_inlet_lag")
    }

    /// Why this library cannot take the place of `other`, if it cannot.
    pub(super) fn refusal(&self, other: &Self) -> Option<String> {
        let words =
            |kinds: &BTreeSet<String>| kinds.iter().map(String::as_str).collect::<Vec<_>>().join(" and ");
        if !other.kinds.is_subset(&self.kinds) {
            return Some(format!("it is for {}, and ours for {}", words(&other.kinds), words(&self.kinds)));
        }
        let newer = other.functions.difference(&self.functions).next();
        newer.map(|function| format!("it is newer than ours: it has {function}; update Schwann"))
    }
}

/// A kind of computer, in words.
fn kind(format: BinaryFormat, architecture: Architecture) -> String {
    let system = match format {
        BinaryFormat::Elf => "Linux",
        BinaryFormat::MachO => "macOS",
        BinaryFormat::Pe => "Windows",
        _ => "another system",
    };
    format!("{system} on {}", format!("{architecture:?}").to_lowercase())
}

/// A larger file is no library of LSL.
const BYTES_MAX: u64 = 256 << 20;
