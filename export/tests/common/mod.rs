//! What the tests of exports share.
#![allow(unreachable_pub, reason = "each test is a crate of its own")]

use core::ops::{ControlFlow, Deref};
use std::path::{Path, PathBuf};
use std::{env, fs, process};

/// A folder of one test, which goes with it.
pub struct Folder(PathBuf);

impl Folder {
    /// Makes it; `test` is another for each test of a program.
    pub fn new(test: &str) -> Self {
        let folder = env::temp_dir().join(format!("schwann-export-{}-{test}", process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }
}

impl Deref for Folder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _gone_already = fs::remove_dir_all(&self.0);
    }
}

/// Has an export go on, however far it has come.
pub fn go_on(_done: u64, _all: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}
