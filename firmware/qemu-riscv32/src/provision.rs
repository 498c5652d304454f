//! A new device: makes its key, prints the request, and stores what is pasted on the serial line.

use schwann_node::Micros;
use schwann_session::{
    DeviceKey, Entropy as _, key_slots,
    provision::{Keys, Paste, Pasted, Request, join},
};

use crate::{card::Dice, machine, say};

pub fn run() -> ! {
    let mut dice = Dice::new();
    let mut seed = [0; 32];
    if dice.fill(&mut seed).is_err() {
        say!("no random generator");
        machine::exit(5);
    }
    say!("request {}", Request { device: DeviceKey::from_seed(&seed).public(), name: "qemu" });
    let mut pasted = [0; 1024];
    let mut paste = Paste::new(&mut pasted);
    let len = loop {
        // The serial line has no interrupt here; a look every millisecond keeps up with its 16 bytes of memory.
        machine::sleep(0, Some(Micros(machine::now().0 + 200)));
        let outcome = core::iter::from_fn(machine::Serial::read).map(|byte| paste.handle(byte));
        match outcome.fold(Pasted::More, |last, next| if next == Pasted::More { last } else { next }) {
            Pasted::More => {}
            Pasted::Damaged => say!("damaged: paste that line again"),
            Pasted::Done(len) => break len,
        }
    };
    let mut content = [0; 1024];
    let stored =
        join(&seed, &pasted[..len], &mut content).map_err(|why| say!("refused: {why}")).and_then(|content| {
            key_slots::store(&mut machine::KeyFlash, content).map_err(|why| say!("refused: {why}"))
        });
    let mut read = [0; 1024];
    let usable = stored.is_ok()
        && key_slots::load(&mut machine::KeyFlash, &mut read)
            .is_ok_and(|content| Keys::parse(content, 1000, &mut dice).is_ok());
    say!("provisioned={}", u8::from(usable));
    machine::exit(u32::from(!usable))
}
