//! Members in the networks of this computer: found because they are remembered, they may hear no multicast.

use core::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use schwann::resolver::{self, Viewed};
use schwann::security::keys::{met, store};
use schwann::{Context, StreamInfo};

use super::Interface;
use super::host::VIEW_TIME;
use super::visit::data_address;
use crate::beside;

/// A remembered member whose streams were found.
#[derive(Clone, Debug)]
pub(in crate::doctor) struct Near {
    pub(in crate::doctor) name: String,
    /// What a program there tells of itself.
    pub(in crate::doctor) view: Viewed,
}

/// Asks each of them. A search by multicast asks the remembered ones, too, so what it finds tells nothing of multicast.
pub(super) fn look(found: &[StreamInfo], interfaces: &[Interface], context: &Arc<Context>) -> Vec<Near> {
    let remembered = met::read(&store::folder());
    let is_near =
        |ip: IpAddr| remembered.contains(&ip) && interfaces.iter().any(|interface| interface.reaches(ip));
    let mut places: Vec<(String, SocketAddr)> = Vec::new();
    for info in found {
        let Some(address) = data_address(info).filter(|address| is_near(address.ip())) else { continue };
        if !places.iter().any(|(_, known)| known.ip() == address.ip()) && places.len() < MOST {
            places.push((info.hostname().to_string(), address));
        }
    }
    beside::each(&places, MOST, |(name, address)| Near {
        name: name.clone(),
        view: resolver::view(context, *address, VIEW_TIME),
    })
}

/// Computers that are asked at most.
const MOST: usize = 8;
