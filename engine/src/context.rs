//! What the streams of a process stand on: its configuration, and the keys and the policy that go with it.
//!
//! [`Context::get`] makes the process's own at the first call that needs it, from the environment and from files.
//! [`set_config_content`] and [`set_config_filename`] act before that. A program, or a test, may make more of them,
//! each with a configuration of its own.

use alloc::sync::Arc;
use core::fmt;
use core::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::config::{Config, LoadReport, NoteKind, Outcome, Search};
use crate::door::Door;
use crate::security::{Trust, TrustError, journal, policy};
use crate::{environment, log};

/// A configuration, and the keys and the policy that go with it.
pub struct Context {
    config: Arc<Config>,
    trust: OnceLock<Result<Arc<Trust>, TrustError>>,
    door: Option<Arc<dyn Door>>,
}

/// The process's context has been made; its configuration does not change any more.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct AlreadyLoaded;

impl Context {
    /// Joins a configuration with this user's keys, which are read when they are first needed.
    pub fn new(config: Config) -> Self {
        Self { config: Arc::new(config), trust: OnceLock::new(), door: None }
    }

    /// Joins a configuration with keys and a policy that are not on disk.
    pub fn with_trust(config: Config, trust: Trust) -> Self {
        Self { config: Arc::new(config), trust: OnceLock::from(Ok(Arc::new(trust))), door: None }
    }

    /// The context of this process, made at the first call.
    ///
    /// The first call reads the environment and files, and starts the log with a line that says what was
    /// loaded. Later calls cost one atomic read.
    pub fn get() -> &'static Arc<Self> {
        &process().0
    }

    /// The settings.
    pub fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// The keys and the policy in force; read from disk when first asked for.
    ///
    /// - Errors: why streams cannot be sealed although they must be.
    pub fn trust(&self) -> Result<Arc<Trust>, TrustError> {
        self.trust.get_or_init(|| policy::load(&self.config).map(Arc::new)).clone()
    }

    /// The same keys and policy with a configuration that `change` has made of this one.
    #[must_use]
    pub fn reconfigured(&self, change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config::clone(&self.config);
        change(&mut config);
        Self { config: Arc::new(config), trust: self.trust.clone(), door: self.door.clone() }
    }

    /// The same with a door before every outlet that is made in it.
    #[must_use]
    pub fn with_door(self, door: Arc<dyn Door>) -> Self {
        Self { door: Some(door), ..self }
    }

    /// Decides who may reach outlets; without it, all may.
    pub(crate) fn door(&self) -> Option<&Arc<dyn Door>> {
        self.door.as_ref()
    }
}

/// A context is read like its configuration.
impl Deref for Context {
    type Target = Config;

    fn deref(&self) -> &Config {
        &self.config
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Context").field("config", &self.config).finish_non_exhaustive()
    }
}

/// Sets the text of the process's configuration; it comes before every file.
///
/// - Errors: [`AlreadyLoaded`] if something has used the configuration already: call this first of all.
/// - Source: equals liblsl `lsl_set_config_content`.
pub fn set_config_content(text: &str) -> Result<(), AlreadyLoaded> {
    choose(|chosen| chosen.content = Some(text.to_owned()))
}

/// Names the file of the process's configuration; only `LSLAPICFG` and a text that was set come before it.
///
/// - Errors: [`AlreadyLoaded`] if something has used the configuration already: call this first of all.
/// - Source: equals liblsl `lsl_set_config_filename`.
pub fn set_config_filename(path: &Path) -> Result<(), AlreadyLoaded> {
    choose(|chosen| chosen.file = Some(path.to_owned()))
}

/// How the process's configuration came about; loads it if nothing has yet.
pub fn load_report() -> &'static LoadReport {
    &process().1
}

/// What the program chose before the configuration was loaded.
#[derive(Default)]
struct Chosen {
    content: Option<String>,
    file: Option<PathBuf>,
}

fn choose(change: impl FnOnce(&mut Chosen)) -> Result<(), AlreadyLoaded> {
    // Held during the check, so that no load can slip in.
    let mut chosen = CHOSEN.lock().unwrap_or_else(PoisonError::into_inner);
    if PROCESS.get().is_some() {
        return Err(AlreadyLoaded);
    }
    change(&mut chosen);
    Ok(())
}

fn process() -> &'static (Arc<Context>, LoadReport) {
    PROCESS.get_or_init(|| {
        let chosen = core::mem::take(&mut *CHOSEN.lock().unwrap_or_else(PoisonError::into_inner));
        let mut search = Search::from_environment();
        search.content = chosen.content;
        search.required.extend(chosen.file);
        let (config, report) = search.load();
        start_logs(&config);
        log::info!("Schwann {}", env!("CARGO_PKG_VERSION"));
        tell(&report);
        (Arc::new(Context::new(config)), report)
    })
}

/// Begins to log, and to keep the security log, as the configuration and the environment say.
fn start_logs(config: &Config) {
    log::start(config.log.level);
    if let Some(path) = &config.log.file {
        log::use_file(path, policy::open_log(path, log::Readers::Umask, config));
    }
    start_security_log(config);
}

/// Begins to keep the security log, if the configuration or the environment names one.
pub fn start_security_log(config: &Config) {
    if let Some(path) = environment::variable("SCHWANN_SECURITY_LOG") {
        return journal::log_to(path.as_ref());
    }
    // A file in the current folder does not take the events away from the log that this user has chosen.
    let named = |config: &Config| config.raw("security", "log").map(PathBuf::from);
    if let Some(path) = config.beneath.as_deref().and_then(named) {
        journal::log_to(&path);
    } else if let Some(path) = named(config) {
        journal::use_file(&path, policy::open_log(&path, log::Readers::Owner, config));
    }
}

/// Writes a report to the log. A failed candidate and a wrong value are always printed, at every log level.
fn tell(report: &LoadReport) {
    for attempt in &report.attempts {
        let Outcome::Loaded { notes } = &attempt.outcome else {
            log::announce(log::level::ERROR, format_args!("{attempt}"));
            continue;
        };
        log::info!("{attempt}");
        for note in notes {
            match note.kind {
                NoteKind::NoEffect => log::info!("{}, {note}", attempt.origin),
                NoteKind::TrailingText | NoteKind::WithoutBraces => {
                    log::warning!("{}, {note}", attempt.origin);
                }
                NoteKind::WrongValue(_) => {
                    log::announce(log::level::ERROR, format_args!("{}, {note}", attempt.origin));
                }
                NoteKind::UnknownKey => log::verbose!(1, "{}, {note}", attempt.origin),
            }
        }
    }
    if report.origin().is_none() {
        log::info!("configuration: the built-in defaults are in use");
    }
}

static CHOSEN: Mutex<Chosen> = Mutex::new(Chosen { content: None, file: None });
static PROCESS: OnceLock<(Arc<Context>, LoadReport)> = OnceLock::new();
