//! The agent's side of the conversation.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::net::TcpListener;
use std::path::PathBuf;

use schwann_session::SystemEntropy;

use super::channel::Channel;
use super::token::Token;
use super::{Answer, HEARING, Hello, Request};
use crate::Reason;
use crate::record::{BUILT_FROM, KEYS, Machine, Subject};
use crate::sealed::lab::{self, Lab};
use crate::transfer::{End, Place, Process, discovery};
use crate::worker::{Job, Task};
use crate::workload::Workload;

/// Waits for the campaign that knows the token, and serves it until it ends.
pub(crate) fn serve(listen: SocketAddr, subjects: Vec<Subject>) -> Result<(), Reason> {
    let listener = TcpListener::bind(listen).map_err(|error| {
        format!("no agent can listen at {listen}: {error}; name another address with --listen")
    })?;
    let token = Token::generate(&mut SystemEntropy)?;
    invite(&listener, &token)?;
    let scratch = Scratch::new()?;
    lab::install_keys_of(&token.authority(), &scratch.0.join(KEYS))?;
    let (channel, peer) = admit(&listener, &Lab::of(token.authority())?)?;
    // The token is spent: no other client is let in.
    drop(listener);
    println!("measuring with {peer}");
    let outcome = Server { channel, peer, subjects, scratch, process: None }.run();
    println!("the campaign has ended");
    outcome
}

/// Prints the command for the other computer, for every address under which this one may be reached.
fn invite(listener: &TcpListener, token: &Token) -> Result<(), Reason> {
    let bound = listener.local_addr()?;
    let addresses = if bound.ip().is_unspecified() { addresses() } else { vec![bound.ip()] };
    println!("This computer takes part in one campaign. On the other computer, run:");
    for address in addresses {
        println!("  schwann-bench lsl network --agent {address}:{} --token {}", bound.port(), *token.words());
    }
    Ok(())
}

fn addresses() -> Vec<IpAddr> {
    let all = getifaddrs::getifaddrs().into_iter().flatten();
    let addresses = all.filter_map(|interface| match interface.address {
        getifaddrs::Address::V4(address) if !address.address.is_loopback() => Some(address.address.into()),
        _ => None,
    });
    let found: Vec<IpAddr> = addresses.collect();
    if found.is_empty() { vec![Ipv4Addr::LOCALHOST.into()] } else { found }
}

/// Waits for a connection that proves to know the token.
fn admit(listener: &TcpListener, lab: &Lab) -> Result<(Channel, Ipv4Addr), Reason> {
    loop {
        let (socket, peer) = listener.accept()?;
        let IpAddr::V4(address) = peer.ip() else { continue };
        match Channel::respond(socket, lab) {
            Ok(channel) => return Ok((channel, address)),
            Err(reason) => eprintln!("bench: {peer} does not prove that it knows the token: {reason}"),
        }
    }
}

struct Server {
    channel: Channel,
    peer: Ipv4Addr,
    subjects: Vec<Subject>,
    scratch: Scratch,
    process: Option<Process>,
}

impl Server {
    fn run(mut self) -> Result<(), Reason> {
        let subjects = self.subjects.clone();
        self.channel.send(&Hello { machine: Machine::here(), commit: BUILT_FROM.to_owned(), subjects })?;
        // A campaign that ends closes; there is nothing else that it could tell.
        while let Ok(request) = self.channel.receive() {
            let answer = self.answer(request).unwrap_or_else(|reason| Answer::Refused(reason.to_string()));
            self.channel.send(&answer)?;
        }
        Ok(())
    }

    fn answer(&mut self, request: Request) -> Result<Answer, Reason> {
        let none = "there is no measuring process";
        Ok(match request {
            Request::Start { label, task, session, base_port } => {
                // The process before must be gone, with its ports, before the next
                // begins.
                self.process = None;
                self.process = Some(self.start(&label, *task, (&session, base_port))?);
                Answer::Done
            }
            Request::Tell(order) => {
                self.process.as_mut().ok_or(none)?.say(order)?;
                Answer::Done
            }
            Request::Hear => match self.process.as_mut().ok_or(none)?.hear_within(HEARING)? {
                Some(event) => Answer::Heard(event),
                None => Answer::Nothing,
            },
            Request::Stop => {
                self.process = None;
                Answer::Done
            }
        })
    }

    fn start(&self, label: &str, task: Task, (session, base_port): (&str, u16)) -> Result<Process, Reason> {
        let subject = self.subjects.iter().find(|subject| subject.label == label);
        let subject = subject.ok_or("the agent has no such library; start it with the campaign's options")?;
        acceptable(&task.workload)?;
        let config = self.scratch.0.join("lsl_api.cfg");
        if !session.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            return Err("the session's name is none".into());
        }
        std::fs::write(&config, discovery::private(session, base_port, self.peer))?;
        // What is loaded here is for this computer to say.
        let task = Task { transport: subject.transport.clone(), ..task };
        let patience = task.workload.duration * 3;
        let files = Some((config.as_path(), self.scratch.0.as_path()));
        let place = Place { files, environment: Some(&subject.environment), enter: &[] };
        Ok(Process::start(&Job::Transfer(Box::new(task)), &place, patience)?)
    }
}

/// Refuses what would fill this computer's memory, or last for ever.
fn acceptable(workload: &Workload) -> Result<(), Reason> {
    let bytes = workload.channel_count.saturating_mul(workload.chunk).saturating_mul(4);
    if bytes > 64 << 20 || workload.duration.as_secs() > 3600 || workload.consumers != 1 {
        return Err("the campaign asks for more than an agent does".into());
    }
    Ok(())
}

/// A folder for the measuring processes; removed when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self, Reason> {
        let folder = std::env::temp_dir().join(format!("schwann-bench-agent-{}", std::process::id()));
        std::fs::create_dir(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left has no secret that outlives the campaign.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
