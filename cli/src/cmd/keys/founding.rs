//! The machine on which a lab is founded: its first member, with the authority's key.

use std::io::{self, Write as _};

use schwann::security::keys::alone;
use schwann::security::keys::store::{self, AUTHORITY, DEVICE_KEY, LAB};
use schwann_session::keystore::{Bundle, Kind};
use schwann_session::{AuthorityKey, DeviceKey, Lab, RevocationList, Roles, SystemEntropy};
use zeroize::Zeroizing;

use super::{Keys, OWN_DAYS, failed, now, statement};
use crate::exit::{Exit, Outcome, Problem};
use crate::sys;

impl Keys {
    pub(super) fn init(&self, name: &str) -> Outcome {
        self.needs_no_lab()?;
        self.refuse_number(name)?;
        let authority = AuthorityKey::generate(&mut SystemEntropy).map_err(failed)?;
        let bundle = first_member(&authority, name)?;
        let passphrase = self.new_passphrase("a passphrase for the lab's keys")?;
        let passphrase = passphrase.as_ref().map(|passphrase| passphrase.as_slice());
        let alone = alone(&self.folder).map_err(failed)?;
        // Another command may have founded one meanwhile.
        self.needs_no_lab()?;
        self.write_lab(&authority, &bundle, passphrase)?;
        drop(alone);
        self.tell_founded(&bundle.lab, passphrase.is_some())?;
        super::plain::offer()?;
        Ok(Exit::Good)
    }

    /// Writes all that a lab is made of. If it is broken off, the next `init` begins anew.
    fn write_lab(
        &self,
        authority: &AuthorityKey,
        bundle: &Bundle,
        passphrase: Option<&[u8]>,
    ) -> Result<(), Problem> {
        let founding = self.path(FOUNDING);
        store::write_private(&founding, &bundle.lab.authority().0).map_err(failed)?;
        let written =
            store::write_key(&self.path(AUTHORITY), authority.seed().as_slice(), Kind::Authority, passphrase);
        if written.is_err() {
            // Nothing was begun: its error says more than that this cannot be taken back.
            let _ = std::fs::remove_file(&founding);
        }
        written.map_err(failed)?;
        self.record(&bundle.certificate)?;
        store::install_member(&self.folder, bundle, passphrase).map_err(failed)?;
        // At last, and at once: the lab counts as installed, and not as being founded.
        std::fs::rename(&founding, self.path(LAB)).map_err(failed)
    }

    fn tell_founded(&self, lab: &Lab, is_protected: bool) -> io::Result<()> {
        let mut out = io::stdout().lock();
        writeln!(out, "The lab is founded, and this computer is its first member.")?;
        writeln!(out, "  lab        {}", lab.authority().fingerprint())?;
        writeln!(out, "  keys       {}", self.folder.display())?;
        if is_protected {
            writeln!(out, "{}", sys::files::OPEN_KEY)?;
        }
        writeln!(out, "Streams of this computer are sealed from now on. For the other computers, one of:")?;
        writeln!(
            out,
            "  schwann keys invite                shows six words; `schwann keys join` on the other computer"
        )?;
        writeln!(
            out,
            "  schwann keys export lab.bundle     then `schwann keys import lab.bundle` elsewhere"
        )?;
        writeln!(out, "  schwann keys new-device NAME       on another computer, without a network between")
    }

    fn needs_no_lab(&self) -> Result<(), Problem> {
        let there = |name| self.path(name).exists();
        let why = match (there(LAB), there(AUTHORITY), there(DEVICE_KEY)) {
            (true, ..) => "a lab is installed here already; `schwann keys status` tells which",
            // An earlier `init` was broken off: it had told no one of a lab.
            _ if there(FOUNDING) => return Ok(()),
            (_, true, _) => LAB_LOST,
            (_, _, true) => {
                "this computer has a key for another lab's certificate; `schwann keys trust` installs that; for a lab of its \
                 own, put this folder away first"
            }
            _ => return Ok(()),
        };
        Err(Problem::with(self.folder.display(), why))
    }

    /// Whether a lab was founded here whose public key is gone.
    pub(super) fn has_lost_lab(&self) -> bool {
        !self.path(LAB).exists() && self.path(AUTHORITY).exists() && !self.path(FOUNDING).exists()
    }
}

/// The keys of the machine on which a lab is founded.
fn first_member(authority: &AuthorityKey, name: &str) -> Result<Bundle, Problem> {
    let device = DeviceKey::generate(&mut SystemEntropy).map_err(failed)?;
    let mut discovery = Zeroizing::new([0; 32]);
    getrandom::fill(discovery.as_mut_slice()).map_err(failed)?;
    let revoked = RevocationList::sign(authority, 1, now(), &discovery, &[]).map_err(failed)?;
    let certificate = authority.certify(statement(device.public(), name, 1, OWN_DAYS, Roles::BOTH)?);
    Ok(Bundle { certificate, device, discovery, lab: authority.lab(), revoked })
}

/// What is said where [`Keys::has_lost_lab`] holds.
pub(super) const LAB_LOST: &str = "lab.public is missing beside the authority of a lab; put it back, or run `schwann keys recover` with the lab's sheet; for \
     another lab, put this folder away first";
/// Beside the keys while a lab is being founded: if it stays, that was broken off.
const FOUNDING: &str = "lab.founding";
