//! Where members of the lab were met, so that they are found again without multicast.
//!
//! A file of the key folder, one address a line, the latest first. Its first line is the lab's id: members of
//! another lab do not count. Only a proven member comes into it, and only sealed questions go to what it names.
//!
//! Source: secure-session §5.6.

use core::fmt::Write as _;
use core::net::IpAddr;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use schwann_session::{Lab, LabId};

use super::TrustError;
use super::store::{self, LAB};
use crate::log;

/// Where this process has met members, and earlier ones of this user.
#[derive(Debug, Default)]
pub(super) struct Met(Mutex<Vec<IpAddr>>);

impl Met {
    /// What the folder remembers.
    pub(super) fn of(folder: &Path) -> Self {
        Self(Mutex::new(read(folder)))
    }

    pub(super) fn places(&self) -> Vec<IpAddr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Remembers an address; `folder` is none for a membership that is not on disk.
    pub(super) fn note(&self, ip: IpAddr, folder: Option<&Path>) {
        let ip = ip.to_canonical();
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !is_elsewhere(ip) || places.contains(&ip) {
            return;
        }
        places.insert(0, ip);
        places.truncate(MOST);
        drop(places);
        let Some(folder) = folder.map(Path::to_path_buf) else { return };
        // It may be a thread with samples to deliver that met the member.
        let spawned = std::thread::Builder::new().name(String::from("lsl-met")).spawn(move || {
            if let Err(error) = add(&folder, ip) {
                log::info!("where a member was met is not remembered: {error}");
            }
        });
        if let Err(error) = spawned {
            log::info!("where a member was met is not remembered: {error}");
        }
    }
}

/// Whether an address means the same computer tomorrow, and from any of its programs.
fn is_elsewhere(ip: IpAddr) -> bool {
    let is_of_a_link = match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        // Worth nothing without its interface.
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    };
    !(ip.is_loopback() || ip.is_unspecified() || ip.is_multicast() || is_of_a_link)
}

/// Where members of the lab in `folder` were met, the latest first; nothing if none was.
pub fn read(folder: &Path) -> Vec<IpAddr> {
    let Some(lab) = lab(folder) else { return Vec::new() };
    let text = std::fs::read_to_string(folder.join(MET)).unwrap_or_default();
    let mut lines = text.lines();
    if lines.next() != Some(&heading(lab)) {
        return Vec::new();
    }
    let places = lines.filter_map(|line| line.trim().parse().ok());
    places.filter(|ip| is_elsewhere(*ip)).take(MOST).collect()
}

/// Adds an address to the file.
fn add(folder: &Path, ip: IpAddr) -> Result<(), TrustError> {
    let _held = held(folder);
    let mut stored = read(folder);
    if stored.contains(&ip) {
        return Ok(());
    }
    stored.insert(0, ip);
    write(folder, &stored)
}

/// Keeps other programs of this user from the list: one that meets another member at the same moment may undo no line.
fn held(folder: &Path) -> std::io::Result<std::fs::File> {
    let file = std::fs::File::open(folder.join(LAB))?;
    file.lock()?;
    Ok(file)
}

/// Forgets an address; says whether it was remembered.
///
/// - Errors: the file cannot be written.
pub fn forget(folder: &Path, ip: IpAddr) -> Result<bool, TrustError> {
    let _held = held(folder);
    let mut places = read(folder);
    let before = places.len();
    places.retain(|place| *place != ip);
    let was_there = places.len() < before;
    if was_there {
        write(folder, &places)?;
    }
    Ok(was_there)
}

fn write(folder: &Path, places: &[IpAddr]) -> Result<(), TrustError> {
    let Some(lab) = lab(folder) else { return Ok(()) };
    let mut text = heading(lab);
    text.push('\n');
    for place in places.iter().take(MOST) {
        let _ = writeln!(text, "{place}");
    }
    store::write_private(&folder.join(MET), text.as_bytes())
}

fn lab(folder: &Path) -> Option<LabId> {
    let key: [u8; 32] = std::fs::read(folder.join(LAB)).ok()?.try_into().ok()?;
    Lab::new(&key).map(|lab| lab.id())
}

fn heading(lab: LabId) -> String {
    let mut text = String::from("lab ");
    for byte in lab.0 {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The file.
pub const MET: &str = "lab.met";
/// Addresses that are remembered; each is asked at every port of the service range.
const MOST: usize = 32;

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use schwann_session::{AuthorityKey, SystemEntropy};

    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("schwann-met-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        found_lab(&folder);
        folder
    }

    fn found_lab(folder: &Path) {
        let authority = AuthorityKey::generate(&mut SystemEntropy).expect("a key");
        std::fs::write(folder.join(LAB), authority.lab().authority().0).expect("a lab");
    }

    fn ip(last: usize) -> IpAddr {
        IpAddr::from([10, 0, 1, u8::try_from(last).expect("small")])
    }

    #[test]
    fn members_are_remembered_the_latest_first_and_no_more_than_a_few() {
        let folder = folder("few");
        let places: Vec<_> = (0..MOST + 5).map(ip).collect();
        write(&folder, &places).expect("written");
        assert_eq!(read(&folder), places[..MOST]);
        assert_eq!(forget(&folder, ip(3)).ok(), Some(true));
        assert_eq!(forget(&folder, ip(3)).ok(), Some(false));
        assert!(!read(&folder).contains(&ip(3)));
        let _ = std::fs::remove_dir_all(&folder);
    }

    #[test]
    fn another_labs_members_are_nobodys() {
        let folder = folder("other");
        write(&folder, &[ip(1)]).expect("written");
        found_lab(&folder);
        assert!(read(&folder).is_empty());
        let _ = std::fs::remove_dir_all(&folder);
    }

    #[test]
    fn what_means_another_computer_elsewhere_is_not_remembered() {
        let met = Met::default();
        for text in ["127.0.0.1", "::1", "0.0.0.0", "fe80::1", "169.254.1.1", "::ffff:127.0.0.1", "224.0.0.1"]
        {
            met.note(text.parse().expect("an address"), None);
        }
        met.note("::ffff:10.0.1.1".parse().expect("an address"), None);
        met.note(ip(1), None);
        assert_eq!(met.places(), [ip(1)]);
    }
}
