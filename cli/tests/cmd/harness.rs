//! Runs the program in a folder and on a network of its own.

use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::PathBuf;
use std::process::{self, Child, ChildStdout, Command, Stdio};

use serde_json::Value;

use crate::ports::ports;
use crate::requests::{Request, ask, with_console};

/// A folder and a network that no other test shares; the folder is removed at the end.
pub(crate) struct Lab {
    folder: PathBuf,
    session: String,
    /// The last port at which outlets are asked on this computer.
    last_port: u16,
}

impl Lab {
    pub(crate) fn new(test: &str) -> Self {
        Self::with_ports(test, 19)
    }

    /// A network with so many ports for streams.
    pub(crate) fn with_ports(test: &str, port_count: u16) -> Self {
        let folder = env::temp_dir().join(format!("schwann-cmd-{}-{test}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        // Larger networks lie beyond all small ones.
        let base = if port_count > 19 { 40_000 + (process::id() % 60) as u16 * 300 } else { ports() };
        let session = format!("{test}-{}", process::id());
        let text = format!(
            "[ports]\nMulticastPort={}\nBasePort={base}\nPortRange={port_count}\nIPv6=disable\n\
             [multicast]\nResolveScope=machine\n[lab]\nSessionID={session}\n",
            base + port_count,
        );
        fs::write(folder.join("lsl_api.cfg"), &text).unwrap();
        Self { folder, session, last_port: base + port_count - 1 }
    }

    /// The session of its streams.
    pub(crate) fn session(&self) -> &str {
        &self.session
    }

    /// The last port at which outlets are asked on this computer.
    pub(crate) fn last_port(&self) -> u16 {
        self.last_port
    }

    /// A path in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The program on this network, with its home in the folder.
    pub(crate) fn schwann(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_schwann"));
        command.args(arguments).current_dir(&self.folder).env("LSLAPICFG", self.path("lsl_api.cfg"));
        command.env("HOME", &self.folder).env("USERPROFILE", &self.folder);
        with_console(&mut command);
        command
    }

    /// Runs the program to its end; returns its exit code and what it prints.
    pub(crate) fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let output = self.schwann(arguments).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    /// Starts the program; it is ended when what this returns is dropped.
    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        Running::of(self.schwann(arguments))
    }
}

/// The stream of this name in a line of JSON that lists streams.
pub(crate) fn stream<'a>(line: &'a Value, name: &str) -> Option<&'a Value> {
    line["streams"].as_array()?.iter().find(|stream| stream["name"] == name)
}

/// How many samples of the stream of this name a line of JSON counts.
pub(crate) fn samples(line: &Value, name: &str) -> u64 {
    stream(line, name).and_then(|stream| stream["sample_count"].as_u64()).unwrap_or_default()
}

/// The program at work.
pub(crate) struct Running {
    pub(crate) process: Child,
    out: BufReader<ChildStdout>,
}

impl Running {
    /// Starts a command.
    pub(crate) fn of(mut command: Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(process.stdout.take().unwrap());
        Self { process, out }
    }

    /// Reads lines of JSON until one is as wished, and returns it.
    pub(crate) fn wait_for(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = serde_json::from_str(&self.wait_for_line("{")).unwrap();
            if is_it(&line) {
                return line;
            }
        }
    }

    /// Ends it as Ctrl-C does; returns its exit code and what else it prints.
    pub(crate) fn interrupt(mut self) -> (Option<i32>, String) {
        ask(&self.process, Request::Interrupt);
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).unwrap();
        (self.process.wait().unwrap().code(), rest)
    }

    /// Reads lines until one contains `text`, and returns it.
    pub(crate) fn wait_for_line(&mut self, text: &str) -> String {
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            assert!(self.out.read_line(&mut line).unwrap() > 0, "it ended without saying {text:?}");
        }
        line
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ended_already = self.process.kill();
        let _ended_already = self.process.wait();
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _gone_already = fs::remove_dir_all(&self.folder);
    }
}
