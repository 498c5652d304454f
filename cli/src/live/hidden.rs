//! Outlets that a search does not find because this computer may not receive from them, and why.

use core::net::SocketAddr;
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::net::ToSocketAddrs as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use schwann::resolver::{Knocked, knock, own_ports, peer_ports, unheard};
use schwann::security::{Explained, Refusal};
use schwann::{Config, StreamInfo};
use schwann_proto::stream_info::IpVersion;

use crate::stop::Stop;

/// Knocks at the ports of this computer and of the known peers, again and again, until this is dropped.
pub(crate) struct Hidden {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    stop: Stop,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    refused: BTreeMap<SocketAddr, Refusal>,
    /// How often an outlet let us in that no search had found. Once is nothing: it may have come a moment ago.
    silent: BTreeMap<SocketAddr, u32>,
    /// Data ports of streams that were found: there is nothing to ask.
    known: BTreeSet<u16>,
    has_looked: bool,
}

impl Hidden {
    /// Begins to look.
    pub(crate) fn look(config: Arc<Config>) -> Self {
        let shared = Arc::<Shared>::default();
        let looking = Arc::clone(&shared);
        let thread = thread::Builder::new().name("hidden".to_owned()).spawn(move || looking.run(&config));
        Self { shared, thread: thread.ok() }
    }

    /// Takes note of a stream that was found.
    pub(crate) fn note_found(&self, info: &StreamInfo) {
        let ports = [IpVersion::V4, IpVersion::V6].map(|version| info.endpoint(version).data_port);
        let mut state = self.shared.lock();
        state.silent.retain(|address, _| !ports.contains(&address.port()));
        state.known.extend(ports);
    }

    /// Who refuses this computer or does not hear it, by address, and why and what mends it.
    pub(crate) fn refused(&self) -> Vec<(SocketAddr, String)> {
        let state = self.shared.lock();
        let refused =
            state.refused.iter().map(|(address, refusal)| (*address, Explained(*refusal).to_string()));
        let silent = state.silent.iter().filter(|(_, looks)| **looks > 1);
        refused.chain(silent.map(|(address, _)| (*address, unheard(address.ip())))).collect()
    }

    /// Whether every port of this computer was tried.
    pub(crate) fn has_looked(&self) -> bool {
        self.shared.lock().has_looked || self.thread.is_none()
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        self.shared.stop.raise();
        // A thread that panicked has said so.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, config: &Config) {
        // Whatever answers a search needs not be asked in another way.
        let mut pause = FIRST_LOOK;
        while !self.stop.wait(pause) {
            let peers = config.lab.known_peers.iter();
            let peers = peers.flat_map(|peer| (peer.as_str(), 0).to_socket_addrs().into_iter().flatten());
            own_ports(config).into_iter().for_each(|address| self.try_at(config, address));
            self.lock().has_looked = true;
            peer_ports(config, peers).into_iter().for_each(|address| self.try_at(config, address));
            pause =
                if self.lock().silent.values().any(|looks| *looks == 1) { FIRST_LOOK } else { LOOK_EVERY };
        }
    }

    fn try_at(&self, config: &Config, address: SocketAddr) {
        if self.stop.is_raised() || self.lock().known.contains(&address.port()) {
            return;
        }
        let outcome = knock(config, address, PATIENCE);
        let mut state = self.lock();
        if let Knocked::Refused(refusal) = outcome {
            state.refused.insert(address, refusal);
        } else {
            state.refused.remove(&address);
        }
        match outcome {
            Knocked::Stream(info) if !state.known.contains(&info.endpoint(IpVersion::V4).data_port) => {
                *state.silent.entry(address).or_default() += 1;
            }
            _ => drop(state.silent.remove(&address)),
        }
    }
}

const FIRST_LOOK: Duration = Duration::from_millis(700);
const LOOK_EVERY: Duration = Duration::from_secs(10);
const PATIENCE: Duration = Duration::from_millis(300);
