//! `schwann config`: which configuration is in use, and how to change it.

use std::io::{self, Write};
use std::process::Command;

use schwann::config::{Note, Origin, Outcome as Loaded, Search};

use crate::config_file;
use crate::exit::{Exit, Outcome, Problem};
use crate::sys::programs::EDITOR;
use crate::terminal::printable;

/// Show and change the configuration, lsl_api.cfg.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann config show
  schwann config set lab.SessionID pilot
  schwann config set lab.KnownPeers '{eeg-pc, 10.0.0.7}'
  schwann config set --remove lab.SessionID")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand, Debug)]
enum Action {
    /// Print every set value with its file, and the unused files.
    Show,
    /// Set a value in the file in use, or in a new file of this user.
    Set {
        /// Section and key, such as lab.SessionID.
        key: String,
        /// The value. A list needs braces: {one, two}.
        #[arg(required_unless_present = "remove", conflicts_with = "remove")]
        value: Option<String>,
        /// Remove the value; the default then counts.
        #[arg(long)]
        remove: bool,
    },
    /// Print the path of the file in use, or of the one that `set` would make.
    Path,
    /// Open the file in an editor: $VISUAL, $EDITOR or nano.
    Edit,
}

/// Does what was asked.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    match &arguments.action {
        Action::Show => show(),
        Action::Set { key, value, .. } => set(key, value.as_deref()),
        Action::Path => {
            writeln!(io::stdout().lock(), "{}", config_file::path().display())?;
            Ok(Exit::Good)
        }
        Action::Edit => edit(),
    }
}

fn show() -> Outcome {
    let (_, report) = Search::from_environment().load();
    let mut out = io::stdout().lock();
    let mut exit = Exit::Good;
    for attempt in &report.attempts {
        match &attempt.outcome {
            Loaded::Loaded { notes } => put_file(&mut out, &attempt.origin, notes)?,
            _ => {
                writeln!(out, "{attempt}")?;
                exit = Exit::Found;
            }
        }
    }
    if report.origin().is_none() {
        writeln!(
            out,
            "file       none; the defaults count. `schwann config set` makes {}",
            config_file::path().display()
        )?;
    }
    for name in VARIABLES {
        if let Some(value) = std::env::var_os(name) {
            let shown = if SECRET.contains(&name) { "(set)".into() } else { value.to_string_lossy() };
            writeln!(out, "variable   {name}={}", printable(&shown))?;
        }
    }
    Ok(exit)
}

/// Shows a file that is in force, and what is odd in it.
fn put_file(out: &mut impl Write, origin: &Origin, notes: &[Note]) -> Result<(), Problem> {
    writeln!(out, "file       {origin}")?;
    if let Origin::File(path) = origin {
        for line in settings(&config_file::text(path)?) {
            writeln!(out, "  {}", printable(&line))?;
        }
    }
    for note in notes {
        writeln!(out, "note       {note}")?;
    }
    Ok(())
}

/// Every setting of a text as `section.key = value`.
fn settings(text: &str) -> Vec<String> {
    let mut section = "";
    let mut found = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with(';')) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            section = name.0;
        } else if let Some((key, value)) = line.split_once('=') {
            found.push(format!("{section}.{} = {}", key.trim(), value.trim()));
        }
    }
    found
}

fn set(full_key: &str, value: Option<&str>) -> Outcome {
    let (section, key) = full_key.split_once('.').ok_or_else(|| {
        Problem::Failed(format!(
            "{full_key:?} names no section; write it as section.key, such as lab.SessionID"
        ))
    })?;
    if value.is_some_and(|value| value.contains(['\n', '\r'])) {
        return Err(Problem::Failed(String::from("a value is one line")));
    }
    let path = if section == "security" { config_file::path_of_trust() } else { config_file::path() };
    let _turn = config_file::turn(&path);
    config_file::set(&path, section, key, value)?;
    let what = value.map_or_else(|| String::from("(default)"), str::to_owned);
    writeln!(
        io::stdout().lock(),
        "{}: {full_key} = {}. Running programs use it after their next start.",
        path.display(),
        printable(&what)
    )?;
    config_file::tell_overruled(full_key);
    Ok(Exit::Good)
}

fn edit() -> Outcome {
    let path = config_file::path();
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| Problem::with(folder.display(), error))?;
    }
    let named = ["VISUAL", "EDITOR"].iter().find_map(std::env::var_os).filter(|editor| !editor.is_empty());
    let editor = named.unwrap_or_else(|| EDITOR.into());
    // As other programs take it: a command with its options.
    let text = editor.to_string_lossy().into_owned();
    let mut words = text.split_whitespace();
    let program = words.next().unwrap_or_default();
    let done = Command::new(program).args(words).arg(&path).status();
    let done =
        done.map_err(|error| Problem::with(program, format_args!("{error}; set EDITOR to your editor")))?;
    if !done.success() {
        return Err(Problem::Failed(format!(
            "{program} ended with {done} and says above why; {} is as it left it. Try again: schwann config edit",
            path.display()
        )));
    }
    show()
}

/// What weighs more than the file.
const VARIABLES: [&str; 10] = [
    "LSLAPICFG",
    "SCHWANN_KEYS",
    "SCHWANN_LOCAL_SOCKET",
    "SCHWANN_PASSPHRASE",
    "SCHWANN_PASSPHRASE_FILE",
    "SCHWANN_SECURITY",
    "SCHWANN_SECURITY_LOG",
    "SCHWANN_SECURITY_PLAIN",
    "SCHWANN_SECURITY_STREAMS",
    "XDG_CONFIG_HOME",
];
const SECRET: [&str; 1] = ["SCHWANN_PASSPHRASE"];
