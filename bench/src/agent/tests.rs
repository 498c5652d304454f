//! The token and the conversation, over real sockets; no measuring process.

use core::net::Ipv4Addr;
use std::net::{TcpListener, TcpStream};
use std::thread;

use schwann_session::SystemEntropy;

use super::channel::Channel;
use super::*;
use crate::Reason;
use crate::sealed::lab::Lab;

fn token() -> Token {
    Token::generate(&mut SystemEntropy).expect("the system has entropy")
}

#[test]
fn a_token_is_read_as_it_was_written_and_however_it_was_copied() {
    for _ in 0..100 {
        let token = token();
        let words = token.words();
        let copied = words.to_uppercase().replace('-', "");
        for text in [words.as_str(), copied.as_str()] {
            let read = Token::parse(text).expect("a token");
            assert_eq!(*read.words(), *words);
        }
    }
}

#[test]
fn what_is_no_token_is_refused() {
    let words = token().words().to_string();
    let longer = format!("{words}a");
    for wrong in ["", "a", &words[1..], longer.as_str(), &words.replace('-', "!"), &words.replace('-', "1")] {
        assert!(Token::parse(wrong).is_none(), "{wrong}");
    }
}

/// What both ends of a connection make of each other, each with a token.
fn meet(campaign: Token, agent: Token) -> (Result<Channel, Reason>, Result<Channel, Reason>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = listener.local_addr().expect("bound");
    let waiting = thread::spawn(move || {
        let (socket, _) = listener.accept().expect("a connection");
        Channel::respond(socket, &Lab::of(agent.authority()).expect("a lab"))
    });
    let socket = TcpStream::connect(address).expect("a listener");
    let there = Channel::initiate(socket, &Lab::of(campaign.authority()).expect("a lab"));
    (there, waiting.join().expect("no panic"))
}

fn copy(token: &Token) -> Token {
    Token::parse(&token.words()).expect("a token")
}

#[test]
fn the_token_lets_in_and_messages_of_every_length_arrive_whole() {
    let token = token();
    let (campaign, agent) = meet(copy(&token), token);
    let (mut campaign, mut agent) = (campaign.expect("let in"), agent.expect("let in"));
    for length in [0, 1, 8191, 8192, 100_000] {
        campaign.send(&"x".repeat(length)).expect("sent");
        assert_eq!(agent.receive::<String>().expect("received").len(), length);
        agent.send(&Answer::Refused("y".repeat(length))).expect("sent");
        let Ok(Answer::Refused(reason)) = campaign.receive() else { panic!("another answer") };
        assert_eq!(reason.len(), length);
    }
}

#[test]
fn another_token_is_refused_by_both_sides() {
    let (campaign, agent) = meet(token(), token());
    assert!(campaign.is_err());
    assert!(agent.is_err());
}
