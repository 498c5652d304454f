//! The microcontroller node's own counters, as QEMU runs its image: instructions and bytes, and nothing else.
//!
//! QEMU counts instructions exactly when it is told to (`-icount shift=0`), and models no pipeline, cache, flash or
//! radio. So there are no times, no cycles and no throughput here, and nothing at all from a run whose
//! counter was not exact. What the image says is in `firmware/qemu-riscv32/src/measure.rs`.

use core::fmt;
use core::fmt::Write as _;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

/// Why there is no table.
#[derive(Debug)]
pub(crate) enum McuError {
    /// The image did not say all that it should.
    Incomplete(String),
    /// The counter does not count instructions.
    Inexact,
    /// QEMU does not run.
    Qemu(std::io::Error),
    /// The node in the image sends other bytes than it does on a computer.
    Transcript(String),
}

impl fmt::Display for McuError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Incomplete(last) => write!(
                out,
                "the image stopped at {last:?}; build it anew: cargo build --release --target \
                 riscv32imac-unknown-none-elf --manifest-path firmware/qemu-riscv32/Cargo.toml"
            ),
            Self::Inexact => out.write_str(
                "the counter of this run does not count instructions, so its figures mean nothing; QEMU must run \
                 with -icount shift=0",
            ),
            Self::Qemu(error) => {
                write!(out, "qemu-system-riscv32 does not run ({error}); install qemu-system-misc")
            }
            Self::Transcript(line) => write!(out, "the node in the image does not send what it should: {line}"),
        }
    }
}

impl core::error::Error for McuError {}

/// Runs the image and returns its tables.
///
/// # Errors
///
/// [`McuError`].
pub(crate) fn run(image: &Path) -> Result<String, McuError> {
    let settings = std::env::temp_dir().join(format!("schwann-mcu-{}", std::process::id()));
    std::fs::write(&settings, b"mode=measure\n\0").map_err(McuError::Qemu)?;
    let output = Command::new("qemu-system-riscv32")
        .args("-M virt -smp 2 -m 16M -bios none -nographic -monitor none -serial stdio".split(' '))
        .args("-global virtio-mmio.force-legacy=false -icount shift=0,sleep=off -device".split(' '))
        .arg(format!("loader,file={},addr=0x80f00000,force-raw=on", settings.display()))
        .arg("-kernel")
        .arg(image)
        .stdin(Stdio::null())
        .output();
    // A file that is left behind is small.
    let _ = std::fs::remove_file(&settings);
    table(&String::from_utf8_lossy(&output.map_err(McuError::Qemu)?.stdout))
}

/// Makes tables of what the image said.
fn table(said: &str) -> Result<String, McuError> {
    let lines: Vec<&str> = said.lines().map(str::trim_end).collect();
    if !lines.contains(&"exact=1") {
        return Err(if lines.is_empty() { McuError::Incomplete(String::new()) } else { McuError::Inexact });
    }
    let transcript = lines.iter().find(|line| line.starts_with("transcript=")).copied().unwrap_or_default();
    if !transcript.starts_with("transcript=equal") {
        return Err(McuError::Transcript(transcript.to_owned()));
    }
    if lines.last() != Some(&"done") {
        return Err(McuError::Incomplete(lines.last().copied().unwrap_or_default().to_owned()));
    }
    let mut out = String::from(
        "Instructions of a 32-bit RISC-V core, counted by the firmware under QEMU. They are not cycles: no pipeline,\n\
         cache, flash or radio is modelled, so QEMU knows no times, and none are given.\n",
    );
    for (kind, title) in SECTIONS {
        // A string takes whatever is written.
        let _ = writeln!(out, "\n{title}");
        for line in lines.iter().filter(|line| line.split(' ').next() == Some(kind)) {
            let _ = writeln!(out, "  {}", row(line));
        }
    }
    Ok(out)
}

/// What the image reports, by a line's first word.
const SECTIONS: [(&str, &str); 4] = [
    ("push", "A push in the application, instructions:"),
    ("serve", "Serving 8 channels of float32, instructions per pushed sample over all subscribers:"),
    ("handshake", "A sealed session's handshake, the outlet's side, instructions and bytes of stack:"),
    ("bytes", "Memory, in bytes:"),
];

fn row(line: &str) -> String {
    let values: BTreeMap<&str, &str> = line.split(' ').filter_map(|word| word.split_once('=')).collect();
    let words = line.split(' ').filter_map(|word| word.split_once('=')).map(|(name, _)| name);
    words.map(|name| format!("{} {:<8}", name.replace('_', " "), values[name])).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "exact=1\ntranscript=equal bytes=3359\npush channels=8 subscribers=none mean=118 least=75 \
                        most=119\nserve kind=sealed subscribers=1 batch=1 sent=200 records=200 per_sample=10336 \
                        most=10336 lost=0\nbytes outlet=19464 session=376\ndone\n";

    #[test]
    fn what_the_image_counted_is_printed() {
        let table = table(SAID).expect("a table");
        assert!(table.contains("mean 118") && table.contains("per sample 10336"));
        assert!(table.contains("not cycles"));
    }

    #[test]
    fn what_qemu_cannot_know_is_refused() {
        let inexact = SAID.replace("exact=1", "exact=0");
        assert!(matches!(table(&inexact), Err(McuError::Inexact)));
        assert!(matches!(table(""), Err(McuError::Incomplete(_))));
        assert!(matches!(table(&SAID.replace("done\n", "")), Err(McuError::Incomplete(_))));
        assert!(matches!(table(&SAID.replace("equal", "Ok(Some(7))")), Err(McuError::Transcript(_))));
        let table = table(SAID).expect("a table");
        assert!(!table.contains(" us") && !table.contains(" ms") && !table.contains("MB/s"));
    }
}
