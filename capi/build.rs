//! Gives the shared library the name under which programs look for it.

fn main() {
    let system = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    match system.as_str() {
        "macos" => println!("cargo:rustc-cdylib-link-arg=-Wl,-install_name,@rpath/liblsl.2.dylib"),
        "windows" => {}
        // Without it `ctypes.util.find_library("lsl")` does not see the library.
        _ => println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,liblsl.so.2"),
    }
    println!("cargo:rerun-if-changed=build.rs");
}
