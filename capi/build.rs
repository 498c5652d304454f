//! Gives the shared library the names under which programs look for it.

use std::env;
use std::path::{Path, PathBuf};

fn main() {
    let system = env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    match system.as_str() {
        "macos" => {
            println!("cargo:rustc-cdylib-link-arg=-Wl,-install_name,@rpath/liblsl.2.dylib");
            link("liblsl.dylib", "liblsl.2.dylib");
        }
        // Windows has no such names. In a package for Android a file's name ends in `.so`, so release/build.sh says `liblsl.so` itself.
        "windows" | "android" => {}
        _ => {
            // Without it `ctypes.util.find_library("lsl")` does not see the library.
            println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,liblsl.so.2");
            link("liblsl.so", "liblsl.so.2");
        }
    }
    println!("cargo:rerun-if-changed=build.rs");
}

/// Puts a link beside the library that is about to be built. A program that was linked with it asks the loader for `name`, and
/// cargo builds only `library`.
fn link(library: &str, name: &str) {
    // target/PROFILE/build/PACKAGE/out
    let folder = env::var_os("OUT_DIR").map(PathBuf::from);
    let Some(folder) = folder.as_deref().and_then(|out| out.ancestors().nth(3)) else { return };
    if let Err(error) = symlink(library, &folder.join(name)) {
        println!("cargo:warning=linked programs will not find {name}: {}: {error}", folder.display());
    }
}

#[cfg(unix)]
fn symlink(library: &str, name: &Path) -> std::io::Result<()> {
    match std::os::unix::fs::symlink(library, name) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        outcome => outcome,
    }
}

#[cfg(not(unix))]
fn symlink(_: &str, _: &Path) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}
