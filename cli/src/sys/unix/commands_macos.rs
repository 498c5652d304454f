//! Commands that a person is told to run on macOS.

use core::net::IpAddr;

use schwann_proto::stream_info::IpVersion;

/// Opens a file to change it.
pub(crate) fn edit(file: &str) -> String {
    format!("open -e {file}")
}

/// Shows who may read a file, and which file the environment names.
pub(crate) fn show(file: &str) -> String {
    format!("ls -l {file}; echo $LSLAPICFG")
}

/// Looks up the address of a computer.
pub(crate) fn look_up(name: &str) -> String {
    format!("dscacheutil -q host -a name {name}")
}

/// Shows the way to a computer, and tries it.
pub(crate) fn way_to(ip: IpAddr) -> String {
    format!("route -n get {ip}; ping -c 3 {ip}")
}

/// Measures the way to a computer 20 times.
pub(crate) fn ping(address: &str) -> String {
    format!("ping -c 20 {address}")
}

/// Shows the addresses of this computer.
pub(crate) fn addresses() -> String {
    String::from("ifconfig | grep -w inet")
}

/// Lets programs have more files and sockets open.
pub(crate) fn more_files() -> &'static str {
    "sudo launchctl limit maxfiles 10240    # then log in again"
}

/// Shows whether something is at the other end of a network's cable.
pub(crate) fn connection(name: &str) -> String {
    format!("ifconfig {name}    # inactive: nothing is at the other end of its cable")
}

/// Shows the addresses of one network, or asks for one.
pub(crate) fn addresses_of(name: &str) -> String {
    format!("sudo ipconfig set {name} DHCP    # is the router on, and the cable in the right socket?")
}

/// Shows the networks of this computer, and switches one on.
pub(crate) fn networks() -> String {
    String::from("networksetup -listallhardwareports    # then: sudo ifconfig NAME up")
}

/// Switches multicast on.
pub(crate) fn multicast_on(name: &str) -> String {
    format!("ifconfig {name}    # its flags must have MULTICAST; use another network")
}

/// Makes a way for multicast.
pub(crate) fn multicast_route(name: &str, version: IpVersion) -> String {
    match version {
        IpVersion::V4 => format!("sudo route -n add -net 224.0.0.0/4 -interface {name}"),
        IpVersion::V6 => format!("sudo route -n add -inet6 -net ff00::/8 -interface {name}"),
    }
}

/// Lets this program send multicast, which the system refused.
pub(crate) fn permit_multicast(_name: &str, _version: IpVersion) -> String {
    String::from(
        "open 'x-apple.systempreferences:com.apple.preference.security?Privacy_LocalNetwork'    # allow the program that runs this one",
    )
}

/// Shows the clock, and sets it right.
pub(crate) fn set_clock() -> String {
    String::from("date -u    # here and there; where it is wrong: sudo sntp -sS time.apple.com")
}

/// Lets in what comes for the ports of LSL, or lets out what goes there.
pub(crate) fn allow((first, last): (u16, u16), side: Side, protocol: &str, version: IpVersion) -> String {
    let _ = (first, last, side, protocol, version);
    String::from(
        "/usr/libexec/ApplicationFirewall/socketfilterfw --listapps    # then: sudo … --unblockapp PROGRAM",
    )
}

/// Which way packets go that a firewall drops.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Side {
    In,
    Out,
}
