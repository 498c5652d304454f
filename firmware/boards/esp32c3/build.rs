//! Tells the linker how the chip's memory is laid out, and the image when it was built.

use std::time::{SystemTime, UNIX_EPOCH};

fn main() {
    println!("cargo:rustc-link-arg=-Tlinkall.x");
    // It is not earlier than this, which is all that the image knows of the date.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs().to_string();
    let built = std::env::var("SOURCE_DATE_EPOCH").unwrap_or(now);
    println!("cargo:rustc-env=BUILT_AT={built}");
    for name in ["SOURCE_DATE_EPOCH", "SCHWANN_WIFI_NAME", "SCHWANN_WIFI_PASSWORD"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
}
