//! Names: counted, dated, asked for by programs, and none that leaves its folder.

use core::time::Duration;

use super::*;

struct Scratch(PathBuf);

impl Scratch {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("schwann-naming-{}-{test}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _gone_already = fs::remove_dir_all(&self.0);
    }
}

fn labels(participant: &str, task: &str) -> Labels {
    let some = |text: &str| Some(text.to_owned());
    Labels { participant: some(participant), task: some(task), ..Labels::default() }
}

fn next(naming: &mut Naming) -> PathBuf {
    let path = naming.next(SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)).expect("a name");
    fs::write(&path, b"").expect("a file");
    path
}

#[test]
fn recordings_are_numbered_and_dated() {
    let scratch = Scratch::new("numbered");
    let mut file = Naming::file(&scratch.0.join("a.xdf"));
    let names = [next(&mut file), next(&mut file), next(&mut file)];
    assert_eq!(names, ["a.xdf", "a-002.xdf", "a-003.xdf"].map(|name| scratch.0.join(name)));
    let mut dated = Naming::dated(&scratch.0);
    let names = [next(&mut dated), next(&mut dated)];
    let expected = ["recording-20270115T080000Z.xdf", "recording-20270115T080000Z-002.xdf"];
    assert_eq!(names, expected.map(|name| scratch.0.join(name)));
}

#[test]
fn sealed_recordings_end_in_age_and_share_numbers_with_plain_ones() {
    let scratch = Scratch::new("sealed");
    let mut file = Naming::file(&scratch.0.join("a.xdf.age"));
    assert!(file.is_sealed());
    fs::write(scratch.0.join("a-002.xdf"), b"").expect("a file");
    let names = [next(&mut file), next(&mut file)];
    assert_eq!(names, ["a.xdf.age", "a-003.xdf.age"].map(|name| scratch.0.join(name)));
    let mut bids = Naming::bids(&scratch.0, labels("01", "rest")).sealed();
    let names = ["sub-01_task-rest_run-001_eeg.xdf.age", "sub-01_task-rest_run-002_eeg.xdf.age"];
    let folder = scratch.0.join("sourcedata/sub-01/eeg");
    assert_eq!([next(&mut bids), next(&mut bids)], names.map(|name| folder.join(name)));
}

#[test]
fn names_of_bids_lie_in_the_source_data_and_count_the_runs() {
    let scratch = Scratch::new("bids");
    let mut bids = Naming::bids(&scratch.0, labels("01", "rest"));
    let folder = scratch.0.join("sourcedata/sub-01/eeg");
    let names = ["sub-01_task-rest_run-001_eeg.xdf", "sub-01_task-rest_run-002_eeg.xdf"];
    assert_eq!([next(&mut bids), next(&mut bids)], names.map(|name| folder.join(name)));
    let again = Labels { session: Some("2".into()), run: Some(12), ..labels("01", "rest") };
    let path = next(&mut Naming::bids(&scratch.0, again));
    let name = "sourcedata/sub-01/ses-2/eeg/sub-01_ses-2_task-rest_run-012_eeg.xdf";
    assert_eq!(path, scratch.0.join(name));
}

#[test]
fn a_program_names_as_with_lab_recorder_and_replaces_nothing() {
    let scratch = Scratch::new("remote");
    let mut naming = Naming::dated(&scratch.0);
    let run = Labels { run: Some(2), ..labels("P003", "Guided") };
    naming.ask(Some("data"), Some("exp%n\\%p_block_%b.xdf"), run).expect("a name");
    assert_eq!(next(&mut naming), scratch.0.join("data/exp002/P003_block_Guided.xdf"));
    naming.ask(None, None, Labels { run: Some(2), ..Labels::default() }).expect("a name");
    assert_eq!(next(&mut naming), scratch.0.join("data/exp003/P003_block_Guided.xdf"));
    let mut plain = Naming::dated(&scratch.0);
    plain.ask(None, None, Labels::default()).expect("a name");
    let name = "sub-P001/ses-S001/eeg/sub-P001_ses-S001_task-Default_run-001_eeg.xdf";
    assert_eq!(next(&mut plain), scratch.0.join(name));
    plain.ask(None, Some("fixed.xdf"), Labels::default()).expect("a name");
    assert_eq!(
        [next(&mut plain), next(&mut plain)],
        ["fixed.xdf", "fixed-002.xdf"].map(|n| scratch.0.join(n))
    );
}

#[test]
fn no_hostile_name_leaves_the_folder() {
    let scratch = Scratch::new("hostile");
    let long = "a".repeat(300);
    for root in
        ["..", "../x", "a/../../b", "/", "/etc", "C:\\Windows", "\\\\server\\share", "a/../b", "con", "a\0b"]
    {
        let mut naming = Naming::dated(&scratch.0);
        assert!(naming.ask(Some(root), None, Labels::default()).is_err(), "{root}");
    }
    for text in
        ["..", "../../x", "/etc/passwd", "a\nb", "C:x", "x:stream", "nul", "COM1.xdf", ".ssh", "", " ", &long]
    {
        let mut naming = Naming::dated(&scratch.0);
        if let Ok(()) = naming.ask(None, Some(text), Labels::default()) {
            assert!(next(&mut naming).starts_with(&scratch.0), "{text}");
        }
        let hostile = Labels { participant: Some(text.to_owned()), ..Labels::default() };
        assert!(text.is_empty() || naming.ask(None, Some("%p.xdf"), hostile).is_err(), "{text}");
    }
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_out_is_not_followed() {
    let scratch = Scratch::new("link");
    let (inside, outside) = (scratch.0.join("in"), scratch.0.join("out"));
    [&inside, &outside].iter().for_each(|folder| fs::create_dir(folder).expect("a folder"));
    std::os::unix::fs::symlink(&outside, inside.join("way")).expect("a link");
    let mut naming = Naming::dated(&inside);
    naming.ask(Some("way"), Some("x.xdf"), Labels::default()).expect("a name that looks well");
    assert!(matches!(naming.next(SystemTime::now()), Err(NameError::Outside { .. })));
    naming.ask(Some("way/deeper"), Some("x.xdf"), Labels::default()).expect("a name that looks well");
    assert!(matches!(naming.next(SystemTime::now()), Err(NameError::Outside { .. })));
    assert!(fs::read_dir(&outside).expect("the folder").next().is_none(), "no folder is made there");
}
