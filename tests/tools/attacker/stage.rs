//! The processes between which the attacker stands.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

/// The outlet's process, and where it is.
pub(crate) struct Stage {
    pub(crate) outlet: Process,
    pub(crate) description: String,
}

/// A process that ends when its standard input does.
pub(crate) struct Process(Child);

impl Stage {
    /// Starts an outlet.
    pub(crate) fn set() -> Self {
        let (outlet, mut output) = Process::start("outlet", &[]);
        let mut description = String::new();
        output.read_line(&mut description).expect("the outlet's description");
        Self { outlet, description: description.trim().to_owned() }
    }

    /// The outlet's port of this name.
    pub(crate) fn port(&self, name: &str) -> u16 {
        let (_, rest) = self.description.split_once(&format!("<{name}>")).expect("a port");
        rest.split('<').next().and_then(|port| port.parse().ok()).expect("a number")
    }

    /// The description as the attacker wants inlets to have it: the same stream, elsewhere.
    pub(crate) fn led_astray(&self, address: &str, data_port: u16) -> String {
        let port = |port| format!("<v4data_port>{port}</v4data_port>");
        let here = format!("<v4address>{address}</v4address>");
        let astray = self.description.replace(&port(self.port("v4data_port")), &port(data_port));
        astray.replace("<v4address></v4address>", &here)
    }
}

impl Process {
    /// Starts this program in a role, and tells it these lines.
    pub(crate) fn start(role: &str, lines: &[String]) -> (Self, BufReader<ChildStdout>) {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.arg(role).stdin(Stdio::piped()).stdout(Stdio::piped());
        // Ctrl-C is for the attacker alone.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().expect("a process");
        let mut input = child.stdin.as_ref().expect("a pipe");
        for line in lines {
            writeln!(input, "{line}").expect("it listens");
        }
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        (Self(child), output)
    }

    /// Its resident memory in KiB; nothing if it has died.
    pub(crate) fn resident_kib(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        line.trim().trim_end_matches("kB").trim().parse().ok()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
