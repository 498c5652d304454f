"""Writes the seeds of the targets from the captured exchanges of proto/tests/vectors and fieldtrip/tests/vectors.

Run it from the repository's root. Targets that begin with bytes of their own (which layout, where to cut) get
them in front of the captured ones.
"""

import hashlib
import json
import pathlib
import zlib

FORMATS = ["float32", "double64", "string", "int32", "int16", "int8", "int64"]
VECTORS = pathlib.Path("proto/tests/vectors")
CORPUS = pathlib.Path("fuzz/corpus")
LARGEST = 2048


def save(target: str, data: bytes) -> None:
    if 2 < len(data) <= LARGEST:
        folder = CORPUS / target
        folder.mkdir(parents=True, exist_ok=True)
        (folder / hashlib.sha1(data).hexdigest()[:16]).write_bytes(data)


def steps(pattern: str):
    for path in sorted(VECTORS.glob(pattern)):
        for step in json.loads(path.read_text())["steps"]:
            yield path.stem, step["dir"], bytes.fromhex(step["hex"])


for name, direction, data in steps("outlet_feed1*.json"):
    form = next((f for f in FORMATS if f in name), "float32")
    choice = FORMATS.index(form)
    if direction == "script->lib":
        save("lsl_request", b"\x80" + data)
    elif "feed100" in name:
        save("lsl_archive", data if data.startswith(b"\x7f") else bytes([choice, 3]) + data.removeprefix(b"\0\0"))
    elif not data.startswith(b"LSL/"):
        save("lsl_sample", bytes([choice | (8 if name.endswith("_be") else 0), 3]) + data)
for _, direction, data in steps("outlet_feed_errors.json"):
    if direction == "script->lib":
        save("lsl_request", b"\x40" + data)
for _, direction, data in steps("outlet_tcp_info.json"):
    if direction == "script->lib":
        save("lsl_request", b"\xff" + data)
for _, direction, data in steps("inlet_feed*.json"):
    if direction == "script->lib" and data.startswith((b"LSL/", b"HTTP")):
        save("lsl_response", b"\x80" + data)
for _, _, data in steps("*udp*.json"):
    save("lsl_datagram", data)
for _, _, data in steps("inlet_resolve_query.json"):
    save("lsl_datagram", data)
for text in ["3.5xyz", "-1e400", "  +.5", "9223372036854775808", "1e", "0x10", "4503599627370497.5"]:
    save("lsl_number", text.encode())

# The commands that only read, in both byte orders.
READING = [bytes.fromhex(code) for code in ("0102", "0201", "0202", "0302", "0203", "0204", "0402")]

# FieldTrip: what each scenario sent on its first connection, and the payloads of it.
for scenario in json.loads(pathlib.Path("fieldtrip/tests/vectors/c-server.json").read_text())["scenarios"]:
    sent = [step for step in scenario["steps"] if step["op"] == "send" and "hex" in step]
    if sent:
        save("fieldtrip_conversation", b"\x07" + b"".join(bytes.fromhex(s["hex"]) for s in sent if s["conn"] == sent[0]["conn"]))
    # Those that only read, one after the other, and all as they came.
    reading = b"".join(bytes.fromhex(s["hex"]) for s in sent if bytes.fromhex(s["hex"])[2:4] in READING)
    for requests in (reading, b"".join(bytes.fromhex(s["hex"]) for s in sent)):
        save("fieldtrip_onlooker", b"\x05" + requests)
    for step in sent:
        data = bytes.fromhex(step["hex"])
        save("fieldtrip_wire", (b"\x02" if data[:1] == b"\x01" else b"\x01") + data[8:])

session = json.loads(pathlib.Path("docs/spec/vectors/secure-session.json").read_text())
for suite, choice in (("hybrid", 0), ("classic", 2)):
    vectors = {name: bytes.fromhex(value) for name, value in session[suite].items()}
    save("session_handshake", bytes([choice, 30]) + vectors["first_line_and_message_1"] + vectors["message_3"])
    save("session_handshake", bytes([choice | 1, 2]) + vectors["message_2"])
    for name, data in vectors.items():
        if "record" in name or name == "welcome":
            save("session_records", data)
        elif "datagram_0" in name:
            save("session_datagrams", data)
        elif "certificate" in name:
            save("session_certificates", data)
for name, value in session["stored"].items():
    datagram = "query" in name or "reply" in name
    if "secret" not in name:
        save("session_datagrams" if datagram else "session_certificates", bytes.fromhex(value))

# Members whose revocation lists differ: calls, and an update in pieces, whole, out of order, broken off and too long.
for text in ("17001", "65536", "-1", "7 16572 0", "18446744073709551615 1 65535", "7 16572", "7 1 2 3"):
    save("lab_call", b"LSL:lab\r\n" + text.encode() + b"\r\n")
save("lab_call", b"LSL:lab \n17001")
save("lab_call", b"LSL:shortinfo\r\n\r\n17001 42\r\n")


def piece(number: int, total: int, offset: int, content: bytes) -> bytes:
    message = b"\x03" + number.to_bytes(8, "little") + total.to_bytes(4, "little") + offset.to_bytes(4, "little") + content
    return len(message).to_bytes(2, "little") + message


UPDATE = bytes.fromhex(session["stored"]["revocation_list_7_of_serials_3_99"]) + bytes(32)
PIECES = [piece(7, len(UPDATE), at, UPDATE[at:at + 60]) for at in range(0, len(UPDATE), 60)]
save("lab_update", b"".join(PIECES))
save("lab_update", b"".join(reversed(PIECES)))
save("lab_update", b"".join(PIECES[:2] + PIECES))
save("lab_update", b"".join(PIECES[:1] + PIECES[2:]))
save("lab_update", b"".join(PIECES[:2]) + piece(8, len(UPDATE), 120, UPDATE[120:]))
save("lab_update", piece(1, 2**32 - 1, 0, b"1") + piece(1, 2**32 - 1, 1, b"2") + piece(2, 1, 0, b"3"))
save("lab_update", piece(1, 0, 0, b"") + piece(0, 0, 0, b"") + b"\x02\x00\x02\x03" + b"\xff\xff\x03")

# MSE: what each side of a captured exchange sent, then the fields that the targets put under a real keystream.
for path in sorted(pathlib.Path("mse/tests/vectors").glob("*.json")):
    exchange = json.loads(path.read_text())
    ours = {"initiator": "A", "responder": "B"}.get(exchange.get("our_role"), "A")
    sent = {"A": b"", "B": b""}
    for side, flight in exchange.get("flights", []):
        side = {"out": ours, "in": "B" if ours == "A" else "A"}.get(side, side)
        sent[side] += bytes.fromhex(flight)
    save("mse_responder", b"\x00\x3d" + sent["A"])
    save("mse_initiator", b"\x00\x3d" + sent["B"])
METHODS = {"plain text": 1, "RC4": 2, "both": 3, "none": 0, "AES": 1 << 20}
for method in METHODS.values():
    field = method.to_bytes(4, "big")
    for padding in (0, 512, 513):
        fields = field + padding.to_bytes(2, "big")
        save("mse_initiator", b"\x01\x01" + fields)
        save("mse_responder", b"\x01\x01" + bytes(8) + fields + bytes(padding) + b"\x00\x44\x13BitTorrent protocol")
ADDRESSES = [b"\x01\x7f\x00\x00\x01", b"\x03\x09localhost", b"\x03\x00", b"\x04" + bytes(15) + b"\x01", b"\x09"]
for address in ADDRESSES:
    for command in (1, 3):
        save("mse_socks", b"\x05\x02\x00\x02\x05" + bytes([command]) + b"\x00" + address + b"\x1a\xe1")
for greeting in (b"\x04\x01\x00\x50\x7f\x00\x00\x01\x00", b"\x05\x01\x02", b"\x05\x00", b"\x05\xff"):
    save("mse_socks", greeting)

# The node: requests and datagrams at an outlet, an outlet's words at an inlet, and pasted or stored keys.
TRANSCRIPT = pathlib.Path("firmware/node/tests/common/transcript.bin").read_bytes()
KEYS = pathlib.Path("firmware/node/tests/common/transcript-keys-1.bin").read_bytes()
FEED = b"LSL:streamfeed/110 \r\nNative-Byte-Order: 4321\r\nValue-Size: 4\r\nMax-Buffer-Length: 9\r\n\r\n"
for sealed in (0, 1):
    for request in (b"LSL:fullinfo\r\n", b"LSL:shortinfo\r\nname='Node'\r\n", FEED, TRANSCRIPT[:700]):
        save("node_outlet", bytes([0x2e | sealed]) + request)
    for datagram in (b"LSL:shortinfo\r\nsession_id='default' and not(type='x')\r\n17001 42\r\n",
                     b"LSL:timedata\r\n7 1.5\r\n", b"\xd5SQ\x02" + bytes(90), b"\xd5SC\x01" + bytes(60)):
        save("node_outlet", bytes([sealed]) + datagram)
        save("node_outlet", bytes([0x10 | sealed]) + datagram)
ANSWER = b"LSL/110 200 OK\r\nUID: 03030303-0303-4303-8303-030303030303\r\nByte-Order: 1234\r\n" \
         b"Suppress-Subnormals: 0\r\nData-Protocol-Version: 110\r\n\r\n"
for number in range(7):
    save("node_inlet", bytes([number]) + ANSWER + bytes(range(1, 90)))
save("node_inlet", b"\x00LSL/110 404 Not found")
save("node_keys", KEYS)
save("node_keys", b"SNK\x01" + bytes(4) + len(KEYS).to_bytes(4, "little") + KEYS)
PART = KEYS[:32].hex().encode()
save("node_keys", b"schwann 0000 " + PART + b" 00000000\nschwann end 0020 00000000\n")

# What goes through a hub: each message of the vectors.
MESSAGES = {name: bytes.fromhex(text) for name, text in json.loads(pathlib.Path("docs/spec/vectors/relay.json").read_text()).items()}
for message in MESSAGES.values():
    save("relay_messages", message)


def record(message: bytes) -> bytes:
    return len(message).to_bytes(4, "little") + zlib.crc32(message).to_bytes(4, "little") + message


# Files of a journal: whole, torn, and with a bit flipped in a length, a head and a content.
RUN = b"".join(record(MESSAGES[name]) for name in ("block 0", "block 1", "end"))
save("hub_journal", RUN)
save("hub_journal", RUN[:-5])
save("hub_journal", RUN + bytes(16))
for place in (0, 8 + 64, 8 + 130, 214, 214 + 8 + 112):
    save("hub_journal", RUN[:place] + bytes([RUN[place] ^ 4]) + RUN[place + 1:])
save("hub_journal", record(MESSAGES["announcement"]) + record(MESSAGES["wrapped keys"]))
