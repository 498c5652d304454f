//! Gives macOS' library a name that does not hold the folder it was built in.

use std::env;

fn main() {
    if env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "macos") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libfieldtripbuffer.dylib");
    }
    println!("cargo:rerun-if-changed=build.rs");
}
