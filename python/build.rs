//! Lets `cargo build` link the module on macOS, where only an argument permits symbols that the interpreter brings.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
