//! A log's file: bounded, and shared by several programs.
//!
//! A file that has grown beyond [`FILE_LEN`] becomes `FILE.1`, the old `FILE.1` becomes `FILE.2`, and so on up
//! to [`OLD_FILES`].

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::sys::files;

/// An open file of a log.
pub(crate) struct LogFile {
    path: PathBuf,
    opening: Opening,
    file: File,
    longest: u64,
}

/// The readers of a log, besides this user.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Readers {
    /// No other user.
    Owner,
    /// The users whom the process's umask admits.
    Umask,
}

/// How each file of a log is opened: the first, those that follow it, and the lock.
#[derive(Clone, Copy)]
struct Opening {
    readers: Readers,
    links: Links,
}

/// What is done with a link where a file should be.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Links {
    Followed,
    Refused,
}

impl LogFile {
    /// Opens a log, which begins where it ended.
    ///
    /// - Errors: the system's.
    pub(crate) fn open(path: &Path, readers: Readers) -> io::Result<Self> {
        Self::open_as(path, Opening { readers, links: Links::Followed })
    }

    /// Opens a log beside a file of any owner. A link there could lead to any file of this user's.
    ///
    /// - Errors: the system's; or it is a link.
    pub(crate) fn open_beside(path: &Path, readers: Readers) -> io::Result<Self> {
        Self::open_as(path, Opening { readers, links: Links::Refused })
    }

    fn open_as(path: &Path, opening: Opening) -> io::Result<Self> {
        Ok(Self { path: path.to_path_buf(), opening, file: opening.open(path)?, longest: FILE_LEN })
    }

    /// Opens a second log, `FILE.extension`, in the way of this one.
    ///
    /// - Errors: as this one's.
    pub(crate) fn open_second(&self, extension: &str) -> io::Result<Self> {
        Self::open_as(&self.path.with_added_extension(extension), self.opening)
    }

    /// The same file with another length at which it is put aside.
    #[cfg(test)]
    pub(crate) fn with_longest(self, longest: u64) -> Self {
        Self { longest, ..self }
    }

    /// Appends a line in one piece: programs that share the file do not mix their lines.
    ///
    /// - Errors: the system's; or a link has come to where a new file must be; or the file is twice as long as it
    ///   should be, and another program does not let go of its lock.
    pub(crate) fn append(&mut self, line: &str) -> io::Result<()> {
        let len = self.file.metadata()?.len();
        if len >= self.longest {
            self.put_aside(len)?;
        }
        self.file.write_all(line.as_bytes())
    }

    /// Begins a new file, unless another program just did, or is about to.
    fn put_aside(&mut self, len: u64) -> io::Result<()> {
        let guard = self.opening.open(&self.path.with_added_extension("lock"))?;
        match guard.try_lock() {
            Ok(()) => {}
            // The holder may be stopped, or another user's. The threads that send samples log too, and do not wait.
            Err(TryLockError::WouldBlock) if len < 2 * self.longest => return Ok(()),
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::other("it is full, and another program holds its lock"));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
        if fs::metadata(&self.path).is_ok_and(|present| present.len() >= self.longest) {
            let old = |number: u32| self.path.with_added_extension(number.to_string());
            for number in (1..OLD_FILES).rev() {
                // Some may not exist yet; they cannot be moved.
                let _ = fs::rename(old(number), old(number + 1));
            }
            fs::rename(&self.path, old(1))?;
        }
        self.file = self.opening.open(&self.path)?;
        Ok(())
    }
}

impl Opening {
    /// Opens a file to append to, or makes it.
    fn open(self, path: &Path) -> io::Result<File> {
        let mut options = File::options();
        options.append(true);
        if self.readers == Readers::Owner {
            files::make_private(&mut options);
        }
        if self.links == Links::Followed {
            return options.create(true).open(path);
        }
        files::open_at_once(&mut options);
        // What is made anew never follows a link.
        let file = match options.clone().create_new(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => options.open(path)?,
            made => made?,
        };
        // Looked at after it was opened: it cannot be replaced any more.
        if !files::is_itself(&file, path)? {
            return Err(io::Error::other("it is a link, and may lead anywhere"));
        }
        Ok(file)
    }
}

/// Length at which a file is put aside, in bytes.
const FILE_LEN: u64 = 8 << 20;
/// Files that are kept besides the present one.
const OLD_FILES: u32 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(test: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("schwann-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        folder
    }

    #[test]
    fn files_are_put_aside_and_bounded_also_for_two_programs() {
        let folder = folder("log-bounded");
        let path = folder.join("security.log");
        let mut programs =
            [(); 2].map(|()| LogFile::open(&path, Readers::Owner).expect("a file").with_longest(1000));
        for number in 0..1000 {
            let line = format!("{{\"number\":{number:>87}}}\n");
            programs[number % 2].append(&line).expect("written");
        }
        let names: Vec<_> = (0..8).map(|number| path.with_added_extension(number.to_string())).collect();
        let there: Vec<_> = names.iter().map(|name| name.exists()).collect();
        assert_eq!(there, [false, true, true, true, true, false, false, false]);
        let text = |path: &Path| fs::read_to_string(path).expect("text");
        let all: String = [&names[4], &names[3], &names[2], &names[1], &path].map(|name| text(name)).concat();
        let first = 1000 - all.lines().count();
        assert!(all.lines().count() > 40 && all.len() < 6 * 1100, "{}", all.len());
        for (number, line) in (first..).zip(all.lines()) {
            assert!(line.trim_end_matches('}').ends_with(&format!(" {number}")), "nothing between is lost");
        }
        // Windows keeps the name of a file that is open.
        drop(programs);
        fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn a_program_that_holds_the_lock_holds_up_no_other() {
        let folder = folder("log-held");
        let path = folder.join("x.log");
        let mut log = LogFile::open(&path, Readers::Owner).expect("a log").with_longest(10);
        let holder = File::create(path.with_added_extension("lock")).expect("a file");
        holder.lock().expect("a lock");
        for _ in 0..4 {
            log.append("line\n").expect("written");
        }
        assert!(log.append("line\n").is_err(), "it is bounded all the same");
        assert_eq!(fs::read_to_string(&path).expect("text"), "line\n".repeat(4));
        drop(holder);
        log.append("line\n").expect("written");
        assert_eq!(fs::read_to_string(&path).expect("text"), "line\n");
        drop(log);
        fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    #[cfg(unix)]
    fn a_pipe_beside_a_file_of_anybodys_holds_nobody_up() {
        let folder = folder("log-pipe");
        let path = folder.join("x.log");
        let made = std::process::Command::new("mkfifo").arg(&path).status().expect("a program of every unix");
        assert!(made.success());
        assert!(LogFile::open_beside(&path, Readers::Umask).is_err());
        fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    #[cfg(unix)]
    fn a_log_beside_a_file_of_anybodys_leads_nowhere_else() {
        let folder = folder("log-beside");
        let precious = folder.join("precious");
        fs::write(&precious, "precious").expect("a file");
        let [link, twin, fresh] = ["link", "twin", "fresh"].map(|name| folder.join(name));
        std::os::unix::fs::symlink(&precious, &link).expect("a link");
        fs::hard_link(&precious, &twin).expect("a link");
        assert!(LogFile::open_beside(&link, Readers::Umask).is_err());
        assert!(LogFile::open_beside(&twin, Readers::Umask).is_err());
        for _ in 0..2 {
            let mut log = LogFile::open_beside(&fresh, Readers::Umask).expect("a log");
            log.append("line\n").expect("written");
        }
        assert_eq!(fs::read_to_string(&fresh).expect("text"), "line\nline\n");
        assert_eq!(fs::read_to_string(&precious).expect("text"), "precious");
        fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    #[cfg(unix)]
    fn what_follows_such_a_log_leads_nowhere_else_either() {
        let folder = folder("log-follows");
        let (path, precious) = (folder.join("x.log"), folder.join("precious"));
        fs::write(&precious, "precious").expect("a file");
        let link_at = |path: &Path| std::os::unix::fs::symlink(&precious, path).expect("a link");
        let mut log = LogFile::open_beside(&path, Readers::Umask).expect("a log").with_longest(10);
        log.append("a long line\n").expect("written");

        link_at(&path.with_added_extension("strangers"));
        assert!(log.open_second("strangers").is_err());
        link_at(&path.with_added_extension("lock"));
        assert!(log.append("line\n").is_err());
        fs::remove_file(path.with_added_extension("lock")).expect("removed");
        fs::rename(&path, folder.join("elsewhere")).expect("renamed");
        link_at(&path);
        assert!(log.append("line\n").is_err());
        assert_eq!(fs::read_to_string(&precious).expect("text"), "precious");

        // Without the link it goes on.
        fs::remove_file(&path).expect("removed");
        log.append("line\n").expect("written");
        assert_eq!(fs::read_to_string(&path).expect("text"), "line\n");
        fs::remove_dir_all(&folder).expect("removed");
    }
}
