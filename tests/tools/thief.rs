//! Tries to open what was recorded on a wire with stolen files: `thief RECORDINGS KEY_FOLDER...`.
//!
//! Takes every run of 32 bytes in every file of the key folders for every secret that it could be. A recording is a file
//! `N.datagram`, or a pair of files `N.up` and `N.down`: what inlet and outlet said on a connection. A file `N.reply` is an
//! answer to a search. Every key agreement is tried on it too, which takes a third of a second. Ends with 0 if nothing opens: no
//! session, no clock probe, no answer to a search. No search may say what was looked for, either. It prints how much was tried.
//! `tests/system/test_secrecy.py` gives it what it heard on the wire.

#[path = "../../session/tests/common/thief.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod thief;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use thief::{Datagram, Query, Recording, Secret};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let Some(recordings) = arguments.next() else {
        eprintln!("thief RECORDINGS KEY_FOLDER...");
        return ExitCode::from(2);
    };
    let stolen: Vec<Vec<u8>> = arguments.flat_map(|folder| files(&folder)).map(|path| read(&path)).collect();
    let secrets = thief::candidates(&stolen);
    println!("secrets in {} stolen files: {}", stolen.len(), secrets.len());
    let recorded = files(&recordings);
    let of_kind = |kind: &'static str| {
        recorded.iter().filter(move |path| path.extension().is_some_and(|own| own == kind))
    };
    let connections: Vec<Recording> = of_kind("up")
        .map(|path| Recording::parse(&read(path), &read(&path.with_extension("down"))).expect("a session"))
        .collect();
    let [datagrams, replies] =
        ["datagram", "reply"].map(|kind| of_kind(kind).map(|path| read(path)).collect::<Vec<_>>());
    let opened = try_connections(&connections, &secrets) + try_datagrams(&datagrams, &replies, &secrets);
    ExitCode::from(u8::from(opened > 0))
}

/// Tries all connections; returns how much opened.
fn try_connections(connections: &[Recording], secrets: &HashSet<Secret>) -> usize {
    let outcomes = in_parallel(connections, |one| thief::try_everything(one, secrets));
    println!("sessions tried: {}", connections.len());
    println!("attempts on their records: {}", outcomes.iter().map(|(tried, _)| tried).sum::<usize>());
    let opened: Vec<&String> = outcomes.iter().flat_map(|(_, opened)| opened).collect();
    opened.iter().for_each(|what| println!("OPENED {what}"));
    opened.len()
}

/// Tries all datagrams, and every key agreement on `replies`; returns how many say something.
fn try_datagrams(datagrams: &[Vec<u8>], replies: &[Vec<u8>], secrets: &HashSet<Secret>) -> usize {
    let agreeing: Vec<_> = replies.iter().filter_map(|bytes| Datagram::parse(bytes)).collect();
    let parsed: Vec<_> = datagrams.iter().filter_map(|bytes| Datagram::parse(bytes)).collect();
    // The key of a search is stored: that it opens shows that the thief has it.
    let queries: Vec<Query> =
        parsed.iter().filter_map(|one| secrets.iter().find_map(|secret| one.query(secret))).collect();
    let tell = queries.iter().filter(|query| query.tells()).count();
    println!("searches opened: {}", queries.len());
    println!("searches that say what was looked for: {tell}");
    let all = parsed.iter().chain(&agreeing);
    let opened = [("answers to searches", false), ("clock probes", true)].map(|(what, is_probe)| {
        let of_kind = all.clone().filter(|one| if is_probe { one.is_probe() } else { one.is_reply() });
        let opens = |one: &&Datagram<'_>| secrets.iter().any(|secret| one.opens_with(secret));
        let opened = of_kind.clone().filter(opens).count();
        println!("{what} tried: {}", of_kind.count());
        println!("{what} opened: {opened}");
        opened
    });
    tell + opened.iter().sum::<usize>() + try_agreements(&agreeing, &queries, secrets)
}

/// Tries every secret as the private key of either side of an answer; returns how many open.
fn try_agreements(replies: &[Datagram<'_>], queries: &[Query], secrets: &HashSet<Secret>) -> usize {
    let tasks: Vec<_> = replies
        .iter()
        .flat_map(|reply| {
            queries.iter().filter(|query| reply.answers(query)).map(move |query| (reply, query))
        })
        .collect();
    let opens = in_parallel(&tasks, |(reply, query)| reply.reply(query, secrets).is_some());
    let opened = opens.into_iter().filter(|opens| *opens).count();
    println!("key agreements tried on answers: {}", 2 * tasks.len() * secrets.len());
    println!("answers opened by a key agreement: {opened}");
    opened
}

/// Works on the tasks, as many at a time as there are processors; returns what each of them came to.
fn in_parallel<Task: Sync, Outcome: Send>(
    tasks: &[Task],
    work: impl Fn(&Task) -> Outcome + Sync,
) -> Vec<Outcome> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let share = tasks.len().div_ceil(threads).max(1);
    let work_on = |part: &[Task]| part.iter().map(&work).collect::<Vec<_>>();
    std::thread::scope(|scope| {
        let running: Vec<_> = tasks.chunks(share).map(|part| scope.spawn(move || work_on(part))).collect();
        running.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    })
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> =
        entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_file()).collect();
    paths.sort();
    paths
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
