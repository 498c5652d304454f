//! The same connection through tokio's traits.

mod support;

use core::future::poll_fn;
use core::pin::pin;
use core::task::Poll;
use std::io::IoSliceMut;

use schwann_mse::aio::{AsyncReader, AsyncWriter, drive, split};
use schwann_mse::{
    Accept, BtHandshake, Draw, Group, InfoHash, Initiator, Method, Methods, Offer, Responder, Status,
};
use support::Random;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

type Halves = (AsyncReader<OwnedReadHalf>, AsyncWriter<OwnedWriteHalf>);

const TORRENT: InfoHash = InfoHash([0x24; 20]);

async fn shake(mut socket: TcpStream, machine: &mut (dyn schwann_mse::Handshake + Send)) -> Halves {
    socket.set_nodelay(true).expect("a socket");
    let (status, rest) = drive(&mut socket, machine, |_| {}).await.expect("both follow the rules");
    let Status::Established(established) = status else { panic!("no agreement") };
    split(socket, *established, &rest)
}

async fn pair(method: Method) -> (Halves, Halves) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let address = listener.local_addr().expect("bound");
    let initial = BtHandshake { reserved: [0; 8], info_hash: TORRENT, peer_id: [1; 20] };
    let offer = Offer::new(Methods::of(&Method::ALL), initial.encode().to_vec());
    let draw = || Draw::system(Group::Mse768).expect("randomness");
    let mut a = Initiator::new(TORRENT, offer, draw()).expect("IA fits");
    let mut b = Responder::new(TORRENT, Accept::new(Methods::of(&[method]), method), draw());
    let dial = async { shake(TcpStream::connect(address).await.expect("listening"), &mut a).await };
    let accept = async { shake(listener.accept().await.expect("a peer").0, &mut b).await };
    tokio::join!(dial, accept)
}

#[tokio::test]
async fn megabytes_cross_in_both_directions_at_once_under_every_method() {
    for method in Method::ALL {
        let ((mut reader_a, mut writer_a), (mut reader_b, mut writer_b)) = pair(method).await;
        let block = Random(14).bytes(3_000_000);
        let mut initial = [0; 68];
        reader_b.read_exact(&mut initial).await.expect("the initial payload");
        assert!(BtHandshake::parse(&initial).is_some());
        let send_a = async {
            writer_a.write_all(&block).await.expect("sent");
            writer_a.flush().await.expect("flushed");
        };
        let send_b = async {
            for piece in block.chunks(70_000) {
                writer_b.write_in_place(&mut piece.to_vec()).await.expect("sent");
            }
            writer_b.shutdown().await.expect("closed");
        };
        let receive_b = async {
            let mut got = vec![0; block.len()];
            reader_b.read_exact(&mut got).await.expect("all of it");
            assert!(got == block);
        };
        let receive_a = async {
            let mut got = Vec::new();
            loop {
                let (mut first, mut second) = ([0; 1_000], [0; 50_000]);
                let mut slices = [IoSliceMut::new(&mut first), IoSliceMut::new(&mut second)];
                match reader_a.read_vectored(&mut slices).await.expect("bytes") {
                    0 => break,
                    len => got.extend_from_slice(&[&first[..], &second].concat()[..len]),
                }
            }
            assert!(got == block);
        };
        tokio::join!(send_a, send_b, receive_a, receive_b);
    }
}

#[tokio::test]
async fn futures_dropped_half_way_lose_and_repeat_nothing() {
    let ((_, mut writer), (mut reader, _)) = pair(Method::Rc4).await;
    let plain = Random(15).bytes(8_000_000);
    reader.read_exact(&mut [0; 68]).await.expect("the initial payload");
    let send = async {
        let mut at = 0;
        while at < plain.len() {
            // Polled once and dropped if it is not ready: the transport is often full.
            let mut write = pin!(writer.write(&plain[at..]));
            match poll_fn(|context| Poll::Ready(write.as_mut().poll(context))).await {
                Poll::Ready(count) => at += count.expect("sent"),
                Poll::Pending => tokio::task::yield_now().await,
            }
        }
        writer.flush().await.expect("flushed");
    };
    let receive = async {
        let mut got = Vec::with_capacity(plain.len());
        let mut buffer = vec![0; 30_000];
        while got.len() < plain.len() {
            let mut read = pin!(reader.read(&mut buffer));
            match poll_fn(|context| Poll::Ready(read.as_mut().poll(context))).await {
                Poll::Ready(len) => {
                    let len = len.expect("bytes");
                    got.extend_from_slice(&buffer[..len]);
                }
                Poll::Pending => tokio::task::yield_now().await,
            }
        }
        assert!(got == plain);
    };
    tokio::join!(send, receive);
}
