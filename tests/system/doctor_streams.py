"""Streams and senders that are wrong, and what `schwann doctor` must say of each."""

from doctor_cases import case

OTHER = r"""
import socket, sys, threading, time
version, delay = sys.argv[1], float(sys.argv[2])
info = ("<?xml version=\"1.0\"?><info><name>Other</name><type>EEG</type><channel_count>1</channel_count>"
        "<channel_format>float32</channel_format><source_id>f</source_id><nominal_srate>100</nominal_srate>"
        f"<version>{version}</version><created_at>1.0</created_at><uid>11111111-2222-4333-8444-555555555555</uid>"
        "<session_id>default</session_id><hostname>amp</hostname><v4address></v4address><v4data_port>16572</v4data_port>"
        "<v4service_port>16572</v4service_port><v6address></v6address><v6data_port>0</v6data_port>"
        "<v6service_port>0</v6service_port><desc></desc></info>")
listener = socket.create_server(("", 16572))
def serve(port):
    service = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    service.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    service.bind(("", port))
    if port == 16571:
        group = socket.inet_aton("239.255.172.215") + socket.inet_aton("10.99.0.1")
        service.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group)
    while True:
        datagram, (host, source) = service.recvfrom(2048)
        lines, received = datagram.decode(errors="replace").split("\r\n"), time.monotonic()
        if lines[0] == "LSL:shortinfo":
            back, identity = lines[2].split()
            service.sendto(f"{identity}\r\n{info}".encode(), (host, int(back)))
        elif lines[0] == "LSL:timedata":
            wave, sent = lines[1].split()
            answer = f" {wave} {sent} {received} {received}".encode()
            timer = threading.Timer(delay, service.sendto, (answer, (host, source)))
            timer.daemon = True
            timer.start()
for port in (16571, 16572):
    threading.Thread(target=serve, args=(port,), daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
"""


@case("version")
def a_later_protocol(lab):
    lab.cable()
    lab.python(lab.a, OTHER, "2.50", "0")


@case("no-answer")
def a_program_that_takes_connections_and_hangs(lab):
    lab.cable()
    lab.python(lab.a, OTHER, "1.10", "0")


# The same program: it sends no sample, either.
@case("clock-uncertain", beside="no-answer")
def a_clock_that_answers_late(lab):
    lab.cable()
    lab.python(lab.a, OTHER, "1.10", "0.06")


@case("clock-blocked", beside="no-answer")
def a_clock_that_does_not_answer(lab):
    lab.cable()
    lab.python(lab.a, OTHER, "1.10", "3600")


@case("duplicate-source")
def two_senders_with_one_source_id(lab):
    lab.cable()
    lab.send()
    lab.send()


@case("rate")
def a_stream_that_is_slower_than_it_says(lab):
    lab.cable()
    lab.fake("--fault", "rate=-40")


@case("stamps")
def a_stream_with_stamps_of_another_clock(lab):
    lab.cable()
    lab.fake("--fault", "unix")


@case("no-samples")
def a_stream_that_falls_silent(lab):
    lab.cable()
    lab.fake("--fault", "silence=0.1")


@case("gaps", exit_code=0)
def a_stream_that_loses_samples(lab):
    lab.cable()
    lab.fake("--fault", "gaps=0.3")
