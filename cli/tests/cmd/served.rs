//! Commands that serve something, and print its address first.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use schwann_fieldtrip::{Address, Client, Options};

use crate::harness::Lab;

/// A command that prints an address first, and runs until it is told to end.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) out: BufReader<std::process::ChildStdout>,
    /// The last word of the first line.
    pub(crate) address: String,
}

impl Running {
    pub(crate) fn start(lab: &Lab, arguments: &[&str]) -> Self {
        Self::spawn(&mut lab.schwann(arguments))
    }

    pub(crate) fn spawn(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("a process");
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        out.read_line(&mut line).expect("text");
        let address = line.split_whitespace().last().unwrap_or_default().to_owned();
        Self { child, out, address }
    }

    pub(crate) fn client(&self) -> Client {
        let address: Address = self.address.parse().expect("an address");
        Client::connect(address, Options::default()).expect("a server")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _ended_already = self.child.wait();
    }
}
