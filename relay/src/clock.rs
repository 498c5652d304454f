//! Clock probes. A member asks an edge for its clock, and bounds the error by the way there and back (relay §12).
//! The answer also says what the edge still has to hand over.

use schwann_session::{
    Calendar, Certificate, Credentials, Lab, LabId, RevocationList, Roles, UnixSeconds, bytes::Reader,
};

use crate::{
    names::{RunId, StreamId},
    signed::{self, Magic, Refused},
};

/// Names a probe: 16 random bytes of the member that asks.
pub type ProbeId = [u8; 16];

/// A probe or its answer, whose signature was checked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockMessage {
    /// The stream.
    pub stream: StreamId,
    /// The run.
    pub run: RunId,
    /// Which probe.
    pub probe: ProbeId,
    /// What the edge answers; nothing in a probe.
    pub answer: Option<ClockAnswer>,
    /// The device that says it.
    pub certificate: Certificate,
}

/// What an edge says of its clock and the stream's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockAnswer {
    /// When the probe came, in seconds on the edge's clock.
    pub received: f64,
    /// When the answer went, in seconds on the edge's clock.
    pub sent: f64,
    /// Seconds to add to the stream's stamps to have them on the edge's clock.
    pub stream_offset: f64,
    /// Most seconds by which `stream_offset` may be wrong.
    pub stream_bound: f64,
    /// When the answer went, in seconds since 1970 on the edge's wall clock.
    pub wall: f64,
    /// Most seconds by which `wall` may be wrong, as the edge's time service says; infinite if none says.
    pub wall_bound: f64,
    /// What the hub has not acknowledged of the stream.
    pub backlog: Backlog,
}

/// What an edge still has to hand over to its hub.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Backlog {
    /// Blocks of all runs.
    pub blocks: u64,
    /// Seconds of the stream that these hold.
    pub seconds: f64,
}

impl Backlog {
    fn is_proper(self) -> bool {
        self.blocks <= MAX_BLOCKS && (0.0..=MAX_SECONDS).contains(&self.seconds)
    }

    /// Whether it is more than is always on its way.
    #[must_use]
    pub fn is_behind(self) -> bool {
        self.seconds > ON_ITS_WAY_S
    }
}

impl ClockAnswer {
    /// Seconds to add to the stream's stamps to have them on the member's clock, and the greatest error of that. The probe
    /// went at `asked` and its answer came at `answered`, on the member's clock.
    ///
    /// Nothing if the numbers contradict each other.
    #[must_use]
    pub fn offset(&self, asked: f64, answered: f64) -> Option<(f64, f64)> {
        let way = (answered - asked) - (self.sent - self.received);
        let edge = ((asked - self.received) + (answered - self.sent)) / 2.0;
        let (offset, bound) = (edge + self.stream_offset, way / 2.0 + self.stream_bound);
        (way >= 0.0 && self.sent >= self.received && offset.is_finite() && bound.is_finite())
            .then_some((offset, bound))
    }
}

impl ClockAnswer {
    /// The same as [`Self::offset`] by the wall clocks of both ends alone, without the way through the hub: for an answer that came
    /// at `answered` on the member's clock, and at `wall` by its wall clock, which may be wrong by `wall_bound`.
    ///
    /// Nothing if one end has no time service that bounds its error.
    #[must_use]
    pub fn offset_by_wall(&self, answered: f64, wall: f64, wall_bound: f64) -> Option<(f64, f64)> {
        let edge = (answered - wall) - (self.sent - self.wall);
        let (offset, bound) = (edge + self.stream_offset, self.wall_bound + wall_bound + self.stream_bound);
        (offset.is_finite() && bound.is_finite()).then_some((offset, bound))
    }
}

impl ClockMessage {
    /// Reads a message of the lab, and checks that its device may say this.
    ///
    /// - Errors: [`Refused`]; the message counts for nothing.
    pub fn parse<B: AsRef<[u8]>>(
        message: &[u8],
        lab: &Lab,
        now: UnixSeconds,
        revoked: &RevocationList<B>,
    ) -> Result<Self, Refused> {
        let (body, signature) = signed::split(message, MAGIC)?;
        let (of_lab, certificate, parsed) = parse_body(body).ok_or(Refused::Malformed)?;
        if of_lab != lab.id() {
            return Err(Refused::Foreign);
        }
        let role = if parsed.2.is_some() { Roles::PUBLISH } else { Roles::SUBSCRIBE };
        let certificate = signed::admit(&certificate, role, lab, Calendar::Known(now), revoked)?;
        signed::verify(body, signature, &certificate.statement.device)?;
        let ((stream, run), probe, answer) = parsed;
        Ok(Self { stream, run, probe, answer, certificate })
    }

    /// Makes a probe, or the answer to one.
    #[must_use]
    pub fn encode(
        (lab, stream, run): (LabId, StreamId, RunId),
        probe: ProbeId,
        answer: Option<ClockAnswer>,
        credentials: &Credentials,
    ) -> Vec<u8> {
        let mut message = MAGIC.to_vec();
        message.extend_from_slice(&lab.0);
        message.extend_from_slice(&stream.0);
        message.extend_from_slice(&run.0);
        message.extend_from_slice(&credentials.certificate().encode());
        message.extend_from_slice(&[u8::from(answer.is_some()), 0, 0, 0, 0, 0, 0, 0]);
        message.extend_from_slice(&probe);
        let one = answer.unwrap_or(ClockAnswer::NONE);
        let times = [one.received, one.sent, one.stream_offset, one.stream_bound, one.wall, one.wall_bound];
        times.iter().for_each(|time| message.extend_from_slice(&time.to_le_bytes()));
        message.extend_from_slice(&one.backlog.blocks.to_le_bytes());
        message.extend_from_slice(&one.backlog.seconds.to_le_bytes());
        signed::sign(&mut message, credentials);
        message
    }
}

type Parsed = ((StreamId, RunId), ProbeId, Option<ClockAnswer>);

fn parse_body(body: &[u8]) -> Option<(LabId, [u8; Certificate::LEN], Parsed)> {
    let mut reader = Reader::new(body);
    reader.array::<4>()?;
    let lab = LabId(reader.array()?);
    let names = (StreamId(reader.array()?), RunId(reader.array()?));
    let certificate = reader.array()?;
    let is_answer = match reader.array::<8>()? {
        [0, 0, 0, 0, 0, 0, 0, 0] => false,
        [1, 0, 0, 0, 0, 0, 0, 0] => true,
        _ => return None,
    };
    let probe = reader.array()?;
    let answer = parse_answer(&mut reader)?;
    let proper = match is_answer {
        true => answer.stream_bound >= 0.0 && answer.wall_bound >= 0.0 && answer.backlog.is_proper(),
        false => answer == ClockAnswer::NONE,
    };
    (proper && reader.rest().is_empty()).then_some((
        lab,
        certificate,
        (names, probe, is_answer.then_some(answer)),
    ))
}

fn parse_answer(reader: &mut Reader<'_>) -> Option<ClockAnswer> {
    let mut word = || reader.array::<8>();
    Some(ClockAnswer {
        received: f64::from_le_bytes(word()?),
        sent: f64::from_le_bytes(word()?),
        stream_offset: f64::from_le_bytes(word()?),
        stream_bound: f64::from_le_bytes(word()?),
        wall: f64::from_le_bytes(word()?),
        wall_bound: f64::from_le_bytes(word()?),
        backlog: Backlog { blocks: u64::from_le_bytes(word()?), seconds: f64::from_le_bytes(word()?) },
    })
}

impl ClockAnswer {
    /// What stands in a probe.
    const NONE: Self = Self {
        received: 0.0,
        sent: 0.0,
        stream_offset: 0.0,
        stream_bound: 0.0,
        wall: 0.0,
        wall_bound: 0.0,
        backlog: Backlog { blocks: 0, seconds: 0.0 },
    };
}

/// A hub far away acknowledges within this time, in seconds.
const ON_ITS_WAY_S: f64 = 1.0;
/// What a screen has room for, and no journal reaches.
const MAX_BLOCKS: u64 = 1_000_000_000_000;
const MAX_SECONDS: f64 = 1e9;
const MAGIC: Magic = *b"SRC\x01";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::cut;

    #[test]
    fn the_offset_is_right_within_its_bound_however_the_way_is_split() {
        // The edge's clock is 100 s ahead of ours, the stream's 7 s behind the edge's.
        for (there, back) in [(0.02, 0.02), (0.0, 0.04), (0.5, 0.01)] {
            let asked = 50.0;
            let received = asked + there + 100.0;
            let sent = received + 0.003;
            let answered = sent + back - 100.0;
            let answer =
                ClockAnswer { received, sent, stream_offset: 7.0, stream_bound: 0.001, ..ClockAnswer::NONE };
            let (offset, bound) = answer.offset(asked, answered).expect("plausible");
            assert!((offset - (7.0 - 100.0)).abs() <= bound, "{offset} {bound}");
            assert!(bound <= (there + back) / 2.0 + 0.0011);
        }
    }

    #[test]
    fn numbers_that_contradict_each_other_are_no_offset() {
        let answer = ClockAnswer { received: 5.0, sent: 5.0, stream_offset: f64::NAN, ..ClockAnswer::NONE };
        assert_eq!(answer.offset(1.0, 2.0), None);
        assert_eq!(ClockAnswer { stream_offset: 0.0, ..answer }.offset(2.0, 1.0), None);
        assert_eq!(ClockAnswer { stream_offset: 0.0, sent: 4.0, ..answer }.offset(1.0, 2.0), None);
    }
    #[test]
    fn wall_clocks_give_the_offset_without_the_way() {
        // The edge's clock shows 150 when its wall clock shows 1,000.02; ours shows 40 half a second later.
        let answer = ClockAnswer {
            received: 150.0,
            sent: 150.0,
            stream_offset: 7.0,
            stream_bound: 0.001,
            wall: 1000.02,
            wall_bound: 0.03,
            ..ClockAnswer::NONE
        };
        let (offset, bound) = answer.offset_by_wall(40.5, 1000.5, 0.01).expect("both are bounded");
        assert!((offset - (7.0 - 110.0)).abs() <= bound && (bound - 0.041).abs() < 1e-9, "{offset} {bound}");
        assert_eq!(answer.offset_by_wall(40.5, 1000.5, f64::INFINITY), None);
        let unkept = ClockAnswer { wall_bound: f64::INFINITY, ..answer };
        assert_eq!(unkept.offset_by_wall(40.5, 1000.5, 0.01), None);
    }

    #[test]
    fn an_answer_is_read_whole_or_not_at_all() {
        let times = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0_f64].map(f64::to_le_bytes).concat();
        let kind = [1, 0, 0, 0, 0, 0, 0, 0];
        let head = [0; 240];
        let backlog = [&12_u64.to_le_bytes()[..], &2.4_f64.to_le_bytes()].concat();
        let body = [&MAGIC[..], &head, &kind, &[7; 16], &times, &backlog].concat();
        let (_, _, (_, probe, answer)) = parse_body(&body).unwrap();
        let expected = ClockAnswer {
            received: 1.0,
            sent: 2.0,
            stream_offset: 3.0,
            stream_bound: 4.0,
            wall: 5.0,
            wall_bound: 6.0,
            backlog: Backlog { blocks: 12, seconds: 2.4 },
        };
        assert_eq!((probe, answer), ([7; 16], Some(expected)));
        assert!(cut(&body).all(|part| parse_body(part).is_none()));
        for seconds in [f64::NAN, -1.0, f64::INFINITY, 1e308] {
            let body = [&body[..body.len() - 8], &seconds.to_le_bytes()].concat();
            assert!(parse_body(&body).is_none(), "a backlog of {seconds} s");
        }
        let blocks = [&body[..body.len() - 16], &u64::MAX.to_le_bytes(), &2.4_f64.to_le_bytes()].concat();
        assert!(parse_body(&blocks).is_none());
    }
}
