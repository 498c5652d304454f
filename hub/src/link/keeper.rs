//! One connection after the other, on the runtime's thread.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::sync::Arc;

use async_nats::connection::State;
use async_nats::datetime::DateTime;
use async_nats::jetstream::Context;
use async_nats::jetstream::consumer::{DeliverPolicy, pull::OrderedConfig};
use async_nats::jetstream::context::{ContextBuilder, PublishErrorKind};
use async_nats::jetstream::stream::{Config, DiscardPolicy, LastRawMessageErrorKind, StorageType};
use async_nats::{Client, ConnectError, ConnectErrorKind, ConnectOptions, Event as NatsEvent};
use futures_util::StreamExt as _;
use futures_util::stream::select_all;
use schwann::local_clock;
use tokio::sync::Notify;
use tokio::sync::mpsc::Receiver;
use tokio::time::sleep;

use super::problem::Problem;
use super::{Command, Event, Last, Since, Tell, pinned};
use crate::access::{Access, now};
use crate::address::Address;
use crate::server::is_new_enough;

/// What keeps a connection.
pub(super) struct Keeper {
    pub(super) address: Address,
    pub(super) access: Access,
    pub(super) subjects: Vec<String>,
    pub(super) tell: Tell,
}

impl Keeper {
    /// Connects again and again, until nothing asks for it any more.
    pub(super) async fn keep(self, mut commands: Receiver<Command>) {
        let mut pause = FIRST_PAUSE;
        loop {
            match self.connect().await {
                Ok(connection) => {
                    pause = FIRST_PAUSE;
                    match connection.serve(&self, &mut commands).await {
                        Some(problem) => self.tell.tell(Event::Disconnected(problem)).await,
                        None => return,
                    }
                }
                Err(problem) => self.tell.tell(Event::Disconnected(problem)).await,
            }
            if !refuse_for(pause, &mut commands, &self.tell).await {
                return;
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn connect(&self) -> Result<Session, Problem> {
        let lost = Arc::new(Notify::new());
        let mut problem = Problem::NotAdmitted;
        // A member that has not heard of the newest list still has the key before.
        for key in self.access.hub_keys() {
            let options = self.options(key.seed().unwrap_or_default(), Arc::clone(&lost))?;
            match options.connect(self.address.url()).await {
                Ok(client) => return self.settle(client, lost).await,
                Err(error) => problem = why_not(&error),
            }
            if problem != Problem::NotAdmitted {
                break;
            }
        }
        Err(problem)
    }

    fn options(&self, seed: String, lost: Arc<Notify>) -> Result<ConnectOptions, Problem> {
        let options = ConnectOptions::with_nkey(seed)
            .require_tls(true)
            .connection_timeout(CONNECT)
            .ping_interval(PING)
            .subscription_capacity(SUBSCRIBED)
            .max_reconnects(1)
            .ignore_discovered_servers()
            .event_callback(move |event| {
                if matches!(event, NatsEvent::Disconnected | NatsEvent::Closed) {
                    lost.notify_one();
                }
                core::future::ready(())
            });
        match self.address.pin() {
            Some(pin) => {
                let config = pinned::client(*pin).map_err(|error| Problem::Silent(error.to_string()))?;
                Ok(options.tls_client_config(config))
            }
            None => Ok(options),
        }
    }

    /// Makes sure that the hub serves, and keeps the lab's messages.
    async fn settle(&self, client: Client, lost: Arc<Notify>) -> Result<Session, Problem> {
        let version = client.server_info().version;
        if !is_new_enough(&version) {
            return Err(Problem::TooOld(version));
        }
        let context = ContextBuilder::new()
            .timeout(ANSWER)
            .ack_timeout(ANSWER)
            .max_ack_inflight(IN_FLIGHT)
            .build(client.clone());
        for config in logs(&self.access.lab_digits()) {
            context.get_or_create_stream(config).await.map_err(|error| Problem::NoLog(error.to_string()))?;
        }
        let mut subscribed = Vec::new();
        for subject in &self.subjects {
            let one = client.subscribe(subject.clone()).await;
            subscribed.push(one.map_err(|error| Problem::Silent(error.to_string()))?);
        }
        let lab = self.access.lab_digits();
        Ok(Session { context, lab, subscribed, lost, gone: Arc::default(), client })
    }
}

/// A connection that stands.
struct Session {
    client: Client,
    context: Context,
    lab: String,
    subscribed: Vec<async_nats::Subscriber>,
    lost: Arc<Notify>,
    /// The hub no longer has the lab's log.
    gone: Arc<AtomicBool>,
}

impl Session {
    /// Serves until the connection is gone, and returns why; nothing if nothing asks for it any more.
    async fn serve(mut self, keeper: &Keeper, commands: &mut Receiver<Command>) -> Option<Problem> {
        let tell = keeper.tell.clone();
        tell.tell(Event::Connected).await;
        let mut messages = select_all(core::mem::take(&mut self.subscribed));
        loop {
            tokio::select! {
                () = self.lost.notified() => {
                    if self.gone.load(Ordering::Acquire) || self.client.connection_state() != State::Connected {
                        return Some(Problem::Broken);
                    }
                }
                command = commands.recv() => match command {
                    Some(command) => self.obey(command, &tell).await,
                    None => return None,
                },
                Some(message) = messages.next() => {
                    tell.tell(Event::Message(message.payload.to_vec(), local_clock())).await;
                }
            }
        }
    }

    async fn obey(&self, command: Command, tell: &Tell) {
        match command {
            Command::Publish { subject, message, ticket } => {
                self.publish(subject, message, ticket, tell).await
            }
            Command::Send { subject, message } => {
                // A caller that needs an answer asks again.
                let _ = self.client.publish(subject, message.into()).await;
            }
            Command::Last(subject) => self.ask_for_last(subject, tell.clone()),
            Command::History(subjects, since) => self.ask_for_history(subjects, since, tell.clone()),
        }
    }

    fn ask_for_last(&self, subject: String, tell: Tell) {
        let (context, name) = (self.context.clone(), self.log_of(&subject));
        tokio::spawn(async move {
            match last(&context, name, &subject).await {
                Ok(last) => tell.tell(Event::Last(last)).await,
                Err(error) => tell.tell(unanswered(Command::Last(subject), &*error)).await,
            }
        });
    }

    fn ask_for_history(&self, subjects: Vec<String>, since: Since, tell: Tell) {
        let context = self.context.clone();
        let names = subjects.iter().map(|subject| self.log_of(subject)).collect::<Vec<_>>();
        tokio::spawn(async move {
            let mut failed = None;
            for (name, subject) in names.into_iter().zip(subjects.clone()) {
                failed = history(&context, name, (subject, since), &tell).await.err().or(failed);
            }
            let question = Command::History(subjects, since);
            match failed {
                None => tell.tell(Event::Answered(question)).await,
                Some(error) => tell.tell(unanswered(question, &*error)).await,
            }
        });
    }

    async fn publish(&self, subject: String, message: Vec<u8>, ticket: Option<u64>, tell: &Tell) {
        let sent = self.context.publish(subject, message.into()).await;
        let (tell, gone, lost) = (tell.clone(), Arc::clone(&self.gone), Arc::clone(&self.lost));
        tokio::spawn(async move {
            let outcome = match sent {
                Ok(acknowledgement) => acknowledgement.await.map(|kept| kept.sequence),
                Err(error) => Err(error),
            };
            let kept = outcome.map_err(|error| {
                if error.kind() == PublishErrorKind::StreamNotFound {
                    gone.store(true, Ordering::Release);
                    lost.notify_one();
                }
                refusal(&error)
            });
            match (ticket, kept) {
                (Some(ticket), Ok(place)) => tell.tell(Event::Acknowledged(ticket, place)).await,
                (Some(ticket), Err(problem)) => tell.tell(Event::Refused(ticket, problem)).await,
                (None, _) => {}
            }
        });
    }

    /// The name of the log that keeps a subject.
    fn log_of(&self, subject: &str) -> String {
        let kind = if subject.ends_with(".b") { BLOCKS } else { WORDS };
        format!("schwann_{}_{kind}", self.lab)
    }
}

fn unanswered(question: Command, error: &(dyn core::error::Error + 'static)) -> Event {
    Event::Unanswered(question, Problem::Unanswered(error_text(error)))
}

/// The last message on a subject; nothing if the hub says that there is none. An edge publishes its whole journal then, so
/// silence must not look like it.
async fn last(context: &Context, log: String, subject: &str) -> Result<Option<Last>, async_nats::Error> {
    let log = context.get_stream(log).await?;
    match log.get_last_raw_message_by_subject(subject).await {
        Ok(message) => Ok(Some(Last {
            message: message.payload.to_vec(),
            came: message.time.unix_timestamp(),
            place: message.sequence,
        })),
        Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Hands over what the hub has of the past on one subject, or on all that it stands for.
async fn history(
    context: &Context,
    log: String,
    (subject, since): (String, Since),
    tell: &Tell,
) -> Result<(), async_nats::Error> {
    let log = context.get_stream(log).await?;
    let config = OrderedConfig {
        filter_subject: subject,
        deliver_policy: since.policy()?,
        ..OrderedConfig::default()
    };
    let mut consumer = log.create_consumer(config).await?;
    if consumer.info().await?.num_pending == 0 {
        return Ok(());
    }
    let mut messages = consumer.messages().await?;
    while let Some(message) = tokio::time::timeout(ANSWER, messages.next()).await? {
        let message = message?;
        let left = message.info().map_or(0, |info| info.pending);
        tell.tell(Event::Message(message.payload.to_vec(), local_clock())).await;
        if left == 0 {
            break;
        }
    }
    Ok(())
}

impl Since {
    fn policy(self) -> Result<DeliverPolicy, async_nats::Error> {
        Ok(match self {
            Self::Beginning => DeliverPolicy::All,
            Self::LastOfEach => DeliverPolicy::LastPerSubject,
            Self::Seconds(seconds) => {
                let from = i64::try_from(now().0.saturating_sub(seconds))?;
                DeliverPolicy::ByStartTime { start_time: DateTime::from_unix_timestamp(from)? }
            }
        })
    }
}

/// Refuses what is asked for `pause`; says whether anything asks still.
async fn refuse_for(pause: Duration, commands: &mut Receiver<Command>, tell: &Tell) -> bool {
    let end = tokio::time::Instant::now() + pause;
    loop {
        tokio::select! {
            () = tokio::time::sleep_until(end) => return true,
            command = commands.recv() => match command {
                None => return false,
                Some(Command::Publish { ticket: Some(ticket), .. }) => {
                    tell.tell(Event::Refused(ticket, Problem::Broken)).await;
                }
                // Questions are asked again on the next connection.
                Some(Command::Last(_) | Command::History(..) | Command::Send { .. }) => {}
                Some(Command::Publish { ticket: None, .. }) => sleep(Duration::ZERO).await,
            },
        }
    }
}

/// How the hub keeps a lab's messages (relay §10.1).
fn logs(lab: &str) -> [Config; 2] {
    let log = |kind: &str, subjects: &[&str]| Config {
        name: format!("schwann_{lab}_{kind}"),
        subjects: subjects.iter().map(|end| format!("schwann.{lab}.{end}")).collect(),
        storage: StorageType::File,
        discard: DiscardPolicy::New,
        allow_direct: true,
        // A block opens only with the words of its run, so it goes with them.
        max_age: KEPT_FOR,
        ..Config::default()
    };
    let mut words = log(WORDS, &["*.m", "*.k", "*.r", "members", "revoked"]);
    // Of these the newest count; blocks are never dropped for newer ones.
    (words.discard, words.max_messages_per_subject) = (DiscardPolicy::Old, WORDS_PER_SUBJECT);
    [log(BLOCKS, &["*.b"]), words]
}

fn why_not(error: &ConnectError) -> Problem {
    let text = error_text(error);
    match error.kind() {
        ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => Problem::NotAdmitted,
        _ if text.contains("ApplicationVerificationFailure") => Problem::OtherCertificate,
        _ if text.to_lowercase().contains("authorization violation") => Problem::NotAdmitted,
        _ => Problem::Silent(text),
    }
}

fn refusal(error: &async_nats::jetstream::context::PublishError) -> Problem {
    match error.kind() {
        PublishErrorKind::TimedOut => Problem::Unacknowledged,
        PublishErrorKind::BrokenPipe | PublishErrorKind::StreamNotFound => Problem::Broken,
        _ => Problem::Full(error_text(error)),
    }
}

/// The message with all that is behind it.
fn error_text(error: &dyn core::error::Error) -> String {
    let mut text = error.to_string();
    let mut inner = error.source();
    while let Some(cause) = inner {
        let said = cause.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        inner = cause.source();
    }
    without_numbers(&text)
}

/// The same without the numbers of the system's errors, which tell a person nothing.
fn without_numbers(text: &str) -> String {
    let mut parts = text.split(" (os error ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once(')').map_or("", |(_, rest)| rest))
}

const BLOCKS: &str = "blocks";
const WORDS: &str = "words";
const WORDS_PER_SUBJECT: i64 = 20_000;
const KEPT_FOR: Duration = Duration::from_secs(90 * 86_400);
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
const CONNECT: Duration = Duration::from_secs(5);
const PING: Duration = Duration::from_secs(5);
const ANSWER: Duration = Duration::from_secs(10);
/// Messages that wait for the hub's acknowledgement at most.
const IN_FLIGHT: usize = 64;
/// Messages of a subscription that wait at most; what comes beyond is missing, and is asked for again.
const SUBSCRIBED: usize = 4096;
