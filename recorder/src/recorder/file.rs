//! The file of a recording: its own streams as far as there are any yet, and what its certificate will say.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use schwann::security::Member;
use schwann::{Context, StreamInfo, local_clock};
use schwann_xdf::{
    CreateError, Failure, Options, Proof, PushError, Readers, Recipients, StreamWriter, Summary, Writer,
};
use sha2::{Digest as _, Sha256};

use super::{lock, may_be_sealed};
use crate::certificate::{Certificate, Events, Facts, StreamAccount, content_name, hex, write_beside};
use crate::naming::is_packed;
use crate::status::RecordingStream;

/// The file, and its own streams as far as there are any yet.
pub(super) struct File {
    pub(super) writer: Writer,
    pub(super) events: Mutex<Option<StreamWriter>>,
    pub(super) annotations: Mutex<Option<StreamWriter>>,
    pub(super) certified: Certified,
}

/// What the certificate of a file needs, beside the file itself.
pub(super) struct Certified {
    pub(super) path: PathBuf,
    /// In seconds since 1970.
    pub(super) began: u64,
    pub(super) happened: Mutex<Events>,
    pub(super) member: Option<Arc<Member>>,
    pub(super) sealed_to: Option<Recipients>,
}

/// A file that is complete.
#[derive(Debug)]
#[non_exhaustive]
pub struct Finished {
    /// What is in the file.
    pub summary: Summary,
    /// Where every stream stood when it left the file.
    pub streams: Vec<RecordingStream>,
    /// Why the file has no certificate; nothing if it has one. Without it, the file has checksums alone.
    pub uncertified: Option<io::Error>,
}

impl Certified {
    pub(super) fn begin(path: &Path, context: &Context, sealed_to: Option<&Recipients>) -> Self {
        let member = context.trust().ok().and_then(|trust| trust.member().cloned());
        let (path, sealed_to) = (path.to_owned(), sealed_to.cloned());
        let one = Self { path, began: unix_seconds(), happened: Mutex::default(), member, sealed_to };
        one.note("start");
        one
    }

    pub(super) fn note(&self, what: &str) {
        lock(&self.happened).note(what);
    }

    /// Writes the certificate of the finished file.
    pub(super) fn write(self, proof: Proof, streams: Vec<StreamAccount>) -> io::Result<PathBuf> {
        self.note("stop");
        let facts = Facts {
            name: content_name(&self.path),
            sealed_to: self.sealed_to.as_ref().map(ToString::to_string),
            proof,
            wall_clock: [self.began, unix_seconds()],
            streams,
            events: lock(&self.happened).list(),
            replaces: None,
        };
        let member = self.member.as_deref();
        write_beside(&self.path, &Certificate::encode(&facts.statement(member), member))
    }
}

impl File {
    pub(super) fn create(
        path: &Path,
        context: &Context,
        sealed_to: Option<&Recipients>,
    ) -> Result<Self, CreateError> {
        let mut options = Options::default();
        // What was sealed on its way is not for other users of the computer.
        let is_private = sealed_to.is_some() || may_be_sealed(context);
        options.readers = if is_private { Readers::Owner } else { Readers::AsUsual };
        let is_packed = is_packed(path);
        let writer = match sealed_to {
            Some(_) if is_packed => return Err(CreateError::SealedPacked),
            Some(recipients) => Writer::create_sealed(path, options, recipients)?,
            None if is_packed => Writer::create_packed(path, options)?,
            None => Writer::create(path, options)?,
        };
        let certified = Certified::begin(path, context, sealed_to);
        Ok(Self { writer, events: Mutex::default(), annotations: Mutex::default(), certified })
    }

    pub(super) fn annotate(&self, text: &str, stamp: f64) -> Result<(), PushError> {
        // The certificate of a sealed recording lies open: it proves what was said, and does not tell it.
        let noted = match self.certified.sealed_to {
            Some(_) => format!("note with the SHA-256 {}", hex(&Sha256::digest(text).into())),
            None => format!("note: {text}"),
        };
        self.certified.note(&noted);
        self.say(&self.annotations, ANNOTATIONS_HEADER, text, stamp)
    }

    /// Records that something happened to the recording as a whole.
    pub(super) fn note(&self, text: &str) {
        self.certified.note(text);
        // A file that takes no more says so by itself; see `Health::failure`.
        let _ = self.say(&self.events, EVENTS_HEADER, text, local_clock());
    }

    /// Completes the file and its certificate.
    pub(super) fn finish(self, accounts: Vec<StreamAccount>) -> Result<Finished, Failure> {
        drop((self.events, self.annotations));
        let summary = self.writer.finish()?;
        // Beside a file that is not there, a certificate would prove nothing.
        if !self.certified.path.exists() {
            return Err(Failure::Gone);
        }
        let streams = accounts.iter().map(|account| account.stream.clone()).collect();
        let uncertified = self.certified.write(summary.proof.clone(), accounts).err();
        Ok(Finished { summary, streams, uncertified })
    }

    /// Records that something happened to a stream now.
    pub(super) fn event(&self, what: &str, info: &StreamInfo, id: u32) {
        self.note(&format!("{what}: {} (stream {id})", info.name()));
    }

    /// Adds a text to a stream of the file's own, which begins with the first.
    pub(super) fn say(
        &self,
        stream: &Mutex<Option<StreamWriter>>,
        header: &str,
        text: &str,
        stamp: f64,
    ) -> Result<(), PushError> {
        let mut stream = lock(stream);
        if stream.is_none() {
            *stream = self.writer.add_stream(header).ok();
        }
        let why = || PushError::Failed(self.writer.health().failure.unwrap_or(Failure::Internal));
        let stream = stream.as_ref().ok_or_else(why)?;
        stream.push_text(&[stamp], &[text])?;
        stream.clock_offset(stamp, 0.0)
    }
}

fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

const EVENTS_HEADER: &str = "<?xml version=\"1.0\"?><info><name>Recorder</name><type>RecorderEvents</type>\
    <channel_count>1</channel_count><nominal_srate>0</nominal_srate><channel_format>string</channel_format>\
    <source_id>schwann-recorder</source_id><created_at>0</created_at><desc /></info>";
const ANNOTATIONS_HEADER: &str = "<?xml version=\"1.0\"?><info><name>Annotations</name><type>Markers</type>\
    <channel_count>1</channel_count><nominal_srate>0</nominal_srate><channel_format>string</channel_format>\
    <source_id>schwann-annotations</source_id><created_at>0</created_at><desc /></info>";
