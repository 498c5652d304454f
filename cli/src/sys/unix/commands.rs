//! Commands that a person is told to run on Linux and the BSDs.

use core::net::IpAddr;

use schwann_proto::stream_info::IpVersion;

/// Opens a file to change it.
pub(crate) fn edit(file: &str) -> String {
    format!("${{EDITOR:-nano}} {file}")
}

/// Shows who may read a file, and which file the environment names.
pub(crate) fn show(file: &str) -> String {
    format!("ls -l {file}; echo $LSLAPICFG")
}

/// Looks up the address of a computer.
pub(crate) fn look_up(name: &str) -> String {
    format!("getent hosts {name}")
}

/// Shows the way to a computer, and tries it.
pub(crate) fn way_to(ip: IpAddr) -> String {
    format!("ip route get {ip}; ping -c 3 {ip}")
}

/// Measures the way to a computer 20 times.
pub(crate) fn ping(address: &str) -> String {
    format!("ping -c 20 {address}")
}

/// Shows the addresses of this computer.
pub(crate) fn addresses() -> String {
    String::from("ip -brief address")
}

/// Lets programs have more files and sockets open.
pub(crate) fn more_files() -> &'static str {
    "sudo prlimit --pid $$ --nofile=10240    # for this shell; then: schwann doctor"
}

/// Shows whether something is at the other end of a network's cable.
pub(crate) fn connection(name: &str) -> String {
    format!("ip -brief link show {name}    # NO-CARRIER: nothing is at the other end of its cable")
}

/// Shows the addresses of one network, or asks for one.
pub(crate) fn addresses_of(name: &str) -> String {
    format!("ip -brief address show {name}    # is the router on, and the cable in the right socket?")
}

/// Shows the networks of this computer, and switches one on.
pub(crate) fn networks() -> String {
    String::from("ip link    # then: sudo ip link set NAME up")
}

/// Switches multicast on.
pub(crate) fn multicast_on(name: &str) -> String {
    format!("sudo ip link set {name} multicast on")
}

/// Makes a way for multicast.
pub(crate) fn multicast_route(name: &str, version: IpVersion) -> String {
    match version {
        IpVersion::V4 => format!("sudo ip route add 224.0.0.0/4 dev {name}"),
        IpVersion::V6 => format!("sudo ip -6 route add multicast ff00::/8 dev {name} table local"),
    }
}

/// Lets this program send multicast, which the system refused.
pub(crate) fn permit_multicast(name: &str, version: IpVersion) -> String {
    multicast_route(name, version)
}

/// Shows the clock, and sets it right.
pub(crate) fn set_clock() -> String {
    String::from("date -u    # here and there; where it is wrong: sudo timedatectl set-ntp true")
}

/// Lets in what comes for the ports of LSL, or lets out what goes there.
pub(crate) fn allow((first, last): (u16, u16), side: Side, protocol: &str, version: IpVersion) -> String {
    let program = match version {
        IpVersion::V4 => "iptables",
        IpVersion::V6 => "ip6tables",
    };
    // Queries go to the ports of LSL, and answers to the asker's port.
    let (chain, ports) = match side {
        Side::Out => ("OUTPUT", String::new()),
        Side::In => ("INPUT", format!(" --dport {first}:{last}")),
    };
    format!("sudo {program} -I {chain} -p {protocol}{ports} -j ACCEPT")
}

/// Which way packets go that a firewall drops.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Side {
    In,
    Out,
}
