"""Breaks networks on purpose, and asks `schwann doctor` what is wrong.

Usage: doctor.py <folder of the program>

Each case has a namespace A that sends the stream Lab and a namespace B that looks for it, joined by a cable (a veth
pair) unless the case says otherwise.
"""

import contextlib
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
NUMBERS = itertools.count()
SCRATCH = pathlib.Path(tempfile.mkdtemp())
PRINTING = threading.Lock()


def run(command: str) -> None:
    done = subprocess.run(command.split(), capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise RuntimeError(f"{command}: {done.stderr}")


class Lab:
    """Two computers and what is between them."""

    def __init__(self) -> None:
        number = next(NUMBERS)
        self.a, self.b, self.router = (f"doctor-{os.getpid()}-{number}{letter}" for letter in "abr")
        self.stack = contextlib.ExitStack()
        self.configuration = ""
        self.more: dict[str, str] = {}

    def __enter__(self):
        for space in (self.a, self.b, self.router):
            run(f"ip netns add {space}")
            self.stack.callback(run, f"ip netns del {space}")
            run(f"ip -n {space} link set lo up")
        return self

    def __exit__(self, *_) -> None:
        self.stack.close()

    def cable(self, name: str = "cable") -> None:
        run(f"ip link add {name} netns {self.a} type veth peer name {name} netns {self.b}")
        for space, number in ((self.a, 1), (self.b, 2)):
            run(f"ip -n {space} addr add 10.99.0.{number}/24 dev {name}")
            run(f"ip -n {space} link set {name} up")
            run(f"ip -n {space} route add 224.0.0.0/4 dev {name}")

    def routed(self) -> None:
        """A router between two subnets, which passes on no multicast."""
        for space, net in ((self.a, 1), (self.b, 2)):
            run(f"ip link add cable netns {space} type veth peer name cable{net} netns {self.router}")
            run(f"ip -n {space} addr add 10.99.{net}.2/24 dev cable")
            run(f"ip -n {self.router} addr add 10.99.{net}.1/24 dev cable{net}")
            run(f"ip -n {space} link set cable up")
            run(f"ip -n {self.router} link set cable{net} up")
            run(f"ip -n {space} route add default via 10.99.{net}.1")
        run(f"ip netns exec {self.router} sysctl -qw net.ipv4.ip_forward=1")

    def in_a(self, command: str) -> None:
        run(f"ip netns exec {self.a} {command}")

    def in_b(self, command: str) -> None:
        run(f"ip netns exec {self.b} {command}")

    def environment(self, text: str) -> dict[str, str]:
        path = SCRATCH / f"{next(NUMBERS)}.cfg"
        path.write_text("[log]\nlevel=-2\n" + text)
        return {**os.environ, "LSLAPICFG": str(path)}

    def keys(self) -> dict[str, str]:
        """The environment of a computer that has just founded a lab."""
        environment = {**os.environ, "SCHWANN_KEYS": str(SCRATCH / f"keys{next(NUMBERS)}")}
        subprocess.run([PROGRAMS / "schwann", "keys", "init", "--unprotected"], env=environment, check=True,
                       stdout=subprocess.DEVNULL)
        return {"SCHWANN_KEYS": environment["SCHWANN_KEYS"]}

    def send(self, text: str = "[ports]\nIPv6=disable\n", more: dict[str, str] = {}) -> None:
        process = subprocess.Popen(["ip", "netns", "exec", self.a, str(PROGRAMS / "examples" / "send_lab"), "Lab", "4", "100"],
                                   env=self.environment(text) | more, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.stack.callback(process.communicate, timeout=20)
        if process.stdout.readline() != "sending\n":
            raise RuntimeError(f"the sender has ended: {process.wait()}")

    def device(self, days: int) -> dict[str, str]:
        """The environment of a new member of the lab whose authority `more` names, certified for so many days."""
        device = SCRATCH / f"keys{next(NUMBERS)}"

        def keys(folder, *words, said=None):
            return subprocess.run([PROGRAMS / "schwann", "keys", *words], env={**os.environ, "SCHWANN_KEYS": str(folder)}, check=True,
                                  input=said, capture_output=True, text=True).stdout
        request = keys(device, "new-device", "device", "--unprotected").split()[-1]
        keys(device, "trust", said=keys(self.more["SCHWANN_KEYS"], "issue", "--yes", "--days", str(days), request))
        return {"SCHWANN_KEYS": str(device)}

    def fake(self, *arguments: str) -> None:
        """A made-up stream in A."""
        process = subprocess.Popen(["ip", "netns", "exec", self.a, str(PROGRAMS / "schwann"), "fake", "eeg:8@250", *arguments],
                                   env=self.environment("[ports]\nIPv6=disable\n"), stdout=subprocess.PIPE, text=True)
        self.stack.callback(process.communicate, timeout=20)
        self.stack.callback(process.terminate)
        if not process.stdout.readline():
            raise RuntimeError(f"the sender has ended: {process.wait()}")

    def python(self, space: str, program: str, *arguments: str) -> None:
        """A program that says that it is ready, and ends with its input."""
        process = subprocess.Popen(["ip", "netns", "exec", space, sys.executable, "-c", program, *arguments], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        self.stack.callback(process.communicate, timeout=20)
        if process.stdout.readline() != "ready\n":
            raise RuntimeError("the helper has ended")

    def doctor(self, *arguments: str):
        command = ["ip", "netns", "exec", self.b, str(PROGRAMS / "schwann"), "doctor", *arguments]
        environment = self.environment("[ports]\nIPv6=disable\n" + self.configuration) | self.more
        done = subprocess.run([*command, "--json"], env=environment, capture_output=True, text=True, timeout=60)
        try:
            return done.returncode, json.loads(done.stdout)
        except json.JSONDecodeError:
            raise RuntimeError(f"no JSON: {done.stdout!r} {done.stderr!r}") from None


CASES = {}


def case(code: str | None, *arguments: str, exit_code: int = 1):
    """A network, and the code of the finding that explains it; None: there is nothing wrong."""
    def register(function):
        CASES[function.__name__.replace("_", " ")] = (function, code, arguments, exit_code)
        return function
    return register


@case(None, exit_code=0)
def a_healthy_network(lab):
    lab.cable()
    lab.send()


@case(None, "10.99.0.1", exit_code=0)
def a_healthy_host(lab):
    lab.cable()
    lab.send()


@case("loopback-only")
def no_network_but_loopback(lab):
    pass


@case("multicast-off")
def multicast_switched_off(lab):
    lab.cable()
    run(f"ip -n {lab.b} link set cable multicast off")
    lab.send()


@case("no-multicast-route", exit_code=0)
def no_route_for_multicast(lab):
    lab.cable()
    run(f"ip -n {lab.b} route del 224.0.0.0/4 dev cable")
    lab.send()


@case("firewall-in")
def a_firewall_that_lets_nothing_in(lab):
    lab.cable()
    lab.in_b("iptables -A INPUT -i cable -p udp -j DROP")
    lab.send()


@case("firewall-in")
def the_same_with_nftables(lab):
    lab.cable()
    lab.in_b("nft add table inet guard")
    lab.in_b("nft add chain inet guard input { type filter hook input priority 0 ; policy accept ; }")
    lab.in_b("nft add rule inet guard input iifname cable udp dport 16571-16604 drop")
    lab.send()


@case("firewall-out")
def a_firewall_that_lets_nothing_out(lab):
    lab.cable()
    lab.in_b("iptables -A OUTPUT -o cable -p udp -j REJECT")
    lab.send()


@case("session")
def another_session(lab):
    lab.cable()
    lab.configuration = "[lab]\nSessionID=pilot\n"
    lab.send()


@case("other-subnet", "10.99.1.2")
def another_subnet(lab):
    lab.routed()
    lab.send()


@case("multicast-lost", "10.99.0.1")
def a_switch_that_swallows_multicast(lab):
    lab.cable()
    lab.in_a("iptables -A INPUT -i cable -m pkttype ! --pkt-type unicast -j DROP")
    lab.send()


@case("sealed", "10.99.0.1")
def a_stream_that_is_sealed_for_others(lab):
    lab.cable()
    lab.send(more=lab.keys())


@case(None, "10.99.0.1", exit_code=0)
def a_sealed_stream_of_the_same_lab(lab):
    lab.cable()
    lab.more = lab.keys()
    lab.send(more=lab.more)


@case("keys")
def keys_that_are_required_and_missing(lab):
    lab.cable()
    lab.more = {"SCHWANN_SECURITY": "require", "SCHWANN_KEYS": str(SCRATCH / "nothing")}
    lab.send()


@case("ports-taken")
def no_port_left(lab):
    lab.cable()
    lab.configuration = "AllowRandomPorts=0\nBasePort=16572\nPortRange=2\n"
    lab.python(lab.b, "import socket, sys\nheld = []\nfor port in (16572, 16573):\n"
               "    held.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)); held[-1].bind(('', port))\n"
               "print('ready', flush=True); sys.stdin.read()")
    lab.send()


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


@case("clock-uncertain", exit_code=0)
def a_clock_that_answers_late(lab):
    lab.cable()
    lab.python(lab.a, OTHER, "1.10", "0.06")


@case("clock-blocked")
def a_clock_that_does_not_answer(lab):
    lab.cable()
    lab.python(lab.a, OTHER, "1.10", "3600")


@case("config-invalid")
def a_configuration_that_does_not_parse(lab):
    lab.cable()
    lab.configuration = "[tuning]\nTimeProbeCount=many\n"
    lab.send()


@case("scope", "10.99.0.1")
def a_search_that_stays_at_home(lab):
    lab.cable()
    lab.configuration = "[multicast]\nResolveScope=machine\n"
    lab.send()


@case("ttl")
def queries_that_live_for_no_hop(lab):
    lab.cable()
    lab.configuration = "[multicast]\nTTLOverride=0\n"
    lab.send()


@case("peer-unknown")
def a_known_peer_that_nobody_knows(lab):
    lab.cable()
    lab.configuration = "[lab]\nKnownPeers={amplifier.invalid}\n"
    lab.send()


@case("interface-gone")
def an_interface_that_has_gone(lab):
    lab.cable()
    lab.configuration = "[multicast]\nInterfaces={192.168.77.7}\n"
    lab.send()


@case("duplicate-source")
def two_senders_with_one_source_id(lab):
    lab.cable()
    lab.send()
    lab.send()


@case("data-blocked")
def a_sender_behind_a_firewall_for_tcp(lab):
    lab.cable()
    lab.in_a("iptables -A INPUT -i cable -p tcp -j DROP")
    lab.send()


@case("udp-blocked", "10.99.0.1")
def a_sender_behind_a_firewall_for_udp(lab):
    lab.cable()
    lab.in_a("iptables -A INPUT -i cable -p udp -j DROP")
    lab.send()


@case("host-silent", "10.99.0.1")
def a_sender_behind_a_firewall_for_all(lab):
    lab.cable()
    lab.in_a("iptables -A INPUT -i cable -j DROP")
    lab.send()


@case("no-outlet", "10.99.0.1")
def a_computer_that_sends_nothing(lab):
    lab.cable()


@case("host-unreachable", "10.77.0.1")
def a_computer_in_a_network_that_is_not_reached(lab):
    lab.cable()


@case("host-unknown", "amplifier.invalid")
def a_computer_that_nobody_knows(lab):
    lab.cable()
    lab.send()


@case("certificate-expires", exit_code=0)
def a_certificate_that_expires_soon(lab):
    lab.cable()
    lab.more = lab.keys()
    lab.more = lab.device(20)
    lab.send(more=lab.more)


@case(None, exit_code=0)
def a_member_in_another_subnet_that_was_met_before(lab):
    lab.routed()
    lab.more = lab.keys()
    lab.send(more=lab.more)
    environment = lab.environment("[ports]\nIPv6=disable\n[lab]\nKnownPeers={10.99.1.2}\n") | lab.more
    deadline = time.monotonic() + 60
    met = subprocess.run(["ip", "netns", "exec", lab.b, str(PROGRAMS / "schwann"), "--once"], env=environment, capture_output=True,
                         text=True, timeout=60)
    assert "sealed" in met.stdout, met
    # It is written down beside the program's work.
    remembered = pathlib.Path(lab.more["SCHWANN_KEYS"]) / "lab.met"
    while not remembered.exists() or "10.99.1.2" not in remembered.read_text():
        assert time.monotonic() < deadline, met
        time.sleep(0.05)


@case("firewall-rule", exit_code=0)
def a_rule_that_keeps_others_from_our_streams(lab):
    lab.cable()
    lab.in_b("nft add table inet guard")
    lab.in_b("nft add chain inet guard input { type filter hook input priority 0 ; policy accept ; }")
    lab.in_b("nft add rule inet guard input tcp dport 16572-16604 ct state new reject")
    lab.send()


@case("firewall-in")
def a_firewall_that_drops_what_nothing_permits(lab):
    lab.cable()
    lab.in_b("nft add table inet guard")
    lab.in_b("nft add chain inet guard input { type filter hook input priority 0 ; policy drop ; }")
    lab.in_b("nft add rule inet guard input iifname lo accept")
    lab.in_b("nft add rule inet guard input ct state established,related accept")
    lab.send()


@case("vpn", exit_code=0)
def a_vpn_beside_the_cable(lab):
    lab.cable()
    run(f"ip -n {lab.b} tuntap add mode tun name tun7")
    run(f"ip -n {lab.b} addr add 10.66.0.1/24 dev tun7")
    run(f"ip -n {lab.b} link set tun7 up")
    lab.send()


@case("container", exit_code=0)
def a_container_with_a_network_of_its_own(lab):
    lab.cable("eth0")
    lab.more = {"container": "podman"}
    lab.send()


@case("wsl", exit_code=0)
def the_subsystem_of_windows(lab):
    lab.cable()
    lab.more = {"WSL_DISTRO_NAME": "Debian"}
    lab.send()


@case("loopback-only")
def no_network_but_that_of_containers(lab):
    run(f"ip -n {lab.b} link add docker0 type bridge")
    run(f"ip -n {lab.b} addr add 172.17.0.1/16 dev docker0")
    run(f"ip -n {lab.b} link set docker0 up")


@case("plain-admitted", exit_code=0)
def a_plain_stream_that_a_sealed_computer_admits(lab):
    lab.cable()
    lab.more = lab.keys()
    lab.configuration = "[security]\nplain=name='Lab' or name='LabMarkers'\n"
    lab.send(more={"SCHWANN_KEYS": str(SCRATCH / "nothing")})


@case("keys")
def a_pin_that_cannot_be_read(lab):
    lab.cable()
    lab.more = lab.keys()
    lab.configuration = "[security]\npin=name='Lab' -> amplifier\n"
    lab.send(more=lab.more)


@case("sealed")
def a_stream_that_is_pinned_to_another_device(lab):
    lab.cable()
    lab.more = lab.keys()
    lab.configuration = "[security]\npin=name='Lab' -> " + "-".join(["AAAA"] * 8) + "\n"
    lab.send(more=lab.device(3650))


@case("host-certificate", "10.99.0.1", exit_code=0)
def another_computers_certificate_that_expires_soon(lab):
    lab.cable()
    lab.more = lab.keys()
    lab.send(more=lab.device(20))


@case("host-policy", "10.99.0.1", exit_code=0)
def another_computer_that_sends_in_the_clear_too(lab):
    lab.cable()
    lab.more = lab.keys()
    lab.send(more=lab.device(3650) | {"SCHWANN_SECURITY": "prefer"})


@case("host-clock", "10.99.0.1", exit_code=0)
def another_computers_calendar_that_is_wrong(lab):
    lab.cable()
    lab.more = lab.keys()
    library = SCRATCH / f"clock{next(NUMBERS)}.so"
    run(f"cc -shared -fPIC -o {library} {pathlib.Path(__file__).resolve().parents[1] / 'tools' / 'wrong_clock.c'}")
    lab.send(more=lab.more | {"LD_PRELOAD": str(library), "CLOCK_AHEAD": "12"})


@case("multicast-lost", "10.99.0.1")
def a_member_that_hears_no_multicast(lab):
    lab.cable()
    lab.more = lab.keys()
    lab.in_a("iptables -A INPUT -i cable -m pkttype ! --pkt-type unicast -j DROP")
    lab.send(more=lab.more)


@case("udp-blocked", "10.99.0.1")
def a_member_behind_a_firewall_for_udp(lab):
    lab.cable()
    lab.more = lab.keys()
    lab.in_a("iptables -A INPUT -i cable -p udp -j DROP")
    lab.send(more=lab.more)


@case("config-unreadable")
def a_configuration_that_is_a_folder(lab):
    lab.cable()
    lab.more = {"LSLAPICFG": str(SCRATCH)}
    lab.send()


@case("config-unknown-key", exit_code=0)
def a_configuration_with_a_key_that_nothing_reads(lab):
    lab.cable()
    lab.configuration = "[lab]\nKnownPeer={10.99.0.1}\n"
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


@case("hidden")
def a_plain_stream_that_a_sealed_computer_hides(lab):
    lab.cable()
    lab.more = lab.keys()
    lab.send(more={"SCHWANN_KEYS": str(SCRATCH / "nothing")})


def examine(name: str) -> bool:
    build, code, arguments, exit_code = CASES[name]
    try:
        with Lab() as lab:
            build(lab)
            found_exit, answer = lab.doctor(*arguments)
    except Exception:
        with PRINTING:
            print(f"FAILED: {name}: {traceback.format_exc()}", flush=True)
        return False
    codes = [finding["code"] for finding in answer["findings"]]
    complete = all(finding["what"].endswith(".") and finding["fix"] for finding in answer["findings"])
    good = (code in codes if code else not codes and answer["streams"] > 0) and found_exit == exit_code and complete
    with PRINTING:
        if good and code:
            finding = next(finding for finding in answer["findings"] if finding["code"] == code)
            print(f"ok: {name}: {finding['what']}\n      {finding['fix']}", flush=True)
        else:
            print(f"{'ok' if good else 'FAILED'}: {name}" + ("" if good else f": exit {found_exit}, {json.dumps(answer)}"), flush=True)
    return good


def main() -> None:
    wanted = [name for name in CASES if not sys.argv[2:] or any(word in name for word in sys.argv[2:])]
    # The cases wait more than they compute.
    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(examine, wanted))
    print(f"{sum(outcomes)} of {len(outcomes)} networks explained")
    if not all(outcomes):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
