"""Labs with keys: seals, policies and certificates that are wrong, and what `schwann doctor` must say of each."""

import pathlib
import subprocess
import time

from doctor_cases import case
from doctor_lab import NUMBERS, PROGRAMS, SCRATCH, run


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


@case("plain-admitted", exit_code=0)
def a_plain_stream_that_a_sealed_computer_admits(lab):
    lab.cable()
    lab.more = lab.keys()
    lab.configuration = "[security]\nplain=name='Lab' or name='LabMarkers'\n"
    lab.send(more={"SCHWANN_KEYS": str(SCRATCH / "nothing")})


@case("hidden")
def a_plain_stream_that_a_sealed_computer_hides(lab):
    lab.cable()
    lab.more = lab.keys()
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


@case("multicast-lost")
def a_remembered_member_that_hears_no_multicast(lab):
    lab.cable()
    lab.more = lab.keys()
    lab.send(more=lab.more)
    code, looked = lab.schwann("--once", "--json")
    assert code == 0 and looked["streams"], looked
    lab.in_a("iptables -A INPUT -i cable -m pkttype ! --pkt-type unicast -j DROP")
    # What the member heard in the last 15 s counts as heard now.
    time.sleep(16)


@case("udp-blocked", "10.99.0.1")
def a_member_behind_a_firewall_for_udp(lab):
    lab.cable()
    lab.more = lab.keys()
    lab.in_a("iptables -A INPUT -i cable -p udp -j DROP")
    lab.send(more=lab.more)
