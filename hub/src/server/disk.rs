//! Whether the hub's disk still takes what members give it.

use core::fmt;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// The disk of a hub, looked at.
pub(super) struct Disk {
    folder: PathBuf,
    log: PathBuf,
    /// Bytes of the log that were looked at.
    looked_at: u64,
    room: Room,
    /// What was said of faults that the log names.
    said: BTreeSet<Fault>,
}

/// Why the server keeps no more, as its log says.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Fault {
    /// It has as much as it may have.
    Limit,
    /// Its disk did not take a message. It stores nothing more until it is started again.
    Disk,
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Limit => {
                "the hub keeps as much as --limit allows, and takes no more: end it with Ctrl-C, and start `schwann hub up` again with a \
                 higher --limit"
            }
            Self::Disk => {
                "the hub's disk did not take a message, and the hub takes nothing until it starts again: make room on its disk, end this \
                 with Ctrl-C, and start `schwann hub up` again"
            }
        })
    }
}

/// How much room there is, the most first.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Room {
    Ample,
    Short,
    None,
}

impl Disk {
    /// The disk of `folder`. What its `log` holds already is of an earlier server.
    pub(super) fn of(folder: &Path, log: PathBuf) -> Self {
        let looked_at = std::fs::metadata(&log).map_or(0, |log| log.len());
        Self { folder: folder.to_owned(), log, looked_at, room: Room::Ample, said: BTreeSet::new() }
    }

    /// What is wrong, and was not said before.
    pub(super) fn look(&mut self) -> Vec<String> {
        let free = fs4::available_space(&self.folder).ok();
        // A log that cannot be read now is read at the next look.
        let faults = self.faults().unwrap_or_default();
        let lack = free.and_then(|free| self.lack(free));
        lack.into_iter().chain(faults.iter().map(ToString::to_string)).collect()
    }

    fn lack(&mut self, free_bytes: u64) -> Option<String> {
        let room = match free_bytes {
            ..NOTHING => Room::None,
            NOTHING..LITTLE => Room::Short,
            _ => Room::Ample,
        };
        let before = core::mem::replace(&mut self.room, room);
        (room > before).then(|| {
            let megabytes = free_bytes / 1_000_000;
            format!(
                "the hub's disk has {megabytes} MB left; make room on it: a full hub takes nothing, and the journals at the sites fill"
            )
        })
    }

    /// What the log names since the last look, and was not said before.
    fn faults(&mut self) -> io::Result<Vec<Fault>> {
        let mut log = File::open(&self.log)?;
        // The server begins a new log when this one is long.
        if log.metadata()?.len() < self.looked_at {
            self.looked_at = 0;
        }
        log.seek(SeekFrom::Start(self.looked_at))?;
        let (mut log, mut line, mut faults) = (BufReader::new(log), Vec::new(), Vec::new());
        // A line without an end is still being written, or the disk takes no more of it.
        while log.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
            self.looked_at += line.len() as u64;
            faults.extend(fault(&String::from_utf8_lossy(&line)).filter(|fault| self.said.insert(*fault)));
            line.clear();
        }
        Ok(faults)
    }
}

/// The fault that a line of the server's log names.
fn fault(line: &str) -> Option<Fault> {
    let (_, said) = line.split_once("[ERR] JetStream ")?;
    match said {
        _ if said.starts_with("failed to store a msg") => Some(Fault::Disk),
        _ if said.contains("resource limits exceeded") => Some(Fault::Limit),
        _ => None,
    }
}

const LITTLE: u64 = 256 << 20;
/// A disk with less takes no block of the largest size.
const NOTHING: u64 = 2 << 20;

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write as _;

    use super::*;

    #[test]
    fn what_was_not_stored_is_said_once_and_an_earlier_server_is_not_blamed_on_this_one() {
        let folder = std::env::temp_dir().join(format!("schwann-hub-disk-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let log = folder.join("hub.log");
        let line = "[7] 2026/11/26 16:57:47.155360 [ERR] JetStream failed to store a msg on stream 'a > b': write 1.blk: no space left on device\n";
        std::fs::write(&log, line).unwrap();
        let mut disk = Disk::of(&folder, log.clone());
        assert_eq!(disk.faults().unwrap(), []);
        let append =
            |text: &str| OpenOptions::new().append(true).open(&log).unwrap().write_all(text.as_bytes());
        append("[7] 2026/11/26 16:57:48.155360 [ERR] TLS handshake error\n").unwrap();
        assert_eq!(disk.faults().unwrap(), []);
        let (begun, rest) = line.split_at(20);
        append(begun).unwrap();
        assert_eq!(disk.faults().unwrap(), []);
        append(rest).unwrap();
        assert_eq!(disk.faults().unwrap(), [Fault::Disk]);
        append(line).unwrap();
        assert_eq!(disk.faults().unwrap(), []);
        append("[7] 2026/11/26 17:23:53.147425 [ERR] JetStream file resource limits exceeded for server\n")
            .unwrap();
        assert_eq!(disk.faults().unwrap(), [Fault::Limit]);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn less_room_is_said_as_it_becomes_less() {
        let mut disk = Disk::of(Path::new("."), PathBuf::from("absent"));
        let rooms = [LITTLE, LITTLE - 1, LITTLE / 2, NOTHING, NOTHING - 1, 0, LITTLE, 0];
        assert_eq!(
            rooms.map(|free| disk.lack(free).is_some()),
            [false, true, false, false, true, false, false, true]
        );
        assert!(disk.faults().is_err());
    }
}
