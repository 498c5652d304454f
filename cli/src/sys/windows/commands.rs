//! Commands that a person is told to run on Windows.

use core::net::IpAddr;

use schwann_proto::stream_info::IpVersion;

/// Opens a file to change it.
pub(crate) fn edit(file: &str) -> String {
    format!("notepad {file}")
}

/// Shows who may read a file, and which file the environment names.
pub(crate) fn show(file: &str) -> String {
    format!("icacls {file} & echo %LSLAPICFG%")
}

/// Looks up the address of a computer.
pub(crate) fn look_up(name: &str) -> String {
    format!("nslookup {name}")
}

/// Shows the way to a computer, and tries it.
pub(crate) fn way_to(ip: IpAddr) -> String {
    format!("tracert -h 3 {ip}")
}

/// Measures the way to a computer 20 times.
pub(crate) fn ping(address: &str) -> String {
    format!("ping -n 20 {address}")
}

/// Shows the addresses of this computer.
pub(crate) fn addresses() -> String {
    String::from("ipconfig")
}

/// Lets programs have more files and sockets open.
pub(crate) fn more_files() -> &'static str {
    "schwann doctor    # again, once other programs have ended"
}

/// Shows whether something is at the other end of a network's cable.
pub(crate) fn connection(name: &str) -> String {
    format!("netsh interface show interface name=\"{name}\"")
}

/// Shows the addresses of one network, or asks for one.
pub(crate) fn addresses_of(name: &str) -> String {
    format!("ipconfig /renew \"{name}\"    # is the router on, and the cable in the right socket?")
}

/// Shows the networks of this computer, and switches one on.
pub(crate) fn networks() -> String {
    String::from("netsh interface show interface    # then: netsh interface set interface NAME enabled")
}

/// Switches multicast on.
pub(crate) fn multicast_on(name: &str) -> String {
    format!("netsh interface ipv4 show interfaces {name}")
}

/// Makes a way for multicast.
pub(crate) fn multicast_route(name: &str, version: IpVersion) -> String {
    match version {
        IpVersion::V4 => format!("netsh interface ipv4 show route    # 224.0.0.0/4 must lead to {name}"),
        IpVersion::V6 => format!("netsh interface ipv6 show route    # ff00::/8 must lead to {name}"),
    }
}

/// Lets this program send multicast, which the system refused.
pub(crate) fn permit_multicast(name: &str, version: IpVersion) -> String {
    multicast_route(name, version)
}

/// Shows the clock, and sets it right.
pub(crate) fn set_clock() -> String {
    String::from(
        "w32tm /query /status    # here and there; where it is wrong, as administrator: w32tm /resync",
    )
}

/// Lets in what comes for the ports of LSL, or lets out what goes there.
pub(crate) fn allow((first, last): (u16, u16), side: Side, protocol: &str, _version: IpVersion) -> String {
    let (direction, ports) = match side {
        Side::In => ("in", format!(" localport={first}-{last}")),
        Side::Out => ("out", String::new()),
    };
    format!(
        "netsh advfirewall firewall add rule name=LSL dir={direction} action=allow protocol={protocol}{ports}"
    )
}

/// Which way packets go that a firewall drops.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Side {
    In,
    Out,
}
