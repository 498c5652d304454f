//! The keys on disk: which files there are, and how they become a [`Member`].

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use schwann_session::keystore::{self, Bundle, Cost, Kind};
use schwann_session::{
    Certificate, Credentials, CredentialsError, DeviceKey, Lab, RevocationList, SystemEntropy,
};
use zeroize::Zeroizing;

use super::files::{self, Files};
use super::member::{DiscoverySecret, Standing};
use super::permissions::check_private;
use super::{Member, TrustError};
use crate::{environment, sys};

/// The folder of this user's keys: `$SCHWANN_KEYS`, else `schwann` in the user's configuration folder.
pub fn folder() -> PathBuf {
    let set = |name| environment::variable(name).map(PathBuf::from);
    set("SCHWANN_KEYS")
        .or_else(|| sys::files::settings_folder(environment::variable).map(|folder| folder.join("schwann")))
        .unwrap_or_else(|| Path::new(sys::files::SYSTEM_SETTINGS).join("schwann"))
}

/// Whether this user has a key in `folder`.
///
/// - Errors: that cannot be told, or a member's key is gone. Neither may end sealing without a word.
pub(crate) fn is_installed(folder: &Path) -> Result<bool, TrustError> {
    let unseen = |reason| TrustError::File(folder.to_path_buf(), reason);
    if !is_folder(folder).map_err(unseen)? {
        return Ok(false);
    }
    let is_there = |name| {
        folder.join(name).try_exists().map_err(|error| {
            unseen(format!(
                "it cannot be looked into: {error}; make it yours, or name another folder in SCHWANN_KEYS"
            ))
        })
    };
    if is_there(DEVICE_KEY)? {
        return Ok(true);
    }
    if !is_there(CERTIFICATE)? && !is_there(LAB)? {
        return Ok(false);
    }
    let reason = "it is missing, although this computer is in a lab; put it back, or move the folder away and run \
                  `schwann keys join`";
    Err(TrustError::File(folder.join(DEVICE_KEY), String::from(reason)))
}

/// Whether the folder of the keys is there.
///
/// - Errors: why that cannot be told.
fn is_folder(folder: &Path) -> Result<bool, String> {
    match std::fs::metadata(folder) {
        Ok(found) if found.is_dir() => Ok(true),
        Ok(_) => Err(String::from("it is no folder; name the one with your keys in SCHWANN_KEYS")),
        Err(_) if folder.is_symlink() => {
            Err(String::from("it is a link to nowhere; mount what it leads to, or remove it"))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) if environment::variable("SCHWANN_KEYS").is_some() => {
            Err(format!("it cannot be looked at: {error}"))
        }
        // Where no one said that there are keys, a home that is closed to this user is none of its own.
        Err(_) => Ok(false),
    }
}

/// Reads this device's membership.
pub(crate) fn member(folder: &Path) -> Result<Member, TrustError> {
    if !folder.join(CERTIFICATE).exists() {
        let reason = "this key has no certificate yet; `schwann keys new-device NAME` shows the request for it, \
                      `schwann keys issue` on the lab's computer grants it, and `schwann keys trust` installs it here";
        return Err(TrustError::File(folder.join(DEVICE_KEY), String::from(reason)));
    }
    // First of all: what is replaced while it is read here is seen as new later.
    let files = Files::new(folder);
    let lab = read_array::<32>(&folder.join(LAB))?;
    let lab = Lab::new(&lab).ok_or_else(|| damaged(&folder.join(LAB)))?;
    let key = device_key(&folder.join(DEVICE_KEY))?;
    let credentials = Credentials::new(key, certificate(folder)?, &mut SystemEntropy)
        .map_err(|error| mismatch(folder, error))?;
    let (revoked, discovery) = read_list(folder, &lab)?;
    let standing = Standing::new(revoked, discovery, files::read_former(folder));
    Ok(Member::with(lab, credentials, standing, Some(files)))
}

/// Reads this device's proof after its certificate was replaced, and its key if that is new as well. Nothing if the
/// certificate is the present one.
///
/// - Errors: what is wrong with the files, or the certificate is another lab's.
pub(super) fn renewed(
    folder: &Path,
    lab: &Lab,
    present: &Credentials,
) -> Result<Option<Credentials>, TrustError> {
    let certificate = certificate(folder)?;
    if certificate.encode() == present.certificate().encode() {
        return Ok(None);
    }
    certificate.verify(lab).map_err(TrustError::Certificate)?;
    let is_rekeyed = certificate.statement.device != present.certificate().statement.device;
    let key = is_rekeyed.then(|| device_key(&folder.join(DEVICE_KEY))).transpose()?;
    present.renewed(key, certificate).map(Some).map_err(|error| mismatch(folder, error))
}

fn certificate(folder: &Path) -> Result<Certificate, TrustError> {
    let path = folder.join(CERTIFICATE);
    Certificate::parse(&read_array(&path)?).map_err(|_| damaged(&path))
}

fn mismatch(folder: &Path, error: CredentialsError) -> TrustError {
    let reason = format!(
        "{error}; run `schwann keys issue` for this device, or `schwann keys rotate` if it is the lab's own"
    );
    TrustError::File(folder.join(CERTIFICATE), reason)
}

/// Reads the revocation list and its discovery key, which another program may be about to replace.
fn read_list(folder: &Path, lab: &Lab) -> Result<ListAndKey, TrustError> {
    let mut attempt = files::read_pair(folder, lab);
    for _ in 0..REPLACING_LOOKS {
        if attempt.is_ok() {
            break;
        }
        std::thread::sleep(REPLACING_PAUSE);
        attempt = files::read_pair(folder, lab);
    }
    attempt
}

fn device_key(path: &Path) -> Result<DeviceKey, TrustError> {
    let seed = private(path, Kind::Device)?;
    seed.as_slice().try_into().map(DeviceKey::from_seed).map_err(|_| damaged(path))
}

/// Reads a private key: unprotected, unlocked for this session, with the passphrase of the environment, or with that in the
/// system's keyring.
///
/// - Errors: [`TrustError::Locked`] without a passphrase; what is wrong with the file.
pub fn private(path: &Path, kind: Kind) -> Result<Zeroizing<Vec<u8>>, TrustError> {
    check_private(path)?;
    let bytes = Zeroizing::new(read(path)?);
    if let Some(seed) = bytes.strip_prefix(UNPROTECTED) {
        return Ok(Zeroizing::new(seed.to_vec()));
    }
    if let Some(seed) = unlocked(path, &bytes) {
        return Ok(seed);
    }
    if let Some(passphrase) = passphrase()? {
        return open(path, &bytes, kind, &passphrase);
    }
    let opened = remembered(path).and_then(|passphrase| open(path, &bytes, kind, &passphrase).ok());
    opened.ok_or_else(|| TrustError::Locked(path.to_path_buf()))
}

/// The passphrase in a keyring that every program of the user can ask.
fn remembered(path: &Path) -> Option<Zeroizing<Vec<u8>>> {
    let is_there = path.with_file_name(REMEMBERED).exists();
    // The authority's key has the same passphrase where both were made together.
    is_there.then(|| keyring_secret(&keyring_name(&path.with_file_name(DEVICE_KEY))).ok().flatten()).flatten()
}

/// What the passphrase of a device's key is called in the system's keyring.
pub fn keyring_name(key: &Path) -> String {
    let path = std::path::absolute(key).unwrap_or_else(|_| key.to_path_buf());
    path.display().to_string()
}

/// A secret in the keyring of macOS or Windows. Elsewhere there is none that every program could ask.
///
/// - Errors: what the keyring says.
pub fn keyring_secret(name: &str) -> Result<Option<Zeroizing<Vec<u8>>>, String> {
    sys::keyring::get(name)
}

/// Opens a protected file.
///
/// - Errors: a wrong passphrase, or a damaged file.
pub fn open(
    path: &Path,
    bytes: &[u8],
    kind: Kind,
    passphrase: &[u8],
) -> Result<Zeroizing<Vec<u8>>, TrustError> {
    match keystore::open(bytes, passphrase) {
        Ok((found, content)) if found == kind => Ok(content),
        Ok(_) => Err(damaged(path)),
        Err(error) => Err(TrustError::File(path.to_path_buf(), error.to_string())),
    }
}

/// The passphrase of an unattended machine: `$SCHWANN_PASSPHRASE`, else the file that
/// `$SCHWANN_PASSPHRASE_FILE` names.
///
/// The variable can be read by this user's other processes; the file by every user with read permission.
/// - Errors: the file cannot be read.
pub fn passphrase() -> Result<Option<Zeroizing<Vec<u8>>>, TrustError> {
    if let Some(text) = environment::variable("SCHWANN_PASSPHRASE") {
        return Ok(Some(Zeroizing::new(text.into_encoded_bytes())));
    }
    let Some(path) = environment::variable("SCHWANN_PASSPHRASE_FILE").map(PathBuf::from) else {
        return Ok(None);
    };
    check_private(&path)?;
    let text = Zeroizing::new(read(&path)?);
    Ok(Some(Zeroizing::new(text.trim_ascii_end().to_vec())))
}

/// Where an unlocked key lies until the user has logged out or the computer restarts: in memory, for this user alone.
fn unlocked_path(path: &Path) -> Option<PathBuf> {
    let memory = sys::files::memory_folder(environment::variable)?;
    // One per key folder: the name is its path, with other letters in place of what no name may have.
    let mut name = String::new();
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    for letter in path.to_string_lossy().chars() {
        match letter {
            '/' | '\\' => name.push('-'),
            letter if letter.is_alphanumeric() || letter == '.' => name.push(letter),
            letter => name.push_str(&format!("~{:x}", u32::from(letter))),
        }
    }
    Some(memory.join("schwann").join(name))
}

/// The key in the protected file at `path`, whose bytes these are, if it was opened. One that was opened before the file was
/// replaced is another.
fn unlocked(path: &Path, bytes: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let unlocked = unlocked_path(path)?;
    check_private(&unlocked).ok()?;
    let content = Zeroizing::new(std::fs::read(unlocked).ok()?);
    content.strip_prefix(bytes).filter(|seed| !seed.is_empty()).map(|seed| Zeroizing::new(seed.to_vec()))
}

/// Keeps an opened key in memory for this user's programs, until the user has logged out or the computer restarts.
///
/// - Errors: there is no such place on this system, or it cannot be written.
pub fn unlock(path: &Path, seed: &[u8]) -> Result<(), TrustError> {
    let no_place = || {
        let reason = format!(
            "there is no place in memory for an open key: {}, or give programs the passphrase in \
             SCHWANN_PASSPHRASE_FILE",
            sys::files::NO_MEMORY_FOLDER
        );
        TrustError::File(path.to_path_buf(), reason)
    };
    let place = unlocked_path(path).ok_or_else(no_place)?;
    // Behind the protected bytes, which tell whether it is still this file's.
    let content = Zeroizing::new([&read(path)?, seed].concat());
    write_private(&place, &content)
}

/// Writes a private key, protected by a passphrase or, without one, by the file's mode alone.
///
/// - Errors: the file cannot be written, or the passphrase is empty.
pub fn write_key(path: &Path, seed: &[u8], kind: Kind, passphrase: Option<&[u8]>) -> Result<(), TrustError> {
    let bytes = Zeroizing::new(match passphrase {
        None => [UNPROTECTED, seed].concat(),
        Some(passphrase) => keystore::seal(kind, seed, passphrase, Cost::default(), &mut SystemEntropy)
            .map_err(|error| TrustError::File(path.to_path_buf(), error.to_string()))?,
    });
    write_private(path, &bytes)
}

/// Installs a membership: everything but the private key lies open.
///
/// - Errors: a file cannot be written.
pub fn install(folder: &Path, bundle: &Bundle, passphrase: Option<&[u8]>) -> Result<(), TrustError> {
    install_member(folder, bundle, passphrase)?;
    // At last: with it, a lab counts as installed.
    write_private(&folder.join(LAB), &bundle.lab.authority().0)
}

/// Installs a membership but for [`LAB`], which makes it count.
///
/// - Errors: a file cannot be written.
pub fn install_member(folder: &Path, bundle: &Bundle, passphrase: Option<&[u8]>) -> Result<(), TrustError> {
    write_private(&folder.join(CERTIFICATE), &bundle.certificate.encode())?;
    files::install(folder, &bundle.lab, &bundle.revoked, &bundle.discovery)?;
    write_key(&folder.join(DEVICE_KEY), bundle.device.seed().as_slice(), Kind::Device, passphrase)
}

/// Writes a file that only this user can read, all or nothing.
///
/// - Errors: the file cannot be written.
pub fn write_private(path: &Path, bytes: &[u8]) -> Result<(), TrustError> {
    let write = || {
        if let Some(folder) = path.parent() {
            sys::files::create_private_folder(folder)?;
        }
        // A name of its own: several programs may write the same file at the same time.
        static WRITTEN: AtomicU64 = AtomicU64::new(0);
        let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
        let fresh = path.with_added_extension(format!("{}-{number}.new", std::process::id()));
        let _ = std::fs::remove_file(&fresh);
        let mut file = private_file(&fresh)?;
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        let moved = written.and_then(|()| std::fs::rename(&fresh, path));
        moved.inspect_err(|_| {
            let _ = std::fs::remove_file(&fresh);
        })
    };
    write().map_err(|error| unwritable(path.to_path_buf(), &error))
}

pub(super) fn unwritable(path: PathBuf, error: &std::io::Error) -> TrustError {
    TrustError::File(path, format!("cannot be written: {error}{}", what_helps(error.kind())))
}

/// What makes a file writable, behind the reason why it is not.
fn what_helps(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "; make room on that disk, and run this again",
        ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied => {
            "; make the folder writable for you, or name another one in SCHWANN_KEYS, and run this again"
        }
        _ => "",
    }
}

fn private_file(path: &Path) -> std::io::Result<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    sys::files::make_private(&mut options);
    options.open(path)
}

/// Reads a file of the key folder.
///
/// - Errors: why it cannot be read.
pub fn read(path: &Path) -> Result<Vec<u8>, TrustError> {
    std::fs::read(path).map_err(|error| unreadable(path, &error))
}

fn read_array<const LEN: usize>(path: &Path) -> Result<[u8; LEN], TrustError> {
    read(path)?.try_into().map_err(|_| damaged(path))
}

pub(super) fn unreadable(path: &Path, error: &std::io::Error) -> TrustError {
    TrustError::File(path.to_path_buf(), format!("{error}; run `schwann keys status`"))
}

/// What to say of a file of the key folder that cannot be what it should be.
pub fn damaged(path: &Path) -> TrustError {
    let reason = String::from(
        "the file is damaged; move it away and run `schwann keys join`, or on the lab's own computer `schwann keys recover`",
    );
    TrustError::File(path.to_path_buf(), reason)
}

type ListAndKey = (RevocationList<Vec<u8>>, DiscoverySecret);

/// This device's private key.
pub const DEVICE_KEY: &str = "device.key";
/// What the lab's authority says about this device.
pub const CERTIFICATE: &str = "device.certificate";
/// The public key of the lab's authority.
pub const LAB: &str = "lab.public";
/// The signed list of devices that are out.
pub const REVOKED: &str = "lab.revoked";
/// The key under which the lab's streams are found.
pub const DISCOVERY: &str = "lab.discovery";
/// The keys under which they were found before, for members who were away.
pub const FORMER: &str = "lab.discovery.former";
/// The private key of the lab's authority, where it is kept.
pub const AUTHORITY: &str = "authority.key";
/// Says, beside the keys, that the system's keyring holds the passphrase. A keyring that was given none is not asked: it might open
/// a window.
pub const REMEMBERED: &str = "device.remembered";
/// How a private key begins that no passphrase protects; its seed follows.
pub const UNPROTECTED: &[u8] = b"schwann key, unprotected\n";

/// Looks at a list that does not fit its key: replacing both takes a moment.
const REPLACING_LOOKS: u32 = 10;
const REPLACING_PAUSE: Duration = Duration::from_millis(20);
