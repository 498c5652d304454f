//! What mends a refusal: the next command to run.

use core::fmt;

use schwann_session::Refusal;

/// A refusal as people are told of it: its reason, and the command that mends it.
#[derive(Clone, Copy, Debug)]
pub struct Explained(pub Refusal);

impl fmt::Display for Explained {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}; {}", self.0, advice(self.0))
    }
}

/// One sentence with the command that mends a refusal, to be put behind its reason.
pub fn advice(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::ClassicRefused | Refusal::NoHybrid => {
            "let the device use the hybrid suite, or certify it for the classic one: `schwann keys issue`"
        }
        Refusal::Expired => {
            "`schwann keys join` on the device brings a new one, with the words of `schwann keys invite` on the lab's computer, \
             and programs that run take it over; if it is not that old, a clock is wrong: `date -u` on both computers"
        }
        Refusal::MembersOnly | Refusal::NoKeys => {
            "join its lab: `schwann keys invite` on the lab's computer shows six words, and `schwann keys join` here takes \
             them; `schwann keys status` tells which keys are here"
        }
        Refusal::NotYetValid => {
            "a clock is wrong: compare `date -u` on both computers, and set it right with `sudo timedatectl set-ntp \
             true`; a microcontroller has no calendar, and an old image goes by the day it was built: build and flash it \
             anew"
        }
        Refusal::PeerTooNew => "update this computer's library: `schwann --version` tells which one it has",
        Refusal::PeerTooOld => "update the peer's library: `schwann --version` there tells which one it has",
        Refusal::PlainPeer => {
            "it has no keys, or not this library: `schwann keys join` there, `schwann run PROGRAM` for programs with a \
             library of their own; for an old device: `schwann gateway` brings its stream in, sealed, and `schwann keys \
             admit` takes it in the clear"
        }
        Refusal::RefusedByPeer => {
            "the peer's screen or security log says why; most often it belongs to another lab, or this device was revoked: \
             compare the lines lab and revoked of `schwann keys status` on both computers, or its library is older: \
             `schwann --version` tells which one"
        }
        Refusal::Revoked => {
            "`schwann keys issued` on the lab's computer tells which device is out; if that is to come back, it needs a new \
             key: run `schwann keys rotate` there if it is the lab's own computer, else put its key folder away and run `schwann \
             keys join`"
        }
        Refusal::WrongDevice => {
            "it may be an impostor: `schwann keys issued` on the lab's computer lists the devices; if the stream has moved, \
             `schwann keys pin STREAM` pins it to the device that sends it now"
        }
        Refusal::WrongLab => {
            "compare the line lab of `schwann keys status` on both computers; if both have the same, one of the devices was \
             revoked, or has not heard of it: compare the line revoked; `schwann keys join` joins the other's lab"
        }
        Refusal::WrongRole => {
            "issue its certificate anew, without --publish-only and --subscribe-only: `schwann keys issue`, with what \
             `schwann keys new-device NAME` prints on the device"
        }
        _ => {
            "if it happens again, an attacker may change bytes on the way: `schwann doctor HOST` tries the network"
        }
    }
}
