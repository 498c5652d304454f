"""Cables, routes and firewalls that are wrong, and what `schwann doctor` must say of each."""

import os

from doctor_cases import case
from doctor_lab import SCRATCH, run


@case(None, exit_code=0)
def a_healthy_network(lab):
    lab.cable()
    lab.send()


@case(None, "10.99.0.1", exit_code=0)
def a_healthy_host(lab):
    lab.cable()
    lab.send()


@case("no-stream")
def a_healthy_network_without_a_stream(lab):
    lab.cable()


@case(None, exit_code=0)
def a_healthy_network_with_streams_of_this_computer_alone(lab):
    lab.cable()
    lab.send(space=lab.b)


@case(None, "127.0.1.1", exit_code=0)
def this_computer_by_another_of_its_addresses(lab):
    # As its name means on Debian, where its streams are found at another address.
    lab.cable()
    lab.send(space=lab.b)


@case("loopback-only")
def no_network_but_loopback(lab):
    pass


@case("loopback-only")
def no_network_but_that_of_containers(lab):
    run(f"ip -n {lab.b} link add docker0 type bridge")
    run(f"ip -n {lab.b} addr add 172.17.0.1/16 dev docker0")
    run(f"ip -n {lab.b} link set docker0 up")


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


# It drops UDP and TCP.
@case("firewall-in", beside="firewall-rule")
def a_firewall_that_drops_what_nothing_permits(lab):
    lab.cable()
    lab.in_b("nft add table inet guard")
    lab.in_b("nft add chain inet guard input { type filter hook input priority 0 ; policy drop ; }")
    lab.in_b("nft add rule inet guard input iifname lo accept")
    lab.in_b("nft add rule inet guard input ct state established,related accept")
    lab.send()


@case("firewall-rule", exit_code=0)
def a_rule_that_keeps_others_from_our_streams(lab):
    lab.cable()
    lab.in_b("nft add table inet guard")
    lab.in_b("nft add chain inet guard input { type filter hook input priority 0 ; policy accept ; }")
    lab.in_b("nft add rule inet guard input tcp dport 16572-16604 ct state new reject")
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


@case(None, exit_code=0)
def the_subsystem_of_windows_in_its_network(lab):
    lab.cable()
    folder = SCRATCH / "mirrored"
    folder.mkdir()
    (folder / "wslinfo").write_text("#!/bin/sh\n[ \"$*\" = --networking-mode ] && echo mirrored\n")
    (folder / "wslinfo").chmod(0o755)
    lab.more = {"WSL_DISTRO_NAME": "Debian", "PATH": f"{folder}:{os.environ['PATH']}"}
    lab.send()


@case("container")
def a_container_of_a_user(lab):
    """As Podman makes one: its only card is a tap, which a program holds. No other computer is reached through it."""
    run(f"ip -n {lab.b} tuntap add mode tap name tap0")
    lab.python(lab.b, "import fcntl, struct, sys\ntap = open('/dev/net/tun', 'r+b', buffering=0)\n"
               "fcntl.ioctl(tap, 0x400454ca, struct.pack('16sH22x', b'tap0', 0x1002))\nprint('ready', flush=True)\nsys.stdin.read()")
    run(f"ip -n {lab.b} addr add 10.0.2.100/24 dev tap0")
    run(f"ip -n {lab.b} link set tap0 up")
    run(f"ip -n {lab.b} route add default via 10.0.2.2")
    lab.wait_until_plugged("tap0", spaces=(lab.b,))
    lab.more = {"container": "podman"}
