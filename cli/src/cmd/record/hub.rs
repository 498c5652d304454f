//! `schwann record --hub`: streams of other sites.

mod json;
mod said;

use core::time::Duration;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use schwann::Context;
use schwann::security::Roles;
use schwann_hub::{Access, Address, Far, Recording, Wanted};
use schwann_recorder::Stop;
use serde_json::Value;

use super::Arguments;
use crate::cmd::relay::{failed, history};
use crate::exit::{Exit, Outcome, Problem};
use crate::stop;
use crate::terminal::{Shown, say};

/// Records from a hub.
pub(super) fn run(arguments: &Arguments, address: &Address, config: &Arc<Context>, stop: &Stop) -> Outcome {
    refuse_what_it_cannot(arguments)?;
    let access = Access::of(config, Roles::SUBSCRIBE).map_err(failed)?;
    let mut naming = arguments.name.naming();
    if super::sealed_to(arguments, config, naming.is_sealed())?.is_some() {
        return Err(Problem::Failed(String::from(SEALED)));
    }
    let path = naming.next(SystemTime::now()).map_err(failed)?;
    let far = Far::open(address, &access, history(config)?, Wanted::All);
    let far = far.map_err(|error| Problem::with("relay", error))?;
    let mut recording = Recording::open(&path, far, arguments.queries.clone()).map_err(failed)?;
    let how = if recording.is_resumed() { "goes on" } else { "begins" };
    if !arguments.json {
        say(&[format!("The recording {} {how}. Ctrl-C ends it.", path.display())]);
    }
    attend(arguments, &mut recording, stop)?;
    let remarks = recording.take_remarks();
    let finished = recording.finish().map_err(failed)?;
    if arguments.json {
        say_json(&json::finished(&finished, &remarks));
    } else {
        say(&remarks);
        say(&said::finished(&finished));
    }
    Ok(if finished.is_well() { Exit::Good } else { Exit::Found })
}

/// Only a profile can say these: the command line refuses them beside `--hub`.
fn refuse_what_it_cannot(arguments: &Arguments) -> Result<(), Problem> {
    let word = match (arguments.require.is_empty(), arguments.split, arguments.limits) {
        (false, ..) => "require in [record]",
        (true, Some(_), _) => "split in [record]",
        (true, None, Some(_)) => "the table [limits]",
        (true, None, None) => return Ok(()),
    };
    let profile = arguments.profile.as_ref().map_or_else(String::new, |path| path.display().to_string());
    Err(Problem::Failed(format!(
        "{profile}: {word} does not go with --hub; take it out, or run `schwann relay in --hub URL`, and record \
         what it brings without --hub"
    )))
}

/// Records until the end, and then waits a little for what is missing.
fn attend(arguments: &Arguments, recording: &mut Recording, stop: &Stop) -> Result<(), Problem> {
    let (opened, mut begun) = (Instant::now(), None);
    let end = arguments.seconds.map(stop::seconds_or_forever);
    let is_over = |begun: Option<Instant>| {
        end.is_some_and(|end| {
            begun.map_or(opened.elapsed() >= end.max(FIRST), |begun| begun.elapsed() >= end)
        })
    };
    let mut told = Instant::now();
    while !stop.is_raised() && !is_over(begun) {
        recording.turn(HEAR).map_err(failed)?;
        begun = begun.or_else(|| recording.has_begun().then(Instant::now));
        tell(arguments, recording, &mut told);
    }
    let ending = Instant::now();
    while (recording.has_holes() || recording.is_unsure()) && ending.elapsed() < ENDING_TIMEOUT {
        recording.turn(HEAR).map_err(failed)?;
    }
    Ok(())
}

fn tell(arguments: &Arguments, recording: &mut Recording, told: &mut Instant) {
    if !arguments.json {
        return say(&recording.take_remarks());
    }
    if told.elapsed() >= TELL_EVERY {
        *told = Instant::now();
        let remarks = recording.take_remarks();
        say_json(&json::running(recording, &remarks));
    }
}

/// Prints a line for a program. As with [`say`], the recording goes on without a reader.
fn say_json(line: &Value) {
    let _ = writeln!(io::stdout().lock(), "{}", Shown(line));
}

const SEALED: &str = "this recording shall be sealed at rest, which --hub cannot do; run `schwann relay in --hub URL`, and \
                      record what it brings with `schwann record --seal`";
const HEAR: Duration = Duration::from_millis(50);
/// How long the first block may take: over a slow line the hub, the sender and its key answer one after the other.
const FIRST: Duration = Duration::from_secs(30);
const TELL_EVERY: Duration = Duration::from_secs(1);
/// How long what is missing, or a sender's first answer, may still come at the end.
const ENDING_TIMEOUT: Duration = Duration::from_secs(10);
