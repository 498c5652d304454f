//! A small BitTorrent peer for interoperability tests: it fetches or serves one file over MSE.
//!
//! ```text
//! mse_peer fetch ADDRESS HASH LENGTH PIECE_LENGTH FILE [--policy P] [--methods HEX] [--group BITS] [--seconds N]
//! mse_peer serve ADDRESS HASH FILE PIECE_LENGTH [--policy P] [--methods HEX] [--group BITS] [--seconds N] [--prefer METHOD]
//! ```
//!
//! It prints one line of `key=value` pairs when done. It trusts its peer and keeps no pieces apart, which
//! a real client must not; the test compares the file.

use core::net::SocketAddr;
use core::time::Duration;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;
use std::time::Instant;

use schwann_mse::net::{Acceptor, Connection, Dialler};
use schwann_mse::policy::Policy;
use schwann_mse::stream::Stream;
use schwann_mse::{BtHandshake, Group, InfoHash, Method, Methods};

type Outcome<T> = Result<T, Box<dyn core::error::Error>>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mse_peer: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Outcome<()> {
    let mut words = Vec::new();
    let (mut policy, mut methods, mut prefer) = (Policy::Required, None, None);
    let (mut group, mut timeout) = (Group::Mse768, Duration::from_secs(10));
    let mut arguments = std::env::args().skip(1);
    while let Some(word) = arguments.next() {
        let mut value = || arguments.next().ok_or("an option needs a value");
        match word.as_str() {
            "--policy" => policy = Policy::parse(&value()?).ok_or("no such policy")?,
            "--group" if value()? == "1024" => group = Group::Oakley1024,
            "--seconds" => timeout = Duration::from_secs(value()?.parse()?),
            "--methods" => methods = Some(u32::from_str_radix(&value()?, 16)?),
            "--prefer" => {
                let name = value()?;
                prefer = Method::ALL.into_iter().find(|method| method.name() == name);
            }
            _ => words.push(word),
        }
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let methods = methods.map(Methods::from_bits);
    match words[..] {
        ["fetch", peer, hash, len, piece, file] => {
            let torrent = InfoHash::parse(hash).ok_or("no info hash")?;
            let layout = Layout { len: len.parse()?, piece: piece.parse()? };
            let mut dialler = Dialler::new(policy);
            dialler.methods = methods.unwrap_or(Methods::RC4);
            (dialler.group, dialler.timeout) = (group, timeout);
            let began = Instant::now();
            let connection = dialler.dial(peer.parse()?, &handshake(torrent))?;
            let shaken = began.elapsed();
            let data = fetch(connection, torrent, &layout, began, shaken)?;
            std::fs::write(file, data)?;
        }
        ["serve", address, hash, file, piece] => {
            let torrent = InfoHash::parse(hash).ok_or("no info hash")?;
            let mut acceptor = Acceptor::new(torrent, policy);
            (acceptor.group, acceptor.timeout) = (group, timeout);
            if let Some(methods) = methods {
                acceptor.accept.methods = methods;
            }
            if let Some(prefer) = prefer {
                acceptor.accept.preferred = prefer;
            }
            let data = std::fs::read(file)?;
            let layout = Layout { len: data.len(), piece: piece.parse()? };
            let listener = TcpListener::bind(address.parse::<SocketAddr>()?)?;
            println!("listening={}", listener.local_addr()?);
            loop {
                let (socket, _) = listener.accept()?;
                let began = Instant::now();
                match acceptor.accept(socket) {
                    Ok(connection) => serve(connection, torrent, &layout, &data, began)?,
                    Err(error) => println!("refused={error}"),
                }
            }
        }
        _ => return Err("see the first lines of examples/mse_peer.rs".into()),
    }
    Ok(())
}

struct Layout {
    len: usize,
    piece: usize,
}

impl Layout {
    fn blocks(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        (0..self.len).step_by(BLOCK).map(|at| {
            let end = (at + BLOCK).min(self.len);
            (at / self.piece, at % self.piece, end - at)
        })
    }
}

fn handshake(info_hash: InfoHash) -> BtHandshake {
    BtHandshake { reserved: [0; 8], info_hash, peer_id: *b"-SW0001-interoperate" }
}

fn expect_handshake(stream: &mut Stream<TcpStream>, torrent: InfoHash) -> Outcome<BtHandshake> {
    let mut bytes = [0; BtHandshake::LEN];
    stream.read_exact(&mut bytes)?;
    let theirs = BtHandshake::parse(&bytes).ok_or("no BitTorrent handshake")?;
    if theirs.info_hash != torrent {
        return Err("another torrent".into());
    }
    Ok(theirs)
}

fn say(stream: &mut Stream<TcpStream>, kind: u8, parts: &[&[u8]]) -> std::io::Result<()> {
    let len: usize = 1 + parts.iter().map(|part| part.len()).sum::<usize>();
    let mut message = (len as u32).to_be_bytes().to_vec();
    message.push(kind);
    message.extend(parts.iter().copied().flatten());
    stream.write_in_place(&mut message)
}

fn hear(stream: &mut Stream<TcpStream>) -> Outcome<Vec<u8>> {
    loop {
        let mut len = [0; 4];
        stream.read_exact(&mut len)?;
        let mut message = vec![0; u32::from_be_bytes(len) as usize];
        stream.read_exact(&mut message)?;
        if !message.is_empty() {
            return Ok(message);
        }
    }
}

fn word(value: usize) -> [u8; 4] {
    (value as u32).to_be_bytes()
}

fn fetch(
    connection: Connection,
    torrent: InfoHash,
    layout: &Layout,
    began: Instant,
    shaken: Duration,
) -> Outcome<Vec<u8>> {
    let attempt = connection.attempt;
    let mut stream = connection.stream;
    expect_handshake(&mut stream, torrent)?;
    let answered = began.elapsed();
    say(&mut stream, INTERESTED, &[])?;
    while hear(&mut stream)?[0] != UNCHOKE {}
    let mut data = vec![0; layout.len];
    let mut wanted = layout.blocks();
    let mut under_way = 0;
    let mut got = 0;
    while got < layout.len {
        while under_way < 32 {
            let Some((piece, offset, len)) = wanted.next() else { break };
            say(&mut stream, REQUEST, &[&word(piece), &word(offset), &word(len)])?;
            under_way += 1;
        }
        let message = hear(&mut stream)?;
        if message[0] == PIECE {
            let at = |n: usize| u32::from_be_bytes(message[n..n + 4].try_into().expect("four")) as usize;
            let start = at(1) * layout.piece + at(5);
            data[start..start + message.len() - 9].copy_from_slice(&message[9..]);
            got += message.len() - 9;
            under_way -= 1;
        }
    }
    println!(
        "method={} attempt={attempt:?} shaken_ms={:.2} answered_ms={:.2} bytes={got}",
        stream.method(),
        shaken.as_secs_f64() * 1e3,
        answered.as_secs_f64() * 1e3
    );
    Ok(data)
}

fn serve(
    connection: Connection,
    torrent: InfoHash,
    layout: &Layout,
    data: &[u8],
    began: Instant,
) -> Outcome<()> {
    let (attempt, shaken) = (connection.attempt, began.elapsed());
    let mut stream = connection.stream;
    if expect_handshake(&mut stream, torrent).is_err() {
        println!("refused=another torrent");
        return Ok(());
    }
    println!("method={} attempt={attempt:?} shaken_ms={:.2}", stream.method(), shaken.as_secs_f64() * 1e3);
    let pieces = layout.len.div_ceil(layout.piece);
    let mut have = vec![0; pieces.div_ceil(8)];
    (0..pieces).for_each(|n| have[n / 8] |= 0x80 >> (n % 8));
    stream.write_all(&handshake(torrent).encode())?;
    say(&mut stream, BITFIELD, &[&have])?;
    say(&mut stream, UNCHOKE, &[])?;
    // The peer leaves when it has everything.
    while let Ok(message) = hear(&mut stream) {
        if message[0] == REQUEST {
            let at = |n: usize| u32::from_be_bytes(message[n..n + 4].try_into().expect("four")) as usize;
            let start = at(1) * layout.piece + at(5);
            let block = &data[start..start + at(9)];
            if say(&mut stream, PIECE, &[&message[1..9], block]).is_err() {
                break;
            }
        }
    }
    println!("bytes={}", stream.transferred().1);
    Ok(())
}

const BLOCK: usize = 16 * 1024;
const UNCHOKE: u8 = 1;
const INTERESTED: u8 = 2;
const BITFIELD: u8 = 5;
const REQUEST: u8 = 6;
const PIECE: u8 = 7;
