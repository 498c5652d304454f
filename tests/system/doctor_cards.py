"""Network cards that are wrong, one of them or all, and what `schwann doctor` must say of each."""

from doctor_cases import case
from doctor_lab import run


def second_cable(lab) -> None:
    run(f"ip link add second netns {lab.a} type veth peer name second netns {lab.b}")
    for space, number in ((lab.a, 1), (lab.b, 2)):
        run(f"ip -n {space} addr add 10.98.0.{number}/24 dev second")
        run(f"ip -n {space} link set second up")
    lab.wait_until_plugged("second")


def unplug(lab, name: str) -> None:
    run(f"ip -n {lab.a} link set {name} down")
    lab.wait_until_plugged(name, wanted=False)


@case("no-carrier")
def a_cable_that_is_unplugged(lab):
    lab.cable()
    lab.send()
    unplug(lab, "cable")


@case("no-carrier", exit_code=0)
def a_cable_of_two_that_is_unplugged(lab):
    lab.cable()
    second_cable(lab)
    lab.send()
    unplug(lab, "second")


@case("multicast-off")
def one_card_of_two_without_multicast(lab):
    lab.cable()
    second_cable(lab)
    run(f"ip -n {lab.b} link set second multicast off")
    lab.send()


def address(lab, space: str, ip: str) -> None:
    run(f"ip -n {space} addr flush dev cable")
    run(f"ip -n {space} addr add {ip}/16 dev cable")
    run(f"ip -n {space} route replace 224.0.0.0/4 dev cable")


@case("link-local")
def a_card_that_no_server_gave_an_address(lab):
    lab.cable()
    address(lab, lab.b, "169.254.7.7")
    lab.send()


@case("link-local", exit_code=0)
def a_card_of_two_that_no_server_gave_an_address(lab):
    lab.cable()
    second_cable(lab)
    run(f"ip -n {lab.b} addr flush dev second")
    run(f"ip -n {lab.b} addr add 169.254.7.7/16 dev second")
    lab.send()


@case(None, exit_code=0)
def two_computers_that_gave_themselves_addresses(lab):
    lab.cable()
    address(lab, lab.a, "169.254.7.1")
    address(lab, lab.b, "169.254.7.7")
    lab.send()
