//! Keys in files and bundles.
#![cfg(feature = "alloc")]

mod common;

use common::{DISCOVERY_KEY, NOW, Seeded, authority, certify};
use schwann_session::{
    Certificate, DeviceKey, Flags, PublicKey, RevocationError, RevocationList,
    keystore::{self, Bundle, Cost, KeyStoreError, Kind},
};
use zeroize::Zeroizing;

/// So little work that a test may do it often.
const CHEAP: Cost = Cost { memory_kib: 8, passes: 1, lanes: 1 };

#[test]
fn only_the_passphrase_opens_a_file() {
    let file = keystore::seal(Kind::Device, &[7; 32], b"correct horse", CHEAP, &mut Seeded(1)).unwrap();
    assert_eq!(keystore::kind_of(&file), Some(Kind::Device));
    let (kind, content) = keystore::open(&file, b"correct horse").unwrap();
    assert_eq!((kind, content.as_slice()), (Kind::Device, [7; 32].as_slice()));
    assert_eq!(keystore::open(&file, b"battery staple").err(), Some(KeyStoreError::WrongPassphrase));
    assert!(!file.windows(8).any(|part| part == [7; 8]), "the seed lies in the clear");
}

#[test]
fn every_changed_byte_of_a_file_is_refused() {
    let file = keystore::seal(Kind::Device, &[7; 32], b"secret", CHEAP, &mut Seeded(1)).unwrap();
    for at in 0..file.len() {
        let mut changed = file.clone();
        changed[at] ^= 0x01;
        assert!(keystore::open(&changed, b"secret").is_err(), "byte {at}");
        assert!(keystore::open(&file[..at], b"secret").is_err(), "cut at {at}");
    }
}

#[test]
fn a_file_cannot_ask_for_all_the_memory_there_is() {
    let mut file = keystore::seal(Kind::Device, &[7; 32], b"secret", CHEAP, &mut Seeded(1)).unwrap();
    file[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(keystore::open(&file, b"secret").err(), Some(KeyStoreError::Cost));
}

#[test]
fn an_empty_passphrase_is_refused() {
    let sealed = keystore::seal(Kind::Device, &[], b"", CHEAP, &mut Seeded(1));
    assert_eq!(sealed.err(), Some(KeyStoreError::EmptyPassphrase));
}

#[test]
fn a_bundle_carries_a_membership_whose_parts_belong_together() {
    let bundle = bundle();
    let parsed = Bundle::parse(&bundle.encode()).unwrap();
    assert_eq!(parsed.certificate, bundle.certificate);
    assert_eq!(parsed.device.public(), bundle.device.public());

    let foreign_key = Bundle { device: DeviceKey::from_seed(&[9; 32]), ..self::bundle() };
    assert!(Bundle::parse(&foreign_key.encode()).is_err());
    let foreign_discovery = Bundle { discovery: Zeroizing::new([1; 32]), ..self::bundle() };
    assert!(Bundle::parse(&foreign_discovery.encode()).is_err());
}

#[test]
fn a_key_on_the_list_puts_out_every_certificate_of_it() {
    // Python: int.from_bytes(sha256(b"schwann/1 revoked key" + bytes([7] * 32)).digest()[:8], "little") | 1 << 63
    assert_eq!(PublicKey([7; 32]).revocation_entry(), 0xA379_AB33_FBBA_4D46);

    let (gone, other) = (DeviceKey::from_seed(&[8; 32]), DeviceKey::from_seed(&[9; 32]));
    let entry = gone.public().revocation_entry();
    let list = RevocationList::sign(&authority(), 4, NOW, &DISCOVERY_KEY, &[entry, 3]).unwrap();
    assert_eq!(list.entries().collect::<Vec<_>>(), [3, entry]);
    let puts_out = |device, serial, flags| {
        list.puts_out(&certify(&authority(), device, serial, |it| it.flags = flags).statement)
    };
    assert!([1, 3, 2_000_000].into_iter().all(|serial| puts_out(&gone, serial, Flags::CLASSIC)));
    assert!(puts_out(&other, 3, Flags::NONE) && !puts_out(&other, 4, Flags::NONE));
    // One that came back is out only by its own serial.
    assert!(
        puts_out(&gone, 3, Flags::COME_BACK) && !puts_out(&gone, 4, Flags::COME_BACK.with(Flags::CLASSIC))
    );

    // No certificate can pass for the entry of a key, nor be taken for one.
    let serial = certify(&authority(), &other, entry, |_| {});
    assert!(Certificate::parse(&serial.encode()).is_err());
}

#[test]
fn a_revocation_list_is_believed_only_from_the_authority() {
    let lab = authority().lab();
    let list = RevocationList::sign(&authority(), 4, NOW, &DISCOVERY_KEY, &[9, 3, 3, 70]).unwrap();
    assert!([3, 9, 70].into_iter().all(|serial| list.contains(serial)));
    assert!([0, 4, 71].into_iter().all(|serial| !list.contains(serial)));
    assert!(list.commits_to(&DISCOVERY_KEY) && !list.commits_to(&[0; 32]));
    let bytes = list.as_bytes().to_vec();
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 0x40;
        assert!(RevocationList::parse(changed, &lab).is_err(), "byte {at}");
        assert!(RevocationList::parse(&bytes[..at], &lab).is_err(), "cut at {at}");
    }
    let longer = [bytes.as_slice(), &[0]].concat();
    assert_eq!(RevocationList::parse(longer, &lab).err(), Some(RevocationError::Malformed));
}

fn bundle() -> Bundle {
    let device = DeviceKey::from_seed(&[8; 32]);
    Bundle {
        certificate: certify(&authority(), &device, 12, |_| {}),
        device,
        discovery: Zeroizing::new(DISCOVERY_KEY),
        lab: authority().lab(),
        revoked: RevocationList::sign(&authority(), 1, NOW, &DISCOVERY_KEY, &[]).unwrap(),
    }
}
