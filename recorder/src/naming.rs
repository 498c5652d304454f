//! What recordings are called, one after the other, and in which folder they may be.
//!
//! A name may come from a program on the network (see [`remote`](super::remote)). So each part of it is checked.
//! Even through links, the folder that it leads to must lie in the chosen one.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

pub use error::NameError;

mod error;

/// How recordings are named.
#[derive(Clone, Debug)]
pub struct Naming {
    /// The folder that no recording leaves.
    base: PathBuf,
    /// The folder in it that names begin in.
    root: PathBuf,
    pattern: Pattern,
    labels: Labels,
    /// What recordings end in after `.xdf`, if they are sealed.
    suffix: &'static str,
    /// How many names were given out.
    given: u32,
    taken: Taken,
}

/// What stands for the placeholders of a template.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Labels {
    /// `%p`: who.
    pub participant: Option<String>,
    /// `%s`: which visit.
    pub session: Option<String>,
    /// `%b`: what the participant does.
    pub task: Option<String>,
    /// `%a`: how it is measured.
    pub acquisition: Option<String>,
    /// `%m`: what is measured; `eeg` if nothing is said.
    pub modality: Option<String>,
    /// `%n` and `%r`: which repetition; the first free one if nothing is said.
    pub run: Option<u32>,
}

#[derive(Clone, Debug)]
enum Pattern {
    /// A file of this name.
    File(String),
    /// The time of the beginning.
    Dated,
    /// Text with placeholders; what stands in brackets is left out if one of its placeholders stands for nothing.
    Template(String),
}

/// What to do if there is a file of the name that was asked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Taken {
    /// Nothing is recorded: a person looks and decides.
    Refuse,
    /// The next number is taken: no person looks.
    CountOn,
}

impl Naming {
    /// The first recording is `path`; those after it have a number before the extension. One that ends in `.age` is sealed.
    pub fn file(path: &Path) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match name.strip_suffix(SEALED) {
            Some(name) => Self::new(folder_of(path), Pattern::File(name.to_owned())).sealed(),
            None => Self::new(folder_of(path), Pattern::File(name)),
        }
    }

    /// Each recording is named by the time at which it begins, in UTC.
    pub fn dated(folder: &Path) -> Self {
        Self::new(folder, Pattern::Dated)
    }

    /// Each recording lies among the source data of a BIDS dataset; runs count up.
    ///
    /// - Source: BIDS specification 1.10, "Filesystem structure", "Source vs. raw vs. derived data".
    pub fn bids(root: &Path, labels: Labels) -> Self {
        Self { labels, ..Self::new(root, Pattern::Template(BIDS.to_owned())) }
    }

    fn new(folder: &Path, pattern: Pattern) -> Self {
        // Without the dot, a file in the folder of now is called as a person would call it.
        let base = if folder == Path::new(".") { PathBuf::new() } else { folder.to_owned() };
        let labels = Labels::default();
        Self { root: base.clone(), base, pattern, labels, suffix: "", given: 0, taken: Taken::Refuse }
    }

    /// The same with the ending of sealed recordings, `.age`.
    #[must_use]
    pub fn sealed(self) -> Self {
        Self { suffix: SEALED, ..self }
    }

    /// Whether recordings have the ending of sealed ones.
    pub const fn is_sealed(&self) -> bool {
        !self.suffix.is_empty()
    }

    /// The folder that no recording leaves.
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// Names recordings from now on as a program asks: in the folder `root`, by `template`, with `labels`.
    ///
    /// What is nothing stays as it was; the first call without a template means that of LabRecorder. A name that
    /// is taken gets the next number, because nothing must be lost.
    ///
    /// - Errors: [`NameError`]; nothing has changed then.
    pub fn ask(
        &mut self,
        root: Option<&str>,
        template: Option<&str>,
        labels: Labels,
    ) -> Result<(), NameError> {
        let mut next = self.clone();
        (next.taken, next.given) = (Taken::CountOn, 0);
        if let Some(root) = root {
            next.root = next.within(root)?;
        }
        match (template, &next.pattern) {
            (Some(template), _) => next.pattern = Pattern::Template(template.replace('\\', "/")),
            (None, Pattern::Template(_)) => {}
            (None, _) => next.pattern = Pattern::Template(LAB_RECORDER.to_owned()),
        }
        next.labels = next.labels.or(labels);
        // Whether it makes a name is said now, and not at the start of a recording.
        next.fill(next.labels.run.unwrap_or(1))?;
        *self = next;
        Ok(())
    }

    /// The folder of this name in the base.
    fn within(&self, root: &str) -> Result<PathBuf, NameError> {
        let asked = Path::new(root);
        let outside =
            || NameError::Outside { folder: asked.to_owned(), base: or_here(&self.base).to_owned() };
        let base = std::path::absolute(or_here(&self.base))
            .map_err(|error| NameError::Folder(self.base.clone(), error))?;
        let relative = match asked.strip_prefix(&base) {
            Ok(relative) => relative.to_owned(),
            Err(_) if asked.is_absolute() || root.contains(':') => return Err(outside()),
            Err(_) => PathBuf::from(root.replace('\\', "/")),
        };
        let mut folder = self.base.clone();
        for component in relative.components() {
            match component {
                Component::CurDir => {}
                Component::Normal(part) => folder.push(checked(&part.to_string_lossy())?),
                _ => return Err(outside()),
            }
        }
        Ok(folder)
    }

    /// Returns the path of the next recording, and makes its folder. It did not exist a moment ago, unless a person
    /// named it.
    ///
    /// - Errors: [`NameError`].
    pub fn next(&mut self, now: SystemTime) -> Result<PathBuf, NameError> {
        let path = self.with_suffix(self.free(now)?);
        // The folder of a named file is made again only if it was there before and went during a recording.
        if self.given > 0 || !matches!(self.pattern, Pattern::File(_)) {
            self.make_folder(folder_of(&path))?;
        }
        self.given += 1;
        Ok(path)
    }

    fn free(&self, now: SystemTime) -> Result<PathBuf, NameError> {
        match &self.pattern {
            Pattern::File(name) if self.given == 0 => Ok(self.root.join(name)),
            Pattern::File(name) => self.numbered(&self.root.join(name), self.given + 1),
            Pattern::Dated => {
                let path = self.root.join(dated_name(now));
                if self.is_taken(&path) { self.numbered(&path, 2) } else { Ok(path) }
            }
            Pattern::Template(template) => {
                let first = self.labels.run.unwrap_or(1).saturating_add(self.given);
                let path = self.fill(first)?;
                if self.labels.run.is_some() && self.given == 0 && self.taken == Taken::Refuse {
                    return Ok(path);
                }
                if !["%n", "%r"].iter().any(|run| template.contains(run)) {
                    return if self.is_taken(&path) { self.numbered(&path, 2) } else { Ok(path) };
                }
                for run in first..=first.saturating_add(RUN_MAX) {
                    let path = self.fill(run)?;
                    if !self.is_taken(&path) {
                        return Ok(path);
                    }
                }
                Err(NameError::NoRunFree(self.root.clone()))
            }
        }
    }

    /// The first free path with a number before its extension.
    fn numbered(&self, path: &Path, first: u32) -> Result<PathBuf, NameError> {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let paths = (first..=first.saturating_add(RUN_MAX))
            .map(|number| path.with_file_name(format!("{stem}-{number:03}{}", extension(path))));
        paths
            .into_iter()
            .find(|path| !self.is_taken(path))
            .ok_or_else(|| NameError::NoRunFree(self.root.clone()))
    }

    /// Whether there is a recording of this name, sealed or not.
    fn is_taken(&self, path: &Path) -> bool {
        path.exists() || self.with_suffix(path.to_owned()).exists()
    }

    fn with_suffix(&self, mut path: PathBuf) -> PathBuf {
        path.as_mut_os_string().push(self.suffix);
        path
    }

    /// The path that the template makes for a run.
    fn fill(&self, run: u32) -> Result<PathBuf, NameError> {
        let Pattern::Template(template) = &self.pattern else { return Ok(self.root.clone()) };
        let values = self.values(run, template == LAB_RECORDER);
        // A label that brings a separator would add folders.
        for (_, value) in values.iter().filter(|(_, value)| !value.is_empty()) {
            checked(value)?;
        }
        let text = filled(template, &values);
        let mut path = self.root.clone();
        for part in text.split('/').filter(|part| !part.is_empty()) {
            path.push(checked(part)?);
        }
        if path == self.root {
            return Err(NameError::Unsafe(text));
        }
        if !["xdf", "xdfz"]
            .iter()
            .any(|known| path.extension().is_some_and(|it| it.eq_ignore_ascii_case(known)))
        {
            path.as_mut_os_string().push(".xdf");
        }
        Ok(path)
    }

    /// What stands for each place holder of a template; LabRecorder has a value for labels that were not given.
    fn values(&self, run: u32, is_lab_recorder: bool) -> [(&'static str, String); 7] {
        let label = |label: &Option<String>, default| label.clone().unwrap_or_else(|| String::from(default));
        let default = |text: &'static str| if is_lab_recorder { text } else { "" };
        [
            ("%p", label(&self.labels.participant, default("P001"))),
            ("%s", label(&self.labels.session, default("S001"))),
            ("%b", label(&self.labels.task, default("Default"))),
            ("%a", label(&self.labels.acquisition, "")),
            ("%m", label(&self.labels.modality, "eeg")),
            ("%n", format!("{run:03}")),
            ("%r", format!("{run:03}")),
        ]
    }

    /// Makes a folder in the base, and none elsewhere.
    fn make_folder(&self, folder: &Path) -> Result<(), NameError> {
        let make = |folder: &Path| {
            fs::create_dir_all(folder).map_err(|error| NameError::Folder(folder.to_owned(), error))
        };
        make(&self.base)?;
        // A link on the way must be seen before folders are made behind it.
        if let Some(there) = folder.ancestors().find(|part| or_here(part).exists()) {
            self.check_links(there)?;
        }
        make(folder)?;
        self.check_links(folder)
    }

    /// Whether the folder lies in the base once links are followed.
    fn check_links(&self, folder: &Path) -> Result<(), NameError> {
        let real = |path: &Path| {
            or_here(path).canonicalize().map_err(|error| NameError::Folder(path.to_owned(), error))
        };
        if real(folder)?.starts_with(real(&self.base)?) {
            Ok(())
        } else {
            Err(NameError::Outside { folder: folder.to_owned(), base: or_here(&self.base).to_owned() })
        }
    }
}

impl Labels {
    /// These, with those of `newer` in their place where it has any. An empty one takes the one before away.
    fn or(self, newer: Self) -> Self {
        let text = |newer: Option<String>, before| newer.or(before).filter(|text: &String| !text.is_empty());
        Self {
            participant: text(newer.participant, self.participant),
            session: text(newer.session, self.session),
            task: text(newer.task, self.task),
            acquisition: text(newer.acquisition, self.acquisition),
            modality: text(newer.modality, self.modality),
            run: newer.run.or(self.run),
        }
    }
}

/// Puts the values in the place of their placeholders.
fn filled(template: &str, values: &[(&str, String)]) -> String {
    let replace =
        |text: &str| values.iter().fold(text.to_owned(), |text, (key, value)| text.replace(key, value));
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, group)) = rest.split_once('[') {
        let (group, after) = group.split_once(']').unwrap_or((group, ""));
        out.push_str(&replace(before));
        if !values.iter().any(|(key, value)| value.is_empty() && group.contains(key)) {
            out.push_str(&replace(group));
        }
        rest = after;
    }
    out + &replace(rest)
}

/// The part, if every system can have a file of that name, and none takes it for something else.
fn checked(part: &str) -> Result<&str, NameError> {
    let forbidden = |c: char| c.is_control() || "/\\:*?\"<>|".contains(c);
    let stem = part.split('.').next().unwrap_or_default().trim_end();
    let is_device = ["CON", "PRN", "AUX", "NUL"].iter().any(|device| stem.eq_ignore_ascii_case(device))
        || (stem.len() == 4
            && ["COM", "LPT"]
                .iter()
                .any(|port| stem.get(..3).is_some_and(|it| it.eq_ignore_ascii_case(port)))
            && stem.ends_with(|c: char| c.is_ascii_digit()));
    let is_good = !part.is_empty()
        && part.len() <= PART_BYTES_MAX
        && !part.starts_with(['.', ' '])
        && !part.ends_with(['.', ' '])
        && !part.contains(forbidden)
        && !is_device;
    if is_good { Ok(part) } else { Err(NameError::Unsafe(part.chars().take(80).collect())) }
}

/// What recordings with this one's name end in.
fn extension(path: &Path) -> &'static str {
    if is_packed(path) { PACKED } else { ".xdf" }
}

/// Whether the name is that of a compressed recording, sealed or not.
pub(crate) fn is_packed(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    name.trim_end_matches(SEALED).ends_with(PACKED)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().map_or(Path::new("."), or_here)
}

fn or_here(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}

/// Such as `recording-20261124T232200Z.xdf`.
fn dated_name(now: SystemTime) -> String {
    let text = schwann_xdf::datetime(now);
    let digits: String = text.chars().take(19).filter(|c| !matches!(c, '-' | ':')).collect();
    format!("recording-{digits}Z.xdf")
}

const BIDS: &str = "sourcedata/sub-%p/[ses-%s/]%m/sub-%p_[ses-%s_]task-%b_[acq-%a_]run-%r_%m.xdf";
/// Source: LabRecorder's README, "BIDS", and its remote control without a template.
const LAB_RECORDER: &str = "sub-%p/ses-%s/%m/sub-%p_ses-%s_task-%b[_acq-%a]_run-%r_%m.xdf";
/// What compressed recordings end in.
const PACKED: &str = ".xdfz";
/// What sealed recordings end in.
pub(crate) const SEALED: &str = ".age";
const RUN_MAX: u32 = 998;
/// What file systems take, less a number and an extension.
const PART_BYTES_MAX: usize = 240;

#[cfg(test)]
mod tests;
