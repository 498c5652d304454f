//! The outlet, on any carrier of frames.

use esp_println::println;
use schwann_node::{Consumer, Description, Member, Outlet, Pace, Ports, Security, Uid};
use schwann_node_smoltcp::{Buffers, LINKS, SOCKETS, Server, instant};
use schwann_session::{Entropy as _, provision::Keys};
use smoltcp::{
    iface::{Config, Interface, SocketHandle, SocketStorage},
    phy::Device,
    socket::dhcpv4,
    wire::{EthernetAddress, HardwareAddress, IpCidr},
};

use crate::{
    application::{CHANNELS, FORMAT, RATE},
    board::{Dice, calendar, now},
};

/// Serves until the power fails; `idle` runs after every turn, and sleeps if there is time.
pub fn serve<D: Device>(
    device: &mut D,
    address: [u8; 6],
    samples: Consumer<'_>,
    keys: &Keys<'_>,
    dice: &mut Dice,
    mut idle: impl FnMut(schwann_node::Wait),
) -> ! {
    let mut uid = [0; 16];
    dice.fill(&mut uid).expect("the chip's generator does not fail");
    let description = Description {
        name: "ESP32-C3 inputs",
        stream_type: "Stimulus",
        channel_count: CHANNELS,
        format: FORMAT,
        nominal_rate: f64::from(RATE),
        source_id: "esp32c3-inputs",
        hostname: "esp32c3",
        session_id: "default",
        uid: Uid::new(uid),
        created_at: now().seconds(),
        ports: Ports { data_port: 16572, service_port: 16572 },
        desc: "",
    };
    println!("{}", calendar());
    let security = Security::Require(Member::of(keys));
    let mut outlet = Outlet::<'_, LINKS, RX, TX>::new(description, samples, security, Pace::EverySample)
        .expect("the description is this stream's");
    let mut config = Config::new(HardwareAddress::Ethernet(EthernetAddress(address)));
    let mut seed = [0; 8];
    dice.fill(&mut seed).expect("the chip's generator does not fail");
    config.random_seed = u64::from_le_bytes(seed);
    let mut iface = Interface::new(config, device, instant(now()));
    // One more, for the address.
    let mut storage = [const { SocketStorage::EMPTY }; SOCKETS + 1];
    // One by one: a pair would be made elsewhere on the stack, and copied.
    let mut buffers = Buffers::new();
    // 40 ms, which a computer may leave unacknowledged, are 1,480 bytes.
    let mut sending = [0; LINKS * 2048];
    let mut server = Server::new(description.ports, &mut iface, &mut storage, &mut buffers, &mut sending)
        .expect("the ports are no zeros, and there is room for two groups");
    let lease = server.sockets().add(dhcpv4::Socket::new());
    loop {
        let wait = server.turn(&mut outlet, &mut iface, device, dice);
        follow(&mut server, lease, &mut iface);
        idle(wait);
    }
}

/// Takes the address that the network lends.
fn follow(server: &mut Server<'_>, lease: SocketHandle, iface: &mut Interface) {
    let Some(event) = server.sockets().get_mut::<dhcpv4::Socket<'_>>(lease).poll() else { return };
    iface.update_ip_addrs(|addresses| addresses.clear());
    iface.routes_mut().remove_default_ipv4_route();
    if let dhcpv4::Event::Configured(config) = event {
        println!("address {}", config.address);
        iface.update_ip_addrs(|addresses| {
            // The list has just been cleared.
            let _ = addresses.push(IpCidr::Ipv4(config.address));
        });
        if let Some(router) = config.router {
            // The table has room for one: it had none.
            let _ = iface.routes_mut().add_default_ipv4_route(router);
        }
    }
}

pub const RX: usize = 768;
const TX: usize = 1280;
/// Most plaintext of a record from a peer: what a link holds, less the record's own 20 bytes.
pub const RECORD_LIMIT: usize = RX - 20;
