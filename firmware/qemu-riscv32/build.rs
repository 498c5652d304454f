//! Tells the linker where things lie on the machine; a flag here survives a caller's `RUSTFLAGS`.

fn main() {
    let here = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    println!("cargo:rustc-link-arg=-T{here}/virt.ld");
    // One copy of functions that came out equal; nothing here compares their addresses.
    println!("cargo:rustc-link-arg=--icf=all");
    println!("cargo:rerun-if-changed=virt.ld");
}
