"""Reads the messages of docs/spec/vectors/relay.json by the specification alone, with other people's cryptography.

Usage: relay_vectors.py
"""

import hashlib
import hmac
import json
import pathlib
import struct

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

FILE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "spec" / "vectors" / "relay.json"
VECTORS = {name: bytes.fromhex(digits) for name, digits in json.loads(FILE.read_text()).items()}
LAB, STREAM, RUN = slice(4, 20), slice(20, 36), slice(36, 52)


def sha256(*parts: bytes) -> bytes:
    return hashlib.sha256(b"".join(parts)).digest()


def verify(message: bytes, device: bytes) -> bytes:
    """Checks a message's signature (relay §1.3), and returns what it covers."""
    body, signature = message[:-64], message[-64:]
    domain = b"schwann/1 relay " + message[:3] + bytes(5)
    Ed25519PublicKey.from_public_bytes(device).verify(signature, domain + sha256(body))
    return body


def device_of(certificate: bytes, role: int, authority: bytes) -> bytes:
    """The key of the device that the lab certified (secure-session §2.2)."""
    assert certificate[:4] == b"SCC\1" and certificate[4] & role and certificate[32:48] == sha256(authority)[:16]
    Ed25519PublicKey.from_public_bytes(authority).verify(certificate[128:], b"schwann/1 certificate" + certificate[:128])
    return certificate[48:80]


def run_key(epoch_key: bytes, label: bytes, announcement: bytes) -> bytes:
    """The key of a run's blocks or descriptions (relay §3)."""
    info = label + announcement[LAB] + announcement[STREAM] + announcement[RUN] + announcement[52:56]
    return HKDF(hashes.SHA256(), 32, None, info).derive(epoch_key)


def description_of(message: bytes, device: bytes, epoch_key: bytes) -> bytes:
    """The description of a stream that its device announces (relay §5)."""
    verify(message, device)
    drawn = message[36:44]
    assert message[44:52] == sha256(b"schwann/1 relay run name", message[STREAM], device, drawn)[:8], "the run is another device's"
    length, = struct.unpack_from("<I", message, 312)
    key = run_key(epoch_key, b"schwann/1 relay description", message)
    return ChaCha20Poly1305(key).decrypt(bytes(12), message[316:332 + length], message[:316])


def extract(salt: bytes, keying: bytes) -> bytes:
    return hmac.digest(salt, keying, "sha256")


def expand(key: bytes, info: bytes, length: int) -> bytes:
    return hmac.digest(key, info + b"\1", "sha256")[:length]


def shared_secret(seed: bytes, encapsulated: bytes) -> tuple[bytes, bytes]:
    """What X-Wing gives both ends (draft-connolly-cfrg-xwing-kem-06 §5), and the public key of the key pair that the seed makes
    (draft-ietf-hpke-pq, DeriveKeyPair)."""
    suite = b"KEM" + bytes.fromhex("647a")
    labelled = seed + b"HPKE-v1" + suite + struct.pack(">H", 13) + b"DeriveKeyPair" + struct.pack(">H", 32)
    secret = hashlib.shake_256(labelled).digest(32)
    expanded = hashlib.shake_256(secret).digest(96)
    lattice, curve = MLKEM768PrivateKey.from_seed_bytes(expanded[:64]), X25519PrivateKey.from_private_bytes(expanded[64:])
    curve_public = curve.public_key().public_bytes_raw()
    of_lattice = lattice.decapsulate(encapsulated[:1088])
    of_curve = curve.exchange(X25519PublicKey.from_public_bytes(encapsulated[1088:]))
    both = hashlib.sha3_256(of_lattice + of_curve + encapsulated[1088:] + curve_public + bytes.fromhex("5c2e2f2f5e5c")).digest()
    return both, lattice.public_key().public_bytes_raw() + curve_public


def unwrapped(message: bytes, device: bytes, seed: bytes) -> bytes:
    """The epoch key that is wrapped for the member (relay §6): HPKE in base mode (RFC 9180 §5.1), single shot."""
    body = verify(message, device)
    count, = struct.unpack_from("<H", message, 64)
    entries = [body[68 + at:68 + at + 1184] for at in range(0, 1184 * count, 1184)]
    for entry in entries:
        shared, public = shared_secret(seed, entry[16:1136])
        if entry[:16] != sha256(public)[:16]:
            continue
        suite = b"HPKE" + bytes.fromhex("647a00010003")
        label = lambda name: b"HPKE-v1" + suite + name
        context = b"\0" + extract(b"", label(b"psk_id_hash")) + extract(b"", label(b"info_hash") + b"schwann/1 relay key")
        secret = extract(shared, label(b"secret"))
        make = lambda name, length: expand(secret, struct.pack(">H", length) + label(name) + context, length)
        return ChaCha20Poly1305(make(b"key", 32)).decrypt(make(b"base_nonce", 12), entry[1136:], message[:56] + entry[:16])
    raise AssertionError("no key is wrapped for this member")


def opened(block: bytes, device: bytes, announcement: bytes, epoch_key: bytes) -> bytes:
    """What a block holds (relay §4)."""
    verify(block, device)
    assert (block[8:24], block[24:40], block[40:56]) == (announcement[LAB], announcement[STREAM], announcement[RUN])
    length, = struct.unpack_from("<I", block, 112)
    nonce = bytes(4) + block[64:72]
    key = run_key(epoch_key, b"schwann/1 relay block", announcement)
    return ChaCha20Poly1305(key).decrypt(nonce, block[116:132 + length], block[:116])


def read(vectors: dict[str, bytes]) -> None:
    """Every message is what the specification says, and they belong together."""
    announcement, recorder, authority = (vectors[name] for name in ("announcement", "recorder's wrapping key message", "authority"))
    receiver = device_of(recorder[4:196], 2, authority)
    verify(recorder, receiver)
    device = device_of(announcement[64:256], 1, authority)
    seed = vectors["seed of the recorder's wrapping key"]
    epoch_key = unwrapped(vectors["wrapped keys"], device, seed)
    assert epoch_key == vectors["epoch key"]
    description = description_of(announcement, device, epoch_key)
    assert description == b"<info><name>Vector</name></info>"
    # The hash before block 0 names the run.
    before = sha256(b"schwann/1 relay run", announcement[LAB], announcement[STREAM], announcement[RUN], device, sha256(description))
    samples = 0
    contents = [("block 0", 0, b"one sample", 1), ("block 1", 0, b"two more samples", 2), ("end", 1, b"", 0)]
    for number, (name, kind, content, count) in enumerate(contents):
        block = vectors[name]
        assert opened(block, device, announcement, epoch_key) == content, name
        assert block[:8] == b"SRB\1" + bytes([kind, 0, 0, 0]) and struct.unpack_from("<IQQ", block, 60) == (count, number, samples), name
        assert block[80:112] == before, name
        before, samples = sha256(block), samples + count
    for name, magic, role, signer, last in (("receipt", b"SRR\1", 2, receiver, sha256(vectors["block 1"])),
                                            ("hole request", b"SRH\1", 2, receiver, bytes(32)), ("loss", b"SRL\1", 1, device, bytes(32))):
        note = vectors[name]
        assert note[:4] == magic and device_of(note[52:244], role, authority) == signer, name
        verify(note, signer)
        assert struct.unpack_from("<QIQQ", note, 244) == (1_767_225_600_000, 1, 0, 1) and note[272:304] == last, name
    for name, role, signer, kind, numbers in (("clock probe", 2, receiver, 0, (0.0,) * 6 + (0, 0.0)), ("clock answer", 1, device, 1, ANSWER)):
        message = vectors[name]
        assert message[:4] == b"SRC\1" and device_of(message[52:244], role, authority) == signer, name
        body = verify(message, signer)
        assert body[244:268] == bytes([kind]) + bytes(7) + b"\xc1" * 16 and struct.unpack("<6dQd", body[268:]) == numbers, name
        assert body[4:52] == announcement[4:52], name


# As in relay §12: times of the edge, offset and bound of the stream, the wall clock, which no time service bounds, and the backlog.
ANSWER = (1000.25, 1000.5, -7.5, 0.125, 1_767_225_600.5, float("inf"), 12, 2.5)


def main() -> None:
    read(VECTORS)
    # This reader sees a flipped bit anywhere in what is signed, sealed or secret.
    flips = 0
    for name, message in VECTORS.items():
        for at in range(len(message)):
            altered = message[:at] + bytes([message[at] ^ 1 << at % 8]) + message[at + 1:]
            try:
                read(VECTORS | {name: altered})
            except (AssertionError, InvalidSignature, InvalidTag, ValueError):
                flips += 1
                continue
            raise SystemExit(f"FAILED: byte {at} of {name} may be anything")
    print(f"ok: {len(VECTORS)} vectors of the relay read by the specification alone; {flips} flipped bits seen")


if __name__ == "__main__":
    main()
