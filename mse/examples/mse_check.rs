//! Asks a BitTorrent peer what it accepts: `mse_check HOST:PORT INFOHASH`.

use std::net::ToSocketAddrs;

use schwann_mse::InfoHash;
use schwann_mse::check::check;

fn main() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    let (Some(peer), Some(hash)) = (arguments.next(), arguments.next()) else {
        return Err("usage: mse_check HOST:PORT INFOHASH".into());
    };
    let hash = InfoHash::parse(&hash).ok_or("an info hash is 40 or 64 hexadecimal digits")?;
    let peer = peer
        .to_socket_addrs()
        .ok()
        .and_then(|mut addresses| addresses.next())
        .ok_or("the peer's name does not resolve")?;
    println!("{}", check(peer, hash));
    Ok(())
}
