//! A machine of QEMU's, and what it says.

use core::time::Duration;
use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{SystemTime, UNIX_EPOCH};

use super::{LONG, common};

/// A running machine.
pub(crate) struct Machine {
    pub(crate) child: Child,
    lines: Receiver<String>,
    /// Holds what the machine was told.
    folder: std::path::PathBuf,
}

impl Machine {
    pub(crate) fn start(settings: &str, keys: Option<&[u8]>, extra: &[&str]) -> Self {
        let folder = std::env::temp_dir().join(format!("schwann-qemu-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let calendar = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
        // The first line of a name counts.
        std::fs::write(folder.join("settings"), format!("{settings}\ncalendar={calendar}\n\0"))
            .expect("written");
        // Erased flash, where there are no keys.
        let mut flash = vec![0xff; 8192];
        if let Some(content) = keys {
            let image = common::image(content);
            flash[..image.len()].copy_from_slice(&image);
        }
        std::fs::write(folder.join("keys"), flash).expect("written");
        let loader = |name: &str, at: &str| {
            format!("loader,file={},addr={at},force-raw=on", folder.join(name).display())
        };
        // A device serves; the other image does everything else.
        let name = if settings.starts_with("mode=") { "schwann-qemu-riscv32" } else { "schwann-qemu-node" };
        let images = std::env::var("SCHWANN_IMAGES").expect("checks/70-firmware.sh sets SCHWANN_IMAGES");
        let image = format!("{images}/{name}");
        let mut child = Command::new("qemu-system-riscv32")
            .args("-M virt -smp 2 -m 16M -bios none -nographic -monitor none -serial stdio".split(' '))
            .args(["-global", "virtio-mmio.force-legacy=false", "-device", "virtio-rng-device"])
            .args(["-device", &loader("settings", "0x80f00000"), "-device", &loader("keys", "0x80e00000")])
            .args(["-kernel", &image])
            .args(extra)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("QEMU runs");
        let (send, lines) = channel();
        let out = BufReader::new(child.stdout.take().expect("piped"));
        // Ends with the machine.
        std::thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
        Self { child, lines, folder }
    }

    /// A machine on the network.
    pub(crate) fn serve(settings: &str, keys: Option<&[u8]>) -> Self {
        let mut machine = Self::start(
            settings,
            keys,
            &[
                "-accel",
                "tcg,thread=single",
                "-device",
                "virtio-net-device,netdev=n0",
                "-netdev",
                "tap,id=n0,ifname=schwann0,script=no,downscript=no",
            ],
        );
        assert!(machine.wait_for("serving").contains("bound=true"));
        machine
    }

    /// The next line that begins with `word`.
    pub(crate) fn wait_for(&mut self, word: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(Duration::from_secs_f64(LONG));
            let line = line.unwrap_or_else(|why| panic!("no line {word:?} from the machine: {why}"));
            let line = line.trim_end();
            assert!(!line.starts_with("panic"), "{line}");
            if line.starts_with(word) {
                return line.to_owned();
            }
        }
    }

    /// Ends it, and sees that it has lost nothing and kept to its stacks.
    pub(crate) fn finish(&mut self, sealed: bool) {
        self.child.stdin.as_mut().expect("piped").write_all(b"q").expect("written");
        let line = self.wait_for("counters");
        println!("{line}");
        let counters = numbers(&line);
        assert_eq!((counters["lost"], counters["sessions"] > 0), (0, sealed));
        let line = self.wait_for("stacks");
        println!("{line}");
        assert!(
            numbers(&line)["network"] <= NETWORK_STACK && numbers(&line)["application"] <= APPLICATION_STACK
        );
        assert_eq!(self.exit_code(), Some(0));
    }

    pub(crate) fn exit_code(&mut self) -> Option<i32> {
        self.child.wait().expect("it ends").code()
    }

    /// Everything that it says until it ends.
    pub(crate) fn rest(&mut self) -> Vec<String> {
        let mut all = Vec::new();
        while let Ok(line) = self.lines.recv_timeout(Duration::from_secs_f64(LONG)) {
            all.push(line.trim_end().to_owned());
        }
        all
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The numbers of a line like `push channels=8 mean=300`.
pub(crate) fn numbers(line: &str) -> HashMap<&str, u64> {
    line.split(' ')
        .filter_map(|word| word.split_once('='))
        .filter_map(|(name, value)| Some((name, value.parse().ok()?)))
        .collect()
}

/// Most of its stack that the network's hart may use, in bytes: measured, with 10 % slack. It holds the outlet and the
/// sockets' buffers, too.
const NETWORK_STACK: u64 = 41_500;
/// The same of the application's hart.
const APPLICATION_STACK: u64 = 870;
