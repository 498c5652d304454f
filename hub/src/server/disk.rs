//! Whether the hub's disk still takes what members give it.

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
    /// The server failed to store a message. It stores nothing more until it is started again.
    is_stuck: bool,
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
        Self { folder: folder.to_owned(), log, looked_at, room: Room::Ample, is_stuck: false }
    }

    /// What is wrong, and was not said before.
    pub(super) fn look(&mut self) -> Vec<String> {
        let free = fs4::available_space(&self.folder).ok();
        // A log that cannot be read now is read at the next look.
        let failure = self.failure().ok().flatten();
        free.and_then(|free| self.lack(free)).into_iter().chain(failure).collect()
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

    /// What the log says since the last look of a message that was not stored.
    fn failure(&mut self) -> io::Result<Option<String>> {
        let mut log = File::open(&self.log)?;
        // The server begins a new log when this one is long.
        if log.metadata()?.len() < self.looked_at {
            self.looked_at = 0;
        }
        log.seek(SeekFrom::Start(self.looked_at))?;
        let (mut log, mut line, mut failure) = (BufReader::new(log), Vec::new(), None);
        // A line without an end is still being written, or the disk takes no more of it.
        while log.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
            self.looked_at += line.len() as u64;
            failure = failure.or_else(|| reason(&String::from_utf8_lossy(&line)));
            line.clear();
        }
        let is_news = failure.is_some() && !self.is_stuck;
        self.is_stuck |= failure.is_some();
        Ok(failure.filter(|_| is_news).map(|why| {
            format!(
                "the hub could not store a message ({why}), and takes nothing until it starts again: make room on its disk, end this with Ctrl-C, and start `schwann hub up` again"
            )
        }))
    }
}

/// Why a message was not stored, if a line of the log is about that.
fn reason(line: &str) -> Option<String> {
    let (_, said) = line.split_once("[ERR] JetStream failed to store a msg")?;
    said.rsplit(": ").next().map(|why| why.trim().to_owned())
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
        assert_eq!(disk.failure().unwrap(), None);
        let append =
            |text: &str| OpenOptions::new().append(true).open(&log).unwrap().write_all(text.as_bytes());
        append("[7] 2026/11/26 16:57:48.155360 [ERR] TLS handshake error\n").unwrap();
        assert_eq!(disk.failure().unwrap(), None);
        let (begun, rest) = line.split_at(20);
        append(begun).unwrap();
        assert_eq!(disk.failure().unwrap(), None);
        append(rest).unwrap();
        let said = disk.failure().unwrap().unwrap();
        assert!(said.contains("(no space left on device)") && said.contains("schwann hub up"), "{said}");
        append(line).unwrap();
        assert_eq!(disk.failure().unwrap(), None);
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
        assert!(disk.failure().is_err());
    }
}
