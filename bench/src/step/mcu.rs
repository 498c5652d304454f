//! What the microcontroller's image counts of itself.

use super::{Step, named};
use crate::mcu;
use crate::suite::{Asked, Missing};

/// One step: the image runs once in QEMU, and counts the same to the last instruction however often it runs.
pub(crate) fn mcu(asked: &Asked) -> Result<Vec<Step>, Missing> {
    let image = asked.image.clone().ok_or_else(|| {
        Missing(
            "name the image for QEMU: schwann-bench mcu IMAGE; firmware/README.md says how to build it"
                .to_owned(),
        )
    })?;
    if !mcu::has_qemu() {
        return Err(Missing("there is no qemu-system-riscv32; install qemu-system-misc".to_owned()));
    }
    let run = move |step: &str| mcu::run(step, &image).map_err(|error| error.to_string());
    Ok(vec![named("instructions in QEMU", Box::new(run))])
}
