//! The microcontroller node's own counters, as QEMU runs its image: instructions and bytes, and nothing else.
//!
//! QEMU counts instructions exactly when it is told to (`-icount shift=0`), and models no pipeline, cache, flash or
//! radio. So there are no times, no cycles and no throughput here. A run with an inexact counter gives nothing at
//! all. What the image says is in `firmware/qemu-riscv32/src/measure.rs`.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::Reason;
use crate::record::Reading;
use crate::step::Step;
use crate::suite::{Asked, Missing};

/// One step: the image runs once in QEMU, and counts the same to the last instruction however often it runs.
pub(crate) fn steps(asked: &Asked) -> Result<Vec<Step>, Missing> {
    let image = asked.image.clone().ok_or_else(|| {
        Missing(
            "name the image for QEMU: schwann-bench mcu IMAGE; firmware/README.md says how to build it"
                .to_owned(),
        )
    })?;
    if !has_qemu() {
        return Err(Missing("there is no qemu-system-riscv32; install qemu-system-misc".to_owned()));
    }
    Ok(vec![Step::new("instructions in QEMU", move |step| run(step, &image))])
}

/// Runs the image and returns what it counted, as figures of `step`.
///
/// # Errors
///
/// QEMU is missing or failed, or the image counted nothing.
pub(crate) fn run(step: &str, image: &Path) -> Result<Vec<Reading>, Reason> {
    let settings = std::env::temp_dir().join(format!("schwann-mcu-{}", std::process::id()));
    std::fs::write(&settings, b"mode=measure\n\0")?;
    let output = Command::new(QEMU)
        .args("-M virt -smp 2 -m 16M -bios none -nographic -monitor none -serial stdio".split(' '))
        .args("-global virtio-mmio.force-legacy=false -icount shift=0,sleep=off -device".split(' '))
        .arg(format!("loader,file={},addr=0x80f00000,force-raw=on", settings.display()))
        .arg("-kernel")
        .arg(image)
        .stdin(Stdio::null())
        .output();
    // A file that is left behind is small.
    let _ = std::fs::remove_file(&settings);
    let output =
        output.map_err(|error| format!("{QEMU} does not run ({error}); install qemu-system-misc"))?;
    readings(step, &String::from_utf8_lossy(&output.stdout))
}

/// Says whether QEMU is there.
pub(crate) fn has_qemu() -> bool {
    let version = Command::new(QEMU).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// The figures in what the image said.
fn readings(step: &str, said: &str) -> Result<Vec<Reading>, Reason> {
    let lines: Vec<&str> = said.lines().map(str::trim_end).collect();
    let transcript = lines.iter().find(|line| line.starts_with("transcript=")).copied().unwrap_or_default();
    match lines.last() {
        Some(_) if !lines.contains(&"exact=1") => Err(INEXACT.into()),
        Some(_) if !transcript.starts_with("transcript=equal") => {
            Err(format!("the node in the image does not send what it should: {transcript}").into())
        }
        Some(&"done") => Ok(figures(step, &lines)),
        last => Err(format!("the image stopped at {:?}; {BUILD}", last.unwrap_or(&"")).into()),
    }
}

fn figures(step: &str, lines: &[&str]) -> Vec<Reading> {
    let mut readings = Vec::new();
    for section in &SECTIONS {
        let of_kind = lines.iter().filter(|line| line.split(' ').next() == Some(section.kind));
        readings.extend(of_kind.flat_map(|line| section.readings(step, line)));
    }
    // Serving counts its pushes anew for every number of subscribers; they are equal to the last instruction.
    let mut seen = Vec::new();
    readings.retain(|reading: &Reading| {
        let is_new = !seen.contains(reading);
        seen.push(reading.clone());
        is_new
    });
    readings
}

/// A kind of line that the image says.
struct Section {
    /// The line's first word.
    kind: &'static str,
    title: &'static str,
    /// The words that say what was measured; the others are figures.
    about: &'static [&'static str],
    unit: fn(&str) -> &'static str,
}

impl Section {
    /// The figures of a line.
    fn readings(&self, step: &str, line: &str) -> Vec<Reading> {
        let words: Vec<(&str, &str)> = line.split(' ').filter_map(|word| word.split_once('=')).collect();
        let about = words.iter().filter(|(name, _)| self.about.contains(name));
        let about: Vec<String> = about.map(|(name, value)| format!("{name} {value}")).collect();
        let figures = words.iter().filter(|(name, _)| !self.about.contains(name));
        let figure = |(name, value): &(&str, &str)| {
            let value = value.parse().unwrap_or(f64::NAN);
            let title = format!("{}: {}", self.title, name.replace('_', " "));
            let reading = Reading::one(step, &about.join(", "), &title, (self.unit)(name), value);
            if *name == "lost" { reading.limited("<= 0") } else { reading }
        };
        figures.map(figure).collect()
    }
}

fn of_handshake(name: &str) -> &'static str {
    match name {
        "stack" | "responder" => "B",
        "instructions" => "instructions",
        _ => "",
    }
}

const QEMU: &str = "qemu-system-riscv32";
const INEXACT: &str = "the counter of this run does not count instructions, so its figures mean nothing; QEMU must run with -icount \
                       shift=0";
const BUILD: &str = "build it anew: cargo build --release --target riscv32imac-unknown-none-elf --manifest-path \
                     firmware/qemu-riscv32/Cargo.toml";

/// What the image reports.
const SECTIONS: [Section; 5] = [
    Section {
        kind: "push",
        title: "a push in the application",
        about: &["channels", "subscribers"],
        unit: |_| "instructions",
    },
    Section {
        kind: "serve",
        title: "serving 8 channels of float32",
        about: &["kind", "subscribers", "batch"],
        unit: |name| match name {
            "sent" | "lost" => "samples",
            "records" => "",
            _ => "instructions",
        },
    },
    Section {
        kind: "handshake",
        title: "a sealed session's handshake, the outlet's side",
        about: &[],
        unit: of_handshake,
    },
    Section { kind: "hybrid", title: "the same with the hybrid suite", about: &[], unit: of_handshake },
    Section { kind: "bytes", title: "memory", about: &[], unit: |_| "B" },
];

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "exact=1\ntranscript=equal bytes=3359\npush channels=8 subscribers=none mean=118 least=75 \
                        most=119\nserve kind=sealed subscribers=1 batch=1 sent=200 records=200 per_sample=10336 \
                        most=10336 lost=0\nbytes outlet=19464 session=376\ndone\n";

    #[test]
    fn what_the_image_counted_becomes_figures() {
        let readings = readings("image", SAID).expect("figures");
        let of = |name: &str| readings.iter().find(|reading| reading.name.ends_with(name)).expect(name);
        assert_eq!(
            (of("push in the application: mean").median, of(": per sample").median),
            (118.0, 10_336.0)
        );
        assert_eq!(of(": per sample").subject, "kind sealed, subscribers 1, batch 1");
        assert_eq!((of(": lost").met, of("memory: session").unit.as_str()), (Some(true), "B"));
    }

    #[test]
    fn a_lost_sample_is_a_limit_that_is_not_kept() {
        let readings = readings("image", &SAID.replace("lost=0", "lost=1")).expect("figures");
        assert!(readings.iter().any(|reading| reading.met == Some(false)));
    }

    #[test]
    fn what_qemu_cannot_know_is_refused() {
        let refused = |said: &str| readings("", said).expect_err("refused").to_string();
        assert!(refused(&SAID.replace("exact=1", "exact=0")).contains("does not count instructions"));
        assert!(refused("").contains("stopped at \"\""));
        assert!(refused(&SAID.replace("done\n", "")).contains("stopped at \"bytes"));
        assert!(refused(&SAID.replace("equal", "Ok(Some(7))")).contains("does not send what it should"));
        let units = ["instructions", "samples", "B", ""];
        assert!(readings("", SAID).expect("figures").iter().all(|r| units.contains(&r.unit.as_str())));
    }
}
