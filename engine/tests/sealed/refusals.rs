//! What people read at either end when two programs have no session: the reason, and the command that mends it.

use core::time::Duration;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use schwann::inlet::{Inlet, Recover};
use schwann::outlet::Outlet;
use schwann::security::{self, advice};
use schwann::security::{Member, Policy, Trust};
use schwann::{Config, Context, StreamInfo};
use schwann_proto::stream_info::IpVersion;
use schwann_session::{Refusal, Roles, Statement, UnixSeconds};

use crate::sealing::{LONG, Lab, context, description_of, inlet_of, network, outlet};

/// The security log of this process, which both ends write to.
struct Journal(PathBuf);

impl Journal {
    /// All tests of this process share one.
    fn get() -> &'static Self {
        static JOURNAL: OnceLock<Journal> = OnceLock::new();
        JOURNAL.get_or_init(|| {
            let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
                .join(format!("refusals-{}.log", std::process::id()));
            let _ = std::fs::remove_file(&path);
            security::log_to(&path);
            Self(path)
        })
    }

    /// Waits for the first event of `side` about the outlet, and returns its kind and reason. Events of unanswered
    /// searches follow.
    fn wait_for(&self, side: &str, uid: &str) -> (String, String) {
        let deadline = Instant::now() + Duration::from_secs_f64(LONG);
        while Instant::now() < deadline {
            let of_strangers = self.0.with_added_extension("strangers");
            let text =
                [&self.0, &of_strangers].map(|path| std::fs::read_to_string(path).expect("the log")).concat();
            for line in text.lines() {
                let event: serde_json::Value = serde_json::from_str(line).expect("a line of JSON");
                let is = |key: &str, value: &str| event[key] == value;
                if is("side", side) && is("uid", uid) && !is("event", "connect") {
                    let text = |key: &str| event[key].as_str().expect("text").to_owned();
                    return (text("event"), text("reason"));
                }
            }
            std::thread::yield_now();
        }
        panic!("nothing of the {side} in the log");
    }
}

/// A policy, and what a member is made from.
type End = (Policy, Option<Member>);

/// Lets two ends meet; returns them with the outlet's UID.
fn meet(sending: End, receiving: End, pause: Duration) -> (Outlet, Inlet, String) {
    let network = network();
    let outlet = outlet(&context(&network, sending.0, sending.1)).expect("an outlet");
    let receiving = context(&network, receiving.0, receiving.1);
    let inlet = inlet_of(&description_of(&outlet), &receiving, Recover::BySourceId).expect("an inlet");
    std::thread::sleep(pause);
    assert!(inlet.open_stream(1.0).is_err());
    let uid = outlet.info().uid().to_string();
    (outlet, inlet, uid)
}

fn require(member: Member) -> End {
    (Policy::Require, Some(member))
}

#[test]
fn both_ends_say_why_there_is_no_session_and_what_mends_it() {
    let journal = Journal::get();
    let (lab, other) = (Lab::new(), Lab::new());
    // Valid when its program starts, and not when it connects.
    let brief = |serial| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
        lab.member(serial, |statement| statement.not_after = UnixSeconds(now + 5))
    };
    let knowing = lab.with_revoked(9);
    let good = || require(lab.member(1, |_| {}));
    let plain = || (Policy::Off, None);
    // Long enough that even a busy machine starts both programs before.
    let expiry = Duration::from_secs(6);
    let none = Duration::ZERO;
    use Refusal::{Expired, MembersOnly, NoKeys, PlainPeer, RefusedByPeer, Revoked, WrongLab};
    type Ends<'a> = &'a dyn Fn() -> (End, End);
    let cases: [(Ends<'_>, Duration, Refusal, Refusal); 6] = [
        (&|| (good(), require(other.member(1, |_| {}))), none, RefusedByPeer, WrongLab),
        (&|| (good(), require(brief(5))), expiry, Expired, Expired),
        (&|| (require(brief(6)), good()), expiry, RefusedByPeer, Expired),
        (&|| (require(knowing.member(1, |_| {})), require(lab.member(9, |_| {}))), none, Revoked, Revoked),
        (&|| (good(), plain()), none, PlainPeer, MembersOnly),
        (&|| (plain(), good()), none, NoKeys, PlainPeer),
    ];
    for (ends, pause, at_outlet, at_inlet) in cases {
        let (sending, receiving) = ends();
        let (_outlet, inlet, uid) = meet(sending, receiving, pause);
        let (kind, reason) = journal.wait_for("outlet", &uid);
        assert_eq!(reason, at_outlet.to_string());
        assert_eq!(kind == "downgrade", at_outlet == PlainPeer, "{reason}");
        assert_eq!(journal.wait_for("inlet", &uid).1, at_inlet.to_string());
        assert_eq!(inlet.refusal(), Some(at_inlet));
        for refusal in [at_outlet, at_inlet] {
            assert!(advice(refusal).contains('`'), "{refusal}: a command");
        }
    }
}

#[test]
fn an_end_that_cannot_seal_says_so_at_once() {
    let lab = Lab::new();
    let far = UnixSeconds(u64::MAX - 1);
    let member = |change: fn(&mut Statement)| Some(lab.member(1, change));
    let plain = outlet(&context(&network(), Policy::Off, None)).expect("an outlet");
    for (role, end, word, command) in [
        (Roles::PUBLISH, None, "no key", "`schwann keys init`"),
        (
            Roles::PUBLISH,
            member(|s| s.roles = Roles::SUBSCRIBE),
            "does not permit this role",
            "`schwann keys issue`",
        ),
        (
            Roles::SUBSCRIBE,
            member(|s| s.roles = Roles::PUBLISH),
            "does not permit this role",
            "`schwann keys issue`",
        ),
        (Roles::PUBLISH, member(|s| s.not_after = UnixSeconds(1)), "has expired", "`schwann keys join`"),
        (Roles::SUBSCRIBE, member(|s| s.not_after = UnixSeconds(1)), "has expired", "`schwann keys join`"),
        (Roles::PUBLISH, Some(lab.member(1, |s| s.not_before = far)), "not valid yet", "timedatectl"),
        (Roles::SUBSCRIBE, Some(lab.member(1, |s| s.not_before = far)), "not valid yet", "timedatectl"),
        (Roles::SUBSCRIBE, None, "no key", "`schwann keys join`"),
    ] {
        let context = context(&network(), Policy::Require, end);
        let failed = match role {
            Roles::PUBLISH => outlet(&context).is_err(),
            _ => inlet_of(&description_of(&plain), &context, Recover::No).is_err(),
        };
        let reason = security::reason();
        assert!(failed && reason.contains(word) && reason.contains(command), "{word}: {reason}");
    }
}

#[test]
fn versions_that_do_not_match_are_told_apart() {
    let journal = Journal::get();
    let lab = Lab::new();
    for (first_line, refusal) in [
        (&b"LSL:secure/0 hybrid\r\n"[..], Refusal::PeerTooOld),
        (b"LSL:secure/2 hybrid\r\n", Refusal::PeerTooNew),
    ] {
        let outlet =
            outlet(&context(&network(), Policy::Require, Some(lab.member(1, |_| {})))).expect("an outlet");
        let port = outlet.info().endpoint(IpVersion::V4).data_port;
        let mut client = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
        client.write_all(first_line).expect("sent");
        // The outlet answers or closes; the journal says why.
        let _ = client.read(&mut [0; 8]);
        assert_eq!(journal.wait_for("outlet", &outlet.info().uid().to_string()).1, refusal.to_string());
        assert!(advice(refusal).contains("`schwann --version`"));
    }
    // An outlet that does not know the first line closes at once, as plain LSL does.
    let old = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = old.local_addr().expect("bound").port();
    let closing = std::thread::spawn(move || drop(old.accept().expect("a client")));
    let mut info = StreamInfo::new("Old", "EEG", 1, 0.0, schwann::ChannelFormat::Int8, "old").expect("valid");
    info.reset_uid([3; 16]);
    info.set_address(IpVersion::V4, "127.0.0.1");
    info.set_ports(IpVersion::V4, port, port);
    let trust = Trust::new(Policy::Require, Some(lab.member(2, |_| {})));
    let context = Arc::new(Context::with_trust(Config::parse(&network()).expect("valid"), trust));
    let inlet = inlet_of(&info, &context, Recover::BySourceId).expect("an inlet");
    assert!(inlet.open_stream(1.0).is_err());
    assert_eq!(inlet.refusal(), Some(Refusal::PlainPeer));
    closing.join().expect("no panic");
}
