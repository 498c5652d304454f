//! What a recording says of its files before the last one.

use std::{env, fs, process};

use schwann::Config;

use super::*;

/// Of one computer, where nobody else is looked for.
fn alone() -> Arc<Context> {
    let text = "[multicast]\nResolveScope=machine\n[lab]\nSessionID=control-desk\n[log]\nlevel=-3\n";
    Arc::new(Context::new(Config::parse(text).expect("it is valid")))
}

#[test]
fn what_is_welcome_and_does_not_come_is_not_missing() {
    let folder = env::temp_dir().join(format!("schwann-desk-welcome-{}", process::id()));
    let [wanted, welcome] = ["EEG", "Marks"].map(|query| vec![query.parse().expect("a query")]);
    let settings = Settings { wanted, welcome, ..Settings::new(Naming::dated(&folder)) };
    let mut desk = Desk::open(alone(), settings).expect("a search");
    desk.start(Duration::ZERO).expect("a recording");
    let ended = desk.stop().expect("a whole file");
    assert_eq!(ended.unmatched.iter().map(|missing| &*missing.query).collect::<Vec<_>>(), ["EEG"]);
    fs::remove_dir_all(folder).expect("it was made");
}

/// A file that is closed with this failure, as by a disk that went away.
fn failing(path: &str, failure: Failure) -> Closing {
    Closing { path: PathBuf::from(path), thread: thread::spawn(move || Err(failure)) }
}

#[test]
fn a_file_that_cannot_be_completed_stays_known_to_the_end_of_its_recording() {
    let folder = env::temp_dir().join(format!("schwann-desk-{}", process::id()));
    let mut desk = Desk::open(alone(), Settings::new(Naming::dated(&folder))).expect("a search");
    desk.start(Duration::ZERO).expect("a recording");
    desk.running.as_mut().expect("it runs").closing.push(failing("1.xdf", Failure::Device));
    while desk.status().recording.expect("it goes on").incomplete.is_empty() {
        desk.tick(Instant::now());
        thread::yield_now();
    }
    // This one has not ended when the recording does.
    desk.running.as_mut().expect("it runs").closing.push(failing("2.xdf", Failure::Gone));
    let ended = desk.stop().expect("the last file is whole");
    let incomplete: Vec<_> = ended.incomplete.iter().map(|failed| (&*failed.path, failed.failure)).collect();
    assert_eq!(incomplete, [(Path::new("1.xdf"), Failure::Device), (Path::new("2.xdf"), Failure::Gone)]);
    assert_eq!(desk.status().remarks.len(), 2);
    fs::remove_dir_all(folder).expect("it was made");
}
