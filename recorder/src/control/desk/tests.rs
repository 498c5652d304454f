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
