//! A BIDS dataset: the recording among its source data, and its EEG as BrainVision with what describes it.
//!
//! Source: BIDS specification 1.10, "Electroencephalography", "Task events".

mod text;

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use schwann_xdf::{Location, Wrapping};

use crate::Progress;
use crate::brainvision;
use crate::copy::{self, Packing};
use crate::error::{ExportError, writing};
use crate::grid::Grid;
use crate::output::Outputs;
use crate::plan::{Plan, Stream, Wanted};
use crate::report::Report;

/// What a recording is of, as BIDS names it.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Entities {
    /// Who, such as `01`.
    pub subject: String,
    /// Which visit.
    pub session: Option<String>,
    /// What the subject does.
    pub task: String,
    /// Which repetition; the next free one if not said.
    pub run: Option<u32>,
}

impl Entities {
    /// A subject and a task; the rest is not said.
    #[must_use]
    pub fn new(subject: &str, task: &str) -> Self {
        Self { subject: subject.to_owned(), task: task.to_owned(), ..Self::default() }
    }

    /// The folder of a visit, and the beginning of its names.
    fn visit(&self) -> (PathBuf, String) {
        let (mut folder, mut name) =
            (PathBuf::from(format!("sub-{}", self.subject)), format!("sub-{}", self.subject));
        if let Some(session) = &self.session {
            folder.push(format!("ses-{session}"));
            name.push_str(&format!("_ses-{session}"));
        }
        (folder.join("eeg"), format!("{name}_task-{}", self.task))
    }

    fn check(&self) -> Result<(), ExportError> {
        let labels = [Some(&self.subject), self.session.as_ref(), Some(&self.task)];
        for label in labels.into_iter().flatten() {
            if label.is_empty() || !label.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                return Err(ExportError::Label(label.clone()));
            }
        }
        Ok(())
    }
}

/// Adds a recording to the dataset in the folder `root`, which is made if there is none.
///
/// Streams of type `EEG` become raw data; with several, each has its name as its acquisition. The recording itself is
/// copied to `sourcedata`, unless it is there.
///
/// - Errors: [`ExportError`]; no file that it made is left behind then, and no existing one has changed.
pub fn bids(
    recording: impl Into<Location>,
    root: &Path,
    entities: &Entities,
    progress: &mut Progress<'_>,
) -> Result<Report, ExportError> {
    entities.check()?;
    let recording = &recording.into();
    let plan = Plan::make(recording, &Wanted { names: &[], ranges: false, events: true }, progress)?;
    let chosen: Vec<_> = plan.streams.iter().filter(|stream| is_eeg(stream)).collect();
    if chosen.is_empty() {
        return Err(ExportError::NoEeg);
    }
    let (visit, beginning) = entities.visit();
    let folder = root.join(&visit);
    let whole = beginning.strip_suffix(&format!("_task-{}", entities.task)).unwrap_or(&beginning);
    make_folder(&folder)?;
    let run = entities.run.unwrap_or_else(|| free_run(&folder, &beginning));
    let mut report = report_of(&plan);
    let mut made = Vec::new();
    for &stream in &chosen {
        let acquisition = if chosen.len() == 1 { String::new() } else { acquisition(stream) };
        let name = format!("{beginning}{acquisition}_run-{run:03}");
        let mut outputs = Outputs::new(&folder.join(format!("{name}_eeg")), recording.path());
        let names = Names { files: folder.join(name), montage: folder.join(format!("{whole}{acquisition}")) };
        one(recording, &plan, stream, &names, entities, &mut outputs, &mut report, progress)?;
        made.push(outputs);
    }
    let mut source = Outputs::new(root, recording.path());
    keep_source(recording, root, &visit, &format!("{beginning}_run-{run:03}_eeg"), &mut source, progress)?;
    describe(root, entities)?;
    let all = made.iter_mut().chain([&mut source]);
    all.for_each(|outputs| report.made.extend_from_slice(outputs.keep()));
    Ok(report)
}

fn is_eeg(stream: &Stream) -> bool {
    stream.is_signal() && stream.header.content_type.eq_ignore_ascii_case("eeg")
}

/// The report, which names the streams that do not become raw data.
fn report_of(plan: &Plan) -> Report {
    let mut report = Report::of(plan);
    report.leave_far_events(plan);
    for stream in plan.streams.iter().filter(|stream| !is_eeg(stream) && !stream.is_events()) {
        report.leave(&stream.header.name, "it is not of type EEG; it stays in the source data");
    }
    report
}

/// How the names of one stream's files begin.
struct Names {
    files: PathBuf,
    /// Of those that hold for all tasks of the visit.
    montage: PathBuf,
}

/// Writes the files of one stream.
#[expect(clippy::too_many_arguments, reason = "all of them are one thing each")]
fn one(
    recording: &Location,
    plan: &Plan,
    stream: &Stream,
    names: &Names,
    entities: &Entities,
    outputs: &mut Outputs,
    report: &mut Report,
    progress: &mut Progress<'_>,
) -> Result<(), ExportError> {
    brainvision::write_one(recording, plan, stream, outputs, report, progress)?;
    let grid = Grid::of(stream)?;
    let beside = |ending: &str| with_ending(&names.files, ending);
    put(&beside("_eeg.json"), &text::eeg(stream, &grid, entities), outputs)?;
    put(&beside("_channels.tsv"), &text::channels(stream, &grid), outputs)?;
    put(&beside("_events.tsv"), &text::events(plan, &grid), outputs)?;
    put(&beside("_events.json"), &text::events_description(), outputs)?;
    match stream.channels.iter().any(|channel| channel.location.is_some()) {
        true => put_montage(stream, &names.montage, outputs, report),
        false => Ok(()),
    }
}

/// Writes where the electrodes are. One montage a visit and acquisition: that of the first recording holds.
fn put_montage(
    stream: &Stream,
    montage: &Path,
    outputs: &mut Outputs,
    report: &mut Report,
) -> Result<(), ExportError> {
    let (path, electrodes) = (with_ending(montage, "_electrodes.tsv"), text::electrodes(stream));
    if path.exists() {
        let held = fs::read(&path).map_err(writing(&path))?;
        if held != electrodes.as_bytes() {
            let name = path.file_name().unwrap_or_default().display();
            report.leave(
                &stream.header.name,
                &format!("its electrodes are not those of {name}, which stays as it is"),
            );
        }
        return Ok(());
    }
    put(&path, &electrodes, outputs)?;
    put(&with_ending(montage, "_coordsystem.json"), &text::coordinates(), outputs)
}

fn with_ending(beginning: &Path, ending: &str) -> PathBuf {
    let mut path = beginning.to_owned();
    path.as_mut_os_string().push(ending);
    path
}

fn put(path: &Path, text: &str, outputs: &mut Outputs) -> Result<(), ExportError> {
    let mut file = outputs.create(path)?;
    file.write_all(text.as_bytes()).and_then(|()| file.flush()).map_err(writing(path))
}

fn acquisition(stream: &Stream) -> String {
    let label: String = stream.part.chars().filter(char::is_ascii_alphanumeric).collect();
    format!("_acq-{label}{}", stream.header.id)
}

/// The first run of which there is no file.
fn free_run(folder: &Path, beginning: &str) -> u32 {
    let names: Vec<_> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .filter(|name| name.starts_with(beginning))
        .collect();
    let is_free = |run: &u32| !names.iter().any(|name| name.contains(&format!("_run-{run:03}_")));
    (1..1000).find(is_free).unwrap_or(1000)
}

fn make_folder(folder: &Path) -> Result<(), ExportError> {
    fs::create_dir_all(folder).map_err(writing(folder))
}

/// Copies the recording to the source data, unless it lies there.
fn keep_source(
    recording: &Location,
    root: &Path,
    visit: &Path,
    name: &str,
    outputs: &mut Outputs,
    progress: &mut Progress<'_>,
) -> Result<(), ExportError> {
    let (path, source) = (recording.path(), root.join("sourcedata"));
    let real = |path: &Path| path.canonicalize().ok();
    if let (Some(path), Some(source)) = (real(path), real(&source))
        && path.starts_with(source)
    {
        return Ok(());
    }
    let folder = source.join(visit);
    make_folder(&folder)?;
    // As it is: what is sealed stays sealed.
    let extension = match recording.wrapping().map_err(writing(path))? {
        Wrapping::None => "xdf",
        Wrapping::Gzip => "xdfz",
        Wrapping::Age => "xdf.age",
    };
    let target = folder.join(format!("{name}.{extension}"));
    let from = fs::File::open(path).map_err(writing(path))?;
    let all = from.metadata().map_err(writing(path))?.len();
    let to = outputs.create_plain(&target)?;
    copy::put(Packing::None, from, all, (to, &target), progress)
}

/// Makes the files that describe the dataset, where there are none, and adds the subject.
fn describe(root: &Path, entities: &Entities) -> Result<(), ExportError> {
    let name = root.canonicalize().ok();
    let name = name.as_deref().unwrap_or(root).file_name().unwrap_or_default().to_string_lossy().into_owned();
    for (file, content) in [
        ("dataset_description.json", text::dataset(&name)),
        ("README", text::readme(&name)),
        ("participants.json", text::participants()),
    ] {
        let path = root.join(file);
        if !path.exists() {
            fs::write(&path, content).map_err(writing(&path))?;
        }
    }
    let path = root.join("participants.tsv");
    list_subject(&path, &format!("sub-{}", entities.subject)).map_err(writing(&path))
}

/// Adds a subject to the table of all, if it is not there. The table is others' work, in any coding and with their line ends.
fn list_subject(table: &Path, id: &str) -> io::Result<()> {
    let listed = match fs::read(table) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        read => read?,
    };
    if listed.split(|byte| *byte == b'\n').any(|line| first_field(line) == id.as_bytes()) {
        return Ok(());
    }
    let end = if listed.windows(2).any(|pair| pair == b"\r\n") { "\r\n" } else { "\n" };
    let mut added = String::new();
    if listed.is_empty() {
        added = format!("participant_id{end}");
    } else if !listed.ends_with(b"\n") {
        added.push_str(end);
    }
    let heading = listed.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let others = heading.iter().filter(|byte| **byte == b'\t').count();
    added.push_str(&format!("{id}{}{end}", "\tn/a".repeat(others)));
    OpenOptions::new().append(true).create(true).open(table)?.write_all(added.as_bytes())
}

fn first_field(line: &[u8]) -> &[u8] {
    line.split(|byte| matches!(byte, b'\t' | b'\r')).next().unwrap_or_default()
}
