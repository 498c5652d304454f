//! Intel's library for IPsec, loaded if the system has it (Debian: `libipsec-mb1`) or `SCHWANN_IPSEC_MB` names it.
//!
//! Its functions stand in a structure whose layout changes between versions, so only version 1.3 takes part. It has no
//! call for a batch of this cipher there; its jobs, one message each, are done when they are handed in.
#![allow(unsafe_code, reason = "calls a C library by its structures")]

use core::ffi::{CStr, c_char, c_void};
use core::ptr;

use libloading::Library;

use super::workload::{KEY, Workload};
use super::{Contender, peers::ct_equal};
use crate::ffi::symbol;

/// The library, and one of its managers.
pub(super) struct IpsecMb {
    manager: *mut Manager,
    free: unsafe extern "C" fn(*mut Manager),
    version: String,
    _library: Library,
}

impl IpsecMb {
    /// Loads the library; says why not, if it cannot take part.
    pub(super) fn load() -> Result<Self, String> {
        let file = std::env::var("SCHWANN_IPSEC_MB").unwrap_or_else(|_| "libIPSec_MB.so.1".to_owned());
        let said = |error: libloading::Error| error.to_string();
        // SAFETY: loading runs the initialisers of a library that the user names or the system has.
        let library = unsafe { Library::new(&file) }.map_err(said)?;
        let version: unsafe extern "C" fn() -> *const c_char =
            symbol(&library, "imb_get_version_str").map_err(said)?;
        let allocate: unsafe extern "C" fn(u64) -> *mut Manager =
            symbol(&library, "alloc_mb_mgr").map_err(said)?;
        let choose: unsafe extern "C" fn(*mut Manager, *mut c_void) =
            symbol(&library, "init_mb_mgr_auto").map_err(said)?;
        let free = symbol(&library, "free_mb_mgr").map_err(said)?;
        // SAFETY: takes nothing; gives a static NUL-terminated string.
        let version = unsafe { version() };
        // SAFETY: as above; never null.
        let version = unsafe { CStr::from_ptr(version) }.to_string_lossy().into_owned();
        if !version.trim_start_matches('v').starts_with("1.3") {
            return Err(format!("{file} is version {version}; the layout of 1.3 alone is known"));
        }
        // SAFETY: no flag; gives a new manager or null.
        let manager = unsafe { allocate(0) };
        if manager.is_null() {
            return Err(format!("{file} has no memory for its manager"));
        }
        // SAFETY: a manager of ours; null means that the chosen instructions are not asked for.
        unsafe { choose(manager, ptr::null_mut()) };
        Ok(Self { manager, free, version, _library: library })
    }

    /// Seals or opens in place, and computes the tag.
    fn run(&self, encrypt: bool, index: usize, aad: &[u8], text: &mut [u8]) -> [u8; 16] {
        let nonce = Workload::nonce(index);
        let mut tag = [0; 16];
        let length = text.len() as u64;
        let text = text.as_mut_ptr();
        let job = Job {
            keys: [KEY.as_ptr(); 2],
            key_length: 32,
            from: text,
            to: text,
            cipher: [0, length],
            hash: [0, length],
            nonce: nonce.as_ptr(),
            nonce_length: 12,
            tag: tag.as_mut_ptr(),
            tag_length: 16,
            aad: aad.as_ptr(),
            aad_length: aad.len() as u64,
            context: ptr::null_mut(),
            status: 0,
            cipher_mode: CIPHER_CHACHA20_POLY1305,
            direction: if encrypt { 1 } else { 2 },
            hash_algorithm: AUTH_CHACHA20_POLY1305,
            order: if encrypt { 1 } else { 2 },
        };
        // SAFETY: the manager is live and initialised, so its functions are set.
        let Manager { get_next_job, submit_job_nocheck, .. } = unsafe { &*self.manager };
        // SAFETY: gives a free job of the manager's own, which is at least this long.
        let place = unsafe { get_next_job(self.manager) };
        // SAFETY: as above, aligned as C does.
        unsafe { place.write(job) };
        // SAFETY: every pointer of the job is valid for its length until the job is done: now.
        let done = unsafe { submit_job_nocheck(self.manager) };
        assert!(!done.is_null(), "ipsec-mb does such a job at once");
        // SAFETY: a job that the manager gives back stays readable until the next is taken.
        let status = unsafe { (*done).status };
        assert_eq!(status, COMPLETED, "ipsec-mb completes a job that is well formed");
        tag
    }
}

impl Contender for IpsecMb {
    fn name(&self) -> String {
        format!("ipsec-mb {}", self.version)
    }

    fn seal(&mut self, work: &mut Workload) {
        let Workload { data, places, aad, .. } = work;
        for (index, place) in places.iter().enumerate() {
            let tag = self.run(true, index, aad, &mut data[place.clone()]);
            data[place.end..place.end + 16].copy_from_slice(&tag);
        }
    }

    fn open(&mut self, work: &mut Workload) -> bool {
        let Workload { data, places, aad, .. } = work;
        places.iter().enumerate().all(|(index, place)| {
            let tag = self.run(false, index, aad, &mut data[place.clone()]);
            ct_equal(&tag, &data[place.end..place.end + 16])
        })
    }
}

impl Drop for IpsecMb {
    fn drop(&mut self) {
        // SAFETY: allocated by the same library, freed once.
        unsafe { (self.free)(self.manager) };
    }
}

/// The beginning of `IMB_MGR`. Source: intel-ipsec-mb.h 1.3.
#[repr(C)]
struct Manager {
    _state: [u64; 8],
    get_next_job: unsafe extern "C" fn(*mut Self) -> *mut Job,
    _submit_job: unsafe extern "C" fn(*mut Self) -> *mut Job,
    submit_job_nocheck: unsafe extern "C" fn(*mut Self) -> *mut Job,
}

/// The beginning of `IMB_JOB`. Source: intel-ipsec-mb.h 1.3.
#[repr(C)]
struct Job {
    /// To encrypt and to decrypt with.
    keys: [*const u8; 2],
    key_length: u64,
    from: *const u8,
    to: *mut u8,
    /// Offset and length.
    cipher: [u64; 2],
    /// Offset and length.
    hash: [u64; 2],
    nonce: *const u8,
    nonce_length: u64,
    tag: *mut u8,
    tag_length: u64,
    aad: *const u8,
    aad_length: u64,
    context: *mut c_void,
    status: u32,
    cipher_mode: u32,
    direction: u32,
    hash_algorithm: u32,
    order: u32,
}

const CIPHER_CHACHA20_POLY1305: u32 = 19;
const AUTH_CHACHA20_POLY1305: u32 = 29;
const COMPLETED: u32 = 3;

#[cfg(test)]
mod tests {
    use core::mem::offset_of;

    use super::*;

    #[test]
    fn the_layouts_are_those_of_version_1_3() {
        let manager = [offset_of!(Manager, get_next_job), offset_of!(Manager, submit_job_nocheck)];
        assert_eq!(manager, [64, 80]);
        let job = [
            offset_of!(Job, from),
            offset_of!(Job, cipher),
            offset_of!(Job, hash),
            offset_of!(Job, nonce),
            offset_of!(Job, tag),
            offset_of!(Job, aad),
            offset_of!(Job, status),
            offset_of!(Job, order),
        ];
        assert_eq!(job, [24, 40, 56, 72, 88, 104, 128, 144]);
    }
}
