//! What a study records, the same every time: the table `[record]` of a profile.
//!
//! The table `[limits]` of the same file says what its streams may do: see [`Limits`].

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::verdict::{Limits, ProfileError};

/// The table `[record]`, and the table `[limits]` beside it. What they do not say is as without a profile.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct RecordProfile {
    /// What to record: names, types, source ids or conditions; all streams if there is none.
    pub streams: Vec<String>,
    /// Without these no recording begins.
    pub require: Vec<String>,
    /// How long to wait for them, in seconds.
    pub wait: Option<f64>,
    /// After how long a recording ends, in seconds.
    pub seconds: Option<f64>,
    /// After how long it goes on in another file, in minutes.
    pub split: Option<f64>,
    /// Where recordings go that are named by the time.
    pub folder: Option<PathBuf>,
    /// The dataset in whose source data recordings are named as BIDS does.
    pub bids: Option<PathBuf>,
    /// BIDS: who.
    pub subject: Option<String>,
    /// BIDS: which visit.
    pub session: Option<String>,
    /// BIDS: what the subject does.
    pub task: Option<String>,
    /// BIDS: what is measured.
    pub modality: Option<String>,
    /// Whether recordings are sealed to the lab's archive key.
    pub seal: bool,
    /// Public keys of age that they are sealed to, too.
    pub to: Vec<String>,
    /// What streams may do, if the file has a table `[limits]`.
    #[serde(skip)]
    pub limits: Option<Limits>,
}

impl RecordProfile {
    /// Reads the profile at `path`.
    ///
    /// - Errors: [`ProfileError`]: it cannot be read, is no TOML, has no table `[record]`, or a table with a key that is
    ///   not known.
    ///   A limit that is no number, or negative, is an error, too.
    pub fn read(path: &Path) -> Result<Self, ProfileError> {
        let named = |what: &dyn core::fmt::Display| ProfileError::new(format!("{}: {what}", path.display()));
        let text = fs::read_to_string(path).map_err(|error| named(&error.kind()))?;
        Self::parse(&text).map_err(|error| named(&error))
    }

    /// Reads the text of a profile.
    ///
    /// - Errors: as [`RecordProfile::read`].
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        let tables: Tables =
            toml::from_str(text).map_err(|error| ProfileError::new(error.message().to_owned()))?;
        let mut profile =
            tables.record.ok_or_else(|| ProfileError::new("it has no table [record]".to_owned()))?;
        profile.limits = tables.limits.map(Limits::checked).transpose()?;
        if profile.wait.is_some_and(|wait| wait.is_nan() || wait < 0.0) {
            return Err(ProfileError::new("wait is a number of seconds, such as 30".to_owned()));
        }
        if profile.folder.is_some() && profile.bids.is_some() {
            return Err(ProfileError::new("folder and bids exclude each other".to_owned()));
        }
        Ok(profile)
    }
}

/// The tables of a profile; others are for others.
#[derive(Deserialize)]
struct Tables {
    record: Option<RecordProfile>,
    limits: Option<Limits>,
}

#[cfg(test)]
mod tests {
    use super::{Limits, RecordProfile};

    #[test]
    fn a_profile_says_what_it_says_and_nothing_else() {
        let read = RecordProfile::parse(
            "[record]\nstreams = [\"EEG\"]\nrequire = [\"EEG\"]\nwait = 30\nseal = true\n[limits]\ngaps = 3\n",
        );
        let expected = RecordProfile {
            streams: vec!["EEG".into()],
            require: vec!["EEG".into()],
            wait: Some(30.0),
            seal: true,
            limits: Some(Limits { gaps: 3, ..Limits::USUAL }),
            ..RecordProfile::default()
        };
        assert_eq!(read, Ok(expected));
    }

    #[test]
    fn a_wrong_profile_says_what_is_wrong() {
        for (text, word) in [
            ("[record]\nstream = [\"EEG\"]", "unknown field `stream`"),
            ("[record]\nseal = \"yes\"", "boolean"),
            ("[limits]\ngaps = 3", "no table [record]"),
            ("[record]\n[limits]\ngap = 3", "unknown field `gap`"),
            ("[record]\n[limits]\nlate_seconds = -3.0", "not below 0"),
            ("[record]\nfolder = \"a\"\nbids = \"b\"", "exclude"),
            ("record", "expected"),
        ] {
            let error = RecordProfile::parse(text).expect_err(text).to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
        assert!(
            RecordProfile::read("no-such.toml".as_ref())
                .expect_err("no file")
                .to_string()
                .contains("no-such")
        );
    }
}
