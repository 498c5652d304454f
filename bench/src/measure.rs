//! Measures a suite, or all of them, with its settings, its keys, its time limit and its output.

use std::io::stderr;
use std::path::{Path, PathBuf};

use crate::Reason;
use crate::campaign::{self, takes_part};
use crate::command::Options;
use crate::libraries;
use crate::line::{Line, LineError};
use crate::other::Other;
use crate::record::{BUILT_FROM, KEYS, Machine, Manifest, Records, Role, Subject, Tree, tree, unix_time};
use crate::report;
use crate::scenario::{Cell, Route};
use crate::sealed::lab;
use crate::sensitivity::{self, Restless};
use crate::step;
use crate::suite::{Asked, Depth, Effort, Kind, Missing, SEALED, SENSITIVITY, SUITES, Suite};
use crate::transfer::stop_on_interrupt;

/// Every suite into a folder of its own. A suite that cannot run here, or is not in `--only`, is named and left
/// out.
pub(crate) fn measure_all(options: &Options, folder: &Path) -> Result<(), Reason> {
    let weights: f64 = SUITES.iter().map(|suite| suite.weight).sum();
    let (mut failed, mut any_wanted) = (Vec::new(), options.only.is_empty());
    for suite in SUITES {
        let minutes = options.minutes.map(|minutes| minutes * suite.weight / weights);
        let options = Options { minutes, ..options.clone() };
        if matches!(suite.kind, Kind::Remote(_)) {
            // It has a command of its own, and needs another computer.
            continue;
        }
        eprintln!("== {}", suite.name);
        let outcome = measure(suite, &options, &folder.join(suite.name));
        // A word of `--only` names the cells of one suite, and the others have none of that name.
        any_wanted |= !outcome.as_ref().is_err_and(|reason| reason.is::<NoneWanted>());
        match outcome {
            Ok(()) => {}
            Err(reason) if crate::transfer::interrupted() => return Err(reason),
            // What this computer cannot do is no failure of the rest.
            Err(reason)
                if reason.is::<LineError>() || reason.is::<Missing>() || reason.is::<NoneWanted>() =>
            {
                eprintln!("bench: {} is left out: {reason}", suite.name)
            }
            Err(reason) if reason.is::<Restless>() => eprintln!("bench: {}: {reason}", suite.name),
            Err(reason) => {
                eprintln!("bench: {}: {reason}", suite.name);
                failed.push(suite.name);
            }
        }
    }
    if !any_wanted {
        return Err(format!("--only {} matches no cell of any suite", options.only.join(",")).into());
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", ")).into()) }
}

pub(crate) fn measure(suite: &Suite, options: &Options, folder: &Path) -> Result<(), Reason> {
    let (commit, tree) = origin(tree(), BUILT_FROM, options.trial)?;
    let subjects = subjects(suite, options)?;
    let other = other(suite, options)?;
    let introduced = other.as_ref().map(|other| other.meet(&subjects)).transpose()?;
    let mut manifest = Manifest {
        suite: suite.name.to_owned(),
        quick: options.depth() == Depth::Quick,
        scale: 1.0,
        subjects,
        seed: options.seed,
        blocks: options.blocks.unwrap_or_else(|| Effort { depth: options.depth(), scale: 1.0 }.blocks()),
        started_at: unix_time(),
        machine: Machine::here(),
        other: introduced.map(|introduced| (introduced.machine, introduced.commit)),
        commit,
        tree,
    };
    if let Some(minutes) = options.minutes {
        fit(&mut manifest, suite, minutes * 60.0);
    }
    // Before there is a folder: what cannot run leaves none.
    let (steps, names): (_, Vec<_>) = match &suite.kind {
        Kind::Steps(steps, _) => {
            let steps = steps(&asked(&manifest, options, folder)?)?;
            let names = steps.iter().map(|step| step.name.clone()).collect();
            (steps, names)
        }
        Kind::Remote(cells) | Kind::Transfers(cells) => {
            (Vec::new(), cells(effort(&manifest)).into_iter().map(|cell| cell.name).collect())
        }
    };
    any_wanted(&options.only, &names)?;
    let mut records = Records::begin_or_continue(folder, manifest)?;
    std::fs::create_dir_all(folder.join(SCRATCH))?;
    stop_on_interrupt();
    let effort = effort(&records.manifest);
    let outcome = match &suite.kind {
        Kind::Remote(cells) | Kind::Transfers(cells) => {
            let mut cells = cells(effort);
            cells.retain(|cell| wanted(&options.only, &cell.name));
            possible(&cells)?;
            install_keys(&records)?;
            campaign::run(&cells, &mut records, other.as_ref(), &mut stderr())
        }
        Kind::Steps(..) => {
            let steps: Vec<_> = steps.into_iter().filter(|step| wanted(&options.only, &step.name)).collect();
            step::run(&steps, &mut records, &mut stderr())
        }
    };
    let tables = report::tables(core::slice::from_ref(&records))?;
    std::fs::write(folder.join("report.md"), &tables)?;
    print!("{tables}");
    eprintln!("record and tables in {}", folder.display());
    outcome?;
    if suite.name == SENSITIVITY {
        sensitivity::judge(&records.readings)?;
    }
    Ok(campaign::faults(&records)?)
}

/// The origin that the record names: a commit that is both the whole tree and the program's own, or a trial.
fn origin((commit, tree): (String, Tree), built_from: &str, trial: bool) -> Result<(String, Tree), String> {
    match tree {
        _ if trial => Ok((commit, Tree::Uncommitted)),
        Tree::Committed if commit == built_from => Ok((commit, tree)),
        Tree::Committed => Err(format!(
            "this program was built from commit {built_from}, and the tree is at {commit}: build again with cargo build \
             --release -p schwann-capi -p schwann-bench, or add --trial for a record that cannot be published"
        )),
        Tree::Foreign | Tree::Uncommitted => Err(NO_TREE.to_owned()),
    }
}

/// What steps are given. Paths are absolute: the measuring processes run elsewhere.
fn asked(manifest: &Manifest, options: &Options, folder: &Path) -> Result<Asked, Reason> {
    let absolute = |path: Option<PathBuf>| path.map(|path| path.canonicalize()).transpose();
    Ok(Asked {
        effort: effort(manifest),
        ours: absolute(options.ours.clone().or_else(libraries::ours))?,
        opponent: absolute(options.opponent.clone().or_else(libraries::opponent))?,
        before: absolute(options.before.clone())?,
        image: absolute(options.image.clone().or_else(libraries::image))?,
        against: options.against.clone(),
        scratch: std::path::absolute(folder)?.join(SCRATCH),
    })
}

/// The other computer that a suite needs.
fn other(suite: &Suite, options: &Options) -> Result<Option<Other>, Reason> {
    match (&suite.kind, &options.other, options.between.as_slice()) {
        (Kind::Remote(_), Some(words), &[here, there]) => Ok(Some(Other::new(words, (here, there)))),
        (Kind::Remote(_), ..) => {
            Err("name another computer: --other \"ssh lab2\" --between HERE THERE".into())
        }
        (Kind::Steps(..) | Kind::Transfers(_), ..) => Ok(None),
    }
}

/// Says what is missing before anything is measured.
fn possible(cells: &[Cell]) -> Result<(), LineError> {
    let line = cells.iter().find_map(|cell| match cell.route {
        Route::Line(profile) => Some(profile),
        Route::Loopback | Route::Other => None,
    });
    line.map_or(Ok(()), |profile| Line::lay(profile, 0).map(drop))
}

/// Makes the keys of a lab for this campaign, where some subject seals.
fn install_keys(records: &Records) -> Result<(), Reason> {
    let folder = records.folder().join(SCRATCH).join(KEYS);
    let seals = records.manifest.subjects.iter().any(|subject| subject.role == Role::Sealed);
    if seals && !folder.exists() { lab::install_keys(&folder) } else { Ok(()) }
}

fn wanted(only: &[String], name: &str) -> bool {
    only.is_empty() || only.iter().any(|word| name.contains(word.as_str()))
}

/// The words of `--only` match no cell of a suite.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("--only {only} matches no cell; there are: {names}")]
struct NoneWanted {
    only: String,
    names: String,
}

/// Refuses `--only` with words that match nothing, instead of measuring nothing.
fn any_wanted(only: &[String], names: &[impl AsRef<str>]) -> Result<(), NoneWanted> {
    if names.iter().any(|name| wanted(only, name.as_ref())) {
        return Ok(());
    }
    let names: Vec<_> = names.iter().map(AsRef::as_ref).collect();
    Err(NoneWanted { only: only.join(","), names: names.join(", ") })
}

/// The effort that a campaign was made with.
pub(crate) fn effort(manifest: &Manifest) -> Effort {
    Effort { depth: if manifest.quick { Depth::Quick } else { Depth::Full }, scale: manifest.scale }
}

/// Shortens the runs of a campaign, and then drops blocks, until it takes about `seconds`.
fn fit(manifest: &mut Manifest, suite: &Suite, seconds: f64) {
    let cells = match &suite.kind {
        Kind::Remote(cells) | Kind::Transfers(cells) => cells,
        Kind::Steps(_, minutes) => {
            manifest.scale = (seconds / 60.0 / minutes).clamp(LEAST_SCALE, 1.0);
            return;
        }
    };
    let depth = effort(manifest).depth;
    let took = |scale: f64, blocks: u32, subjects: &[Subject]| {
        let runs = |cell: &Cell| {
            let count = subjects.iter().filter(|subject| takes_part(subject.role, cell)).count();
            let overhead = RUN_OVERHEAD_S + INLET_OVERHEAD_S * cell.workload.consumers as f64;
            (2 * blocks) as f64 * count as f64 * (cell.workload.duration.as_secs_f64() + overhead)
        };
        cells(Effort { depth, scale }).iter().map(runs).sum::<f64>()
    };
    loop {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..20 {
            let middle = f64::midpoint(low, high);
            if took(middle, manifest.blocks, &manifest.subjects) > seconds {
                high = middle
            } else {
                low = middle
            }
        }
        manifest.scale = (low * 1e3_f64).round() / 1e3;
        if manifest.blocks == 1 || took(manifest.scale, manifest.blocks, &manifest.subjects) <= seconds * 1.1
        {
            return;
        }
        manifest.blocks -= 1;
    }
}

fn subjects(suite: &Suite, options: &Options) -> Result<Vec<Subject>, Reason> {
    let opponent = || options.opponent.clone().or_else(libraries::opponent).ok_or(libraries::NO_OPPONENT);
    let ours = || options.ours.clone().or_else(libraries::ours).ok_or(libraries::NO_OURS);
    if matches!(suite.kind, Kind::Steps(..)) {
        // Steps ask for their libraries themselves, and say what is missing; the record tells the versions.
        return Ok(match (suite.name, opponent(), ours()) {
            (SENSITIVITY, Ok(opponent), _) => {
                vec![Subject::library("liblsl", Role::Opponent, &opponent.canonicalize()?)?]
            }
            (SEALED, _, Ok(ours)) => {
                let ours = ours.canonicalize()?;
                vec![Subject::plain(&ours)?, Subject::sealed(&ours)?]
            }
            _ => Vec::new(),
        });
    }
    // Absolute: the measuring processes run elsewhere.
    let (opponent, ours) = (opponent()?.canonicalize()?, ours()?.canonicalize()?);
    let mut subjects = vec![Subject::library("liblsl", Role::Opponent, &opponent)?, Subject::raw()];
    if options.null {
        subjects.push(Subject::library("liblsl-2", Role::Null, &opponent)?);
    }
    subjects.extend(Subject::zero_copy(&opponent)?);
    subjects.push(Subject::plain(&ours)?);
    if options.sealed {
        subjects.push(Subject::sealed(&ours)?);
    }
    if options.iceoryx2 {
        subjects.push(Subject::iceoryx2(&libraries::iceoryx2()?.canonicalize()?)?);
    }
    Ok(subjects)
}

/// Figures that cannot be traced to a commit prove nothing.
const NO_TREE: &str = "a record names the commit that it is made of, and this folder is no work tree without changes: commit \
                       them, or add --trial for a record that cannot be published";
/// Shorter runs than this say nothing; the steps have limits of their own besides.
const LEAST_SCALE: f64 = 0.02;
/// The files of measuring processes, in the folder of the results.
const SCRATCH: &str = "scratch";
/// What starting, finding and ending the processes of a run takes.
const RUN_OVERHEAD_S: f64 = 0.7;
const INLET_OVERHEAD_S: f64 = 0.06;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_match_nothing_are_refused() {
        let names = ["64ch-1kHz", "384ch-30kHz"];
        let only = |word: &str| any_wanted(&[word.to_owned()], &names);
        assert_eq!(only("64ch"), Ok(()));
        assert_eq!(any_wanted(&[], &names), Ok(()));
        let refused = only("65ch").expect_err("no such cell");
        assert_eq!(refused.to_string(), "--only 65ch matches no cell; there are: 64ch-1kHz, 384ch-30kHz");
    }

    #[test]
    fn a_record_names_a_commit_only_if_tree_and_program_are_of_it() {
        let from = |tree, built_from, trial| origin(("0123abc".to_owned(), tree), built_from, trial);
        let origin_is = |tree| Ok(("0123abc".to_owned(), tree));
        assert_eq!(from(Tree::Committed, "0123abc", false), origin_is(Tree::Committed));
        let refused = from(Tree::Committed, "fedcba9", false).expect_err("another commit's program");
        assert!(refused.contains("built from commit fedcba9, and the tree is at 0123abc"), "{refused}");
        assert_eq!(from(Tree::Uncommitted, "0123abc", false), Err(NO_TREE.to_owned()));
        assert_eq!(from(Tree::Committed, "fedcba9", true), origin_is(Tree::Uncommitted), "a trial");
    }
}
