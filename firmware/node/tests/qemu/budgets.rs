//! What the parts may cost.

use std::time::Instant;

use super::machine::{Machine, numbers};

/// What may not be exceeded, in instructions or bytes: measured, with 10 % slack.
#[test]
#[ignore = "needs the image: checks/70-firmware.sh"]
fn instructions_and_stacks_keep_to_their_budgets() {
    let started = Instant::now();
    let run = || {
        let mut machine = Machine::start("mode=measure", None, &["-icount", "shift=0,sleep=off"]);
        let lines = machine.rest();
        assert_eq!(machine.exit_code(), Some(0), "{lines:?}");
        lines
    };
    let lines = run();
    lines.iter().for_each(|line| println!("{line}"));
    println!("measured in {:.1} s", started.elapsed().as_secs_f64());
    assert!(lines.contains(&"exact=1".to_owned()));
    assert!(lines.iter().any(|line| line.starts_with("transcript=equal")));
    assert!(lines.contains(&"residue words=0".to_owned()), "nothing of key or key stream stays on the stack");
    let mut checked = 0;
    for line in &lines {
        let is = |words: &[&str]| words.iter().all(|word| line.split(' ').any(|part| part == *word));
        let found = numbers(line);
        for (words, name, budget) in BUDGETS {
            if is(words) {
                assert!(found[name] <= *budget, "{name} of {line} exceeds {budget}");
                checked += 1;
            }
        }
        if is(&["push"]) {
            assert!(
                found["most"] * 10 <= found["mean"] * 11,
                "the worst push is no more than 10 % above the mean: {line}"
            );
        }
    }
    assert!(checked >= BUDGETS.len(), "{checked} of {} budgets were looked at", BUDGETS.len());
    assert_eq!(lines, run(), "two runs are equal to the last instruction");
}

type Budget = (&'static [&'static str], &'static str, u64);
const BUDGETS: &[Budget] = &[
    (&["push", "channels=8", "subscribers=none"], "mean", 130),
    (&["push", "channels=64"], "mean", 438),
    (&["push", "channels=128"], "mean", 790),
    (&["push", "subscribers=sealed"], "mean", 92),
    (&["serve", "kind=plain", "subscribers=1", "batch=1"], "per_sample", 1390),
    (&["serve", "kind=sealed", "subscribers=1", "batch=1"], "per_sample", 8660),
    (&["serve", "kind=sealed", "subscribers=1", "batch=20"], "per_sample", 3060),
    (&["bytes"], "session", 1024),
    (&["bytes"], "outlet", 10_290),
    (&["handshake"], "instructions", 29_900_000),
    (&["handshake"], "stack", 10_760),
];
