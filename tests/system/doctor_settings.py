"""Settings that are wrong on the computer that looks, and what `schwann doctor` must say of each."""

from doctor_cases import case
from doctor_lab import SCRATCH


@case("session")
def another_session(lab):
    lab.cable()
    lab.configuration = "[lab]\nSessionID=pilot\n"
    lab.send()


@case("ports-taken")
def no_port_left(lab):
    lab.cable()
    lab.configuration = "AllowRandomPorts=0\nBasePort=16572\nPortRange=2\n"
    lab.python(lab.b, "import socket, sys\nheld = []\nfor port in (16572, 16573):\n"
               "    held.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)); held[-1].bind(('', port))\n"
               "print('ready', flush=True); sys.stdin.read()")
    lab.send()


@case("config-invalid")
def a_configuration_that_does_not_parse(lab):
    lab.cable()
    lab.configuration = "[tuning]\nTimeProbeCount\n"
    lab.send()


@case("config-wrong-value")
def a_value_that_cannot_be_used(lab):
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


@case("host-silent")
def a_known_peer_that_does_not_answer(lab):
    lab.cable()
    lab.configuration = "[lab]\nKnownPeers={10.99.0.9}\n"
    lab.send()


# It may have nothing to send now, and then the search for all others has to be explained.
@case("no-outlet", beside="no-stream")
def a_known_peer_that_sends_nothing(lab):
    lab.cable()
    lab.configuration = "[lab]\nKnownPeers={10.99.0.1}\n"


@case("udp-blocked")
def a_known_peer_behind_a_firewall_for_udp(lab):
    lab.cable()
    lab.configuration = "[lab]\nKnownPeers={10.99.0.1}\n"
    lab.in_a("iptables -A INPUT -i cable -p udp -j DROP")
    lab.send()


@case("peer-unknown")
def a_known_peer_of_the_other_version_of_ip(lab):
    lab.cable()
    lab.configuration = "[lab]\nKnownPeers={fd99::1}\n"
    lab.send()


@case(None, exit_code=0)
def known_peers_in_another_subnet_and_here(lab):
    lab.routed()
    lab.configuration = "[lab]\nKnownPeers={10.99.1.2, 127.0.0.1, 10.99.2.2}\n"
    lab.send()


@case("interface-gone")
def an_interface_that_has_gone(lab):
    lab.cable()
    lab.configuration = "[multicast]\nInterfaces={192.168.77.7}\n"
    lab.send()


@case("config-unreadable")
def a_configuration_that_is_a_folder(lab):
    lab.cable()
    lab.more = {"LSLAPICFG": str(SCRATCH)}
    lab.send()


@case("config-without-braces")
def known_peers_without_braces(lab):
    lab.cable()
    lab.configuration = "[lab]\nKnownPeers=10.99.0.1\n"
    lab.send()


@case("config-unknown-key", exit_code=0)
def a_configuration_with_a_key_that_nothing_reads(lab):
    lab.cable()
    lab.configuration = "[lab]\nKnownPeer={10.99.0.1}\n"
    lab.send()
