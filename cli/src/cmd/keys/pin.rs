//! Streams that come from one device alone: `pin` ties a stream to the device that sends it now.

use core::time::Duration;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;
use std::sync::Arc;

use schwann::inlet::InletOptions;
use schwann::security::{Explained, PeerIdentity, Pin, Pins};
use schwann::{Context, Inlet, StreamInfo, resolver};
use schwann_recorder::words::quoted;
use schwann_recorder::{Selector, any_of};
use schwann_session::Statement;

use super::condition::{self, Field};
use super::passphrase::confirm;
use crate::config_file;
use crate::exit::{Exit, Outcome, Problem};
use crate::lab;
use crate::terminal::printable;

/// Pins the streams that are chosen to the devices that send them, after a question for each.
pub(super) fn pin(chosen: &Selector, yes: bool) -> Outcome {
    if !yes && !io::stdin().is_terminal() {
        return Err(Problem::Failed(String::from(
            "there is no terminal to ask at; --yes pins the streams without a question",
        )));
    }
    let context = without_pins()?;
    let query = any_of([chosen]).unwrap_or_default();
    let found = resolver::resolve_bypred(&context, &query, 1, LOOK)
        .map_err(|error| Problem::with("search", error))?;
    if found.is_empty() {
        return Err(Problem::Failed(format!(
            "no stream {chosen} was found within {} s; why: schwann doctor",
            LOOK.as_secs()
        )));
    }
    let mut exit = Exit::Found;
    for info in &found {
        let sender = sender(info, &context)?.statement;
        let (name, key) = (printable(&info.name().to_string()).into_owned(), sender.device.fingerprint());
        writeln!(io::stdout().lock(), "{name} comes from {}, key {key}", printable(sender.name.as_str()))?;
        let question = "`schwann keys status` on that device shows its key; is it the same? [y/N] ";
        if yes || confirm(question)? {
            pin_one(info, &sender)?;
            exit = Exit::Good;
        }
    }
    Ok(exit)
}

/// Ties one stream to a device, and says which wider pins let it come from others.
fn pin_one(info: &StreamInfo, device: &Statement) -> Result<(), Problem> {
    let new = condition::of(info, &[Field::Name, Field::SourceId])?;
    let new = Pin::parse(&format!("{new} -> {}", device.device.fingerprint())).map_err(Problem::Failed)?;
    let path = config_file::path_of_trust();
    let _turn = config_file::turn(&path);
    let all = with(&pins(&path)?, &new);
    write(&path, &all)?;
    for pin in beside(&new, &all, info) {
        eprintln!(
            "schwann: the pin {} stays, so the stream may come from that device, too; to take the pin away: schwann keys unpin {}",
            printable(&pin.to_string()),
            quoted(pin.condition())
        );
    }
    Ok(())
}

/// These pins with a new one in place of those on the same condition. A wider one protects other streams, so it stays.
fn with(pins: &Pins, new: &Pin) -> Pins {
    let others = pins.iter().filter(|pin| pin.condition() != new.condition());
    others.chain([new]).cloned().collect()
}

/// The pins beside `new` by which a stream may come from another device.
fn beside<'a>(new: &Pin, all: &'a Pins, info: &StreamInfo) -> impl Iterator<Item = &'a Pin> {
    all.iter().filter(|pin| pin.concerns(info) && pin.device() != new.device())
}

/// Takes away the pins that name a stream.
pub(super) fn unpin(stream: &str) -> Outcome {
    let names = |pin: &Pin| {
        let condition = pin.condition();
        ['\'', '"'].iter().any(|quote| condition.contains(&format!("{quote}{stream}{quote}")))
            || condition == stream
    };
    let path = config_file::path_of_trust();
    let _turn = config_file::turn(&path);
    let before = pins(&path)?;
    let kept: Pins = before.iter().filter(|pin| !names(pin)).cloned().collect();
    let count = before.iter().count() - kept.iter().count();
    if count == 0 {
        return Err(Problem::Failed(format!(
            "no pin names {stream:?}; `schwann keys status` lists the pins"
        )));
    }
    write(&path, &kept)?;
    Ok(Exit::Good)
}

/// This computer's keys and policies, with no regard to what is pinned: a stream may have moved.
fn without_pins() -> Result<Arc<Context>, Problem> {
    let context = lab::config();
    let trust = context.trust().map_err(|error| Problem::Failed(error.to_string()))?;
    if trust.member().is_none() {
        return Err(Problem::Failed(String::from(
            "this computer has no key, so no device can prove itself to it; `schwann keys join` joins a lab",
        )));
    }
    let trust = trust.as_ref().clone().with_pins(Pins::default());
    Ok(Arc::new(Context::with_trust(context.config().as_ref().clone(), trust)))
}

/// The device that sends a stream, as it proved itself.
fn sender(info: &StreamInfo, context: &Arc<Context>) -> Result<PeerIdentity, Problem> {
    let name = printable(&info.name().to_string()).into_owned();
    let wrong = |error| Problem::with(&name, error);
    let inlet = Inlet::in_context(info, &InletOptions::default(), Arc::clone(context)).map_err(wrong)?;
    if let Err(error) = inlet.open_stream(OPEN_SECONDS) {
        return Err(match inlet.refusal() {
            Some(refusal) => Problem::with(&name, Explained(refusal)),
            None => wrong(error),
        });
    }
    inlet.peer().ok_or_else(|| {
        Problem::with(
            &name,
            "it comes in the clear, so no device can be proven to send it; `schwann gateway` on its computer seals it",
        )
    })
}

/// Changes the pins of the configuration.
fn write(path: &Path, pins: &Pins) -> Result<(), Problem> {
    let text = pins.to_string();
    config_file::set(path, "security", "pin", Some(text.as_str()).filter(|text| !text.is_empty()))?;
    let mut out = io::stdout().lock();
    let count = pins.iter().count();
    let plural = if count == 1 { "" } else { "s" };
    writeln!(
        out,
        "{}: security.pin has {count} pin{plural}. Programs that run take it with their next start.",
        path.display()
    )?;
    Ok(())
}

fn pins(path: &Path) -> Result<Pins, Problem> {
    let text = config_file::value(path, "security", "pin")?.unwrap_or_default();
    Pins::parse(&text).map_err(|error| Problem::with(path.display(), error))
}

const LOOK: Duration = Duration::from_secs(5);
const OPEN_SECONDS: f64 = 10.0;

#[cfg(test)]
mod tests {
    use schwann_proto::stream::ChannelFormat;
    use schwann_session::PublicKey;

    use super::*;

    #[test]
    fn a_new_pin_leaves_a_wider_one_to_the_streams_that_it_protects() {
        let info = |name| StreamInfo::new(name, "EEG", 1, 0.0, ChannelFormat::Int8, "7").expect("valid");
        let [one, other] = [1, 2].map(|byte| PublicKey([byte; 32]));
        let pin = |condition: &str, device: &PublicKey| {
            Pin::parse(&format!("{condition} -> {}", device.fingerprint())).expect("a pin")
        };
        let wide: Pins = [pin("type='EEG'", &one)].into_iter().collect();
        let first = with(&wide, &pin("name='Cap2'", &one));
        let new = pin("name='Cap2'", &other);
        let all = with(&first, &new);
        assert_eq!(all.iter().map(Pin::condition).collect::<Vec<_>>(), ["type='EEG'", "name='Cap2'"]);
        assert!(all.permit(&info("Cap2"), Some(&other)) && !all.permit(&info("Cap1"), Some(&other)));
        let told =
            |new, all| beside(new, all, &info("Cap2")).map(Pin::condition).collect::<Vec<_>>().join(" ");
        assert_eq!(told(&new, &all), "type='EEG'");
        assert_eq!(told(&pin("name='Cap2'", &one), &first), "", "the same device");
    }
}
