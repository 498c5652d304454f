//! Whether the hub's disk still takes what members give it.

use core::fmt;
use core::time::Duration;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Instant;

use schwann_recorder::SHORT_BYTES;

/// The disk of a hub, looked at.
pub(super) struct Disk {
    folder: PathBuf,
    log: PathBuf,
    /// Bytes of the log that were looked at.
    looked_at: u64,
    room: Room,
    /// What was said of faults that the log names, and when it named them last.
    named: BTreeMap<Fault, Instant>,
    /// It was said that the log cannot be read.
    is_unread: bool,
}

/// How much room there is, the most first.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Room {
    Ample,
    Short,
    None,
}

/// Why the server keeps no more, as its log says.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Fault {
    /// A message could not be stored, for this reason. The server stores nothing more until it is started again.
    Disk(String),
    /// It has as much as it may have.
    Limit,
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disk(why) => write!(
                out,
                "the hub could not store a message ({why}) and takes no more; make room on its disk, press Ctrl-C, and start \
                 `schwann hub up` again"
            ),
            Self::Limit => out.write_str(
                "the hub keeps as much as --limit allows and takes no more; press Ctrl-C, and start `schwann hub up` with a higher one",
            ),
        }
    }
}

impl Disk {
    /// The disk of `folder`. What its `log` holds already is of an earlier server.
    pub(super) fn of(folder: &Path, log: PathBuf) -> Self {
        let looked_at = std::fs::metadata(&log).map_or(0, |log| log.len());
        let (folder, named) = (folder.to_owned(), BTreeMap::new());
        Self { folder, log, looked_at, room: Room::Ample, named, is_unread: false }
    }

    /// What is wrong, and was not said before.
    pub(super) fn look(&mut self) -> Vec<String> {
        let free = fs4::available_space(&self.folder).ok();
        let mut said: Vec<_> = free.and_then(|free| self.lack(free)).into_iter().collect();
        match self.faults() {
            Ok(faults) => {
                self.is_unread = false;
                said.extend(faults.iter().map(ToString::to_string));
            }
            Err(why) if !core::mem::replace(&mut self.is_unread, true) => said.push(format!(
                "the log of the hub, {}, cannot be read ({why}): whether its disk takes everything is not known",
                self.log.display()
            )),
            Err(_) => {}
        }
        said
    }

    fn lack(&mut self, free_bytes: u64) -> Option<String> {
        let room = match free_bytes {
            ..NO_BYTES => Room::None,
            NO_BYTES..SHORT_BYTES => Room::Short,
            _ => Room::Ample,
        };
        // A disk around a limit is not talked of again and again.
        if room < self.room && free_bytes < 2 * SHORT_BYTES {
            return None;
        }
        let before = core::mem::replace(&mut self.room, room);
        (room > before).then(|| {
            let megabytes = free_bytes / 1_000_000;
            format!(
                "the hub's disk has {megabytes} MB left; make room on it: a full hub takes nothing, and the journals at the sites fill"
            )
        })
    }

    /// The faults that the log names since the last look, and did not name in the hour before.
    fn faults(&mut self) -> io::Result<Vec<Fault>> {
        let mut log = File::open(&self.log)?;
        // The server begins a new log when this one is long.
        if log.metadata()?.len() < self.looked_at {
            self.looked_at = 0;
        }
        log.seek(SeekFrom::Start(self.looked_at))?;
        let mut news = Vec::new();
        log.take(READ_BYTES).read_to_end(&mut news)?;
        // A line without an end is still being written, or the disk takes no more of it.
        let whole = match news.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => end + 1,
            None if news.len() as u64 == READ_BYTES => news.len(),
            None => 0,
        };
        news.truncate(whole);
        self.looked_at += whole as u64;
        let text = String::from_utf8_lossy(&news);
        Ok(text.lines().filter_map(fault).filter(|fault| self.is_news(fault)).collect())
    }

    fn is_news(&mut self, fault: &Fault) -> bool {
        let before = self.named.insert(fault.clone(), Instant::now());
        before.is_none_or(|before| before.elapsed() >= QUIET)
    }
}

/// The fault that a line of the server's log names: process, date, time and level, then what it says. A client has a say in some lines,
/// and none in how they begin.
fn fault(line: &str) -> Option<Fault> {
    let mut parts = line.splitn(5, ' ').skip(3);
    let (level, said) = (parts.next()?, parts.next()?);
    let said = said.strip_prefix("JetStream ").filter(|_| level == "[ERR]")?;
    match said {
        _ if said.starts_with("failed to store a msg") => {
            Some(Fault::Disk(said.rsplit(": ").next().unwrap_or_default().trim().to_owned()))
        }
        _ if said.contains("resource limits exceeded") => Some(Fault::Limit),
        _ => None,
    }
}

/// A disk with less takes no block of the largest size.
const NO_BYTES: u64 = 2 << 20;
/// Bytes of the log that are read in one look at most.
const READ_BYTES: u64 = 1 << 20;
/// A fault that the log names all the time is said once.
const QUIET: Duration = Duration::from_secs(3600);

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write as _;

    use super::*;

    const UNSTORED: &str = "[7] 2026/11/26 16:57:47.155360 [ERR] JetStream failed to store a msg on stream 'a > b': write 1.blk: no space left on device\n";

    #[test]
    fn what_was_not_stored_is_said_once_and_an_earlier_server_is_not_blamed_on_this_one() {
        let folder = std::env::temp_dir().join(format!("schwann-hub-disk-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let log = folder.join("hub.log");
        std::fs::write(&log, UNSTORED).unwrap();
        let mut disk = Disk::of(&folder, log.clone());
        assert_eq!(disk.faults().unwrap(), []);
        let append =
            |text: &str| OpenOptions::new().append(true).open(&log).unwrap().write_all(text.as_bytes());
        let (begun, rest) = UNSTORED.split_at(20);
        append(begun).unwrap();
        assert_eq!(disk.faults().unwrap(), []);
        append(rest).unwrap();
        assert_eq!(disk.faults().unwrap(), [Fault::Disk(String::from("no space left on device"))]);
        append(UNSTORED).unwrap();
        assert_eq!(disk.faults().unwrap(), []);
        append("[7] 2026/11/26 17:23:53.147425 [ERR] JetStream file resource limits exceeded for server\n")
            .unwrap();
        assert_eq!(disk.faults().unwrap(), [Fault::Limit]);
        // The server begins a new log.
        std::fs::write(&log, UNSTORED.replace("no space left on device", "file already closed")).unwrap();
        assert_eq!(disk.faults().unwrap(), [Fault::Disk(String::from("file already closed"))]);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_client_cannot_feign_a_fault() {
        for line in [
            "[7] 2026/11/26 16:57:48.155360 [ERR] TLS handshake error",
            "[7] 2026/11/26 16:57:48.155360 [ERR] 10.0.0.7:5 - cid:6 - Nkey \"x [ERR] JetStream failed to store a msg: disk\" not valid",
            "[7] 2026/11/26 16:57:48.155360 [INF] [ERR] JetStream failed to store a msg",
            "[ERR] JetStream failed to store a msg",
            "",
        ] {
            assert_eq!(fault(line), None, "{line}");
        }
    }

    #[test]
    fn less_room_is_said_as_it_becomes_less() {
        let mut disk = Disk::of(Path::new("."), PathBuf::from("absent"));
        let rooms = [
            SHORT_BYTES,
            SHORT_BYTES - 1,
            SHORT_BYTES,
            NO_BYTES,
            NO_BYTES - 1,
            0,
            NO_BYTES,
            0,
            2 * SHORT_BYTES,
            0,
        ];
        let said = [false, true, false, false, true, false, false, false, false, true];
        assert_eq!(rooms.map(|free| disk.lack(free).is_some()), said);
        // What cannot be looked at is said once.
        let unread =
            |disk: &mut Disk| disk.look().iter().filter(|line| line.contains("cannot be read")).count();
        assert_eq!([unread(&mut disk), unread(&mut disk)], [1, 0]);
    }
}
