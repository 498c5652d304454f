"""Networks of both versions of IP, and of IPv6 alone, and what `schwann doctor` must say of each.

All other cases have IPv6 switched off.
"""

from doctor_cases import case
from doctor_lab import run


@case(None, exit_code=0)
def a_network_of_both_versions_of_ip(lab):
    lab.ports = ""
    lab.cable()
    lab.send()


@case(None, exit_code=0)
def a_network_of_ipv6_alone(lab):
    lab.cable_of_ipv6()
    lab.send()


@case("firewall-in", exit_code=0, fix="ip6tables")
def a_firewall_that_lets_nothing_in_by_ipv6(lab):
    lab.ports = ""
    lab.cable()
    lab.in_b("ip6tables -A INPUT -i cable -p udp -j DROP")
    lab.send()


@case("firewall-in", fix="sudo ip6tables -I INPUT")
def a_firewall_in_a_network_of_ipv6_alone(lab):
    lab.cable_of_ipv6()
    lab.in_b("ip6tables -A INPUT -i cable -p udp -j DROP")
    lab.send()


@case("firewall-out", fix="sudo ip6tables -I OUTPUT")
def a_firewall_that_lets_nothing_out_by_ipv6(lab):
    lab.cable_of_ipv6()
    lab.in_b("ip6tables -A OUTPUT -o cable -p udp -j REJECT")
    lab.send()


@case("multicast-not-sent", fix="sudo ip -6 route add", beside="no-multicast-route")
def no_route_for_multicast_of_ipv6(lab):
    lab.cable_of_ipv6()
    run(f"ip -n {lab.b} -6 route del multicast ff00::/8 dev cable table local")
    lab.send()
