//! Runs what a finding says, once the person has agreed.
//!
//! No shell reads the command, for a part of it may come from the network: a name, or a session id.

use std::path::PathBuf;

use super::Finding;
use crate::sys::programs;

/// What a finding has a person run, without the remark behind it.
pub(crate) fn command(finding: &Finding) -> &str {
    finding.fix.split("    #").next().unwrap_or_default()
}

/// The words of a finding's command, if it is one that this computer can run as it stands.
pub(crate) fn runnable(finding: &Finding) -> Option<Vec<String>> {
    let words = words(command(finding))?;
    let is_ours = |words: &[String]| {
        let begins = |start: &[&str]| {
            words.iter().zip(start).filter(|(word, start)| word == start).count() == start.len()
        };
        [
            &["schwann", "config", "set"][..],
            &["schwann", "peers", "add"],
            &["schwann", "keys", "renew"],
            &["sudo"],
            // It needs no sudo: Windows says itself that an administrator must run it.
            &["netsh", "advfirewall", "firewall"],
        ]
        .into_iter()
        .any(begins)
    };
    // A command with a place to be filled in stands in capitals.
    let is_whole = !words.iter().any(|word| word == "NAME" || word == "HOST");
    (is_ours(&words) && is_whole).then_some(words)
}

/// Runs it; says whether it worked.
pub(crate) fn run(words: &[String]) -> bool {
    // An administrator needs no sudo, and a small system has none.
    let words = match words {
        [sudo, rest @ ..] if sudo == "sudo" && programs::is_administrator() => rest,
        words => words,
    };
    let Some((first, rest)) = words.split_first() else { return false };
    // This program, wherever it lies.
    let program = if first == "schwann" { std::env::current_exe() } else { Ok(PathBuf::from(first)) };
    match program.and_then(|program| programs::command(&program, rest).status()) {
        Ok(status) => status.success(),
        Err(error) => {
            eprintln!("schwann: {first}: {error}");
            false
        }
    }
}

/// Splits a command at its spaces, outside of quotation marks; nothing if a shell would do more with it. A path of Windows stands in
/// double ones.
fn words(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = command.trim().chars();
    while let Some(letter) = letters.next() {
        match letter {
            mark @ ('\'' | '"') => {
                let inside = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        end if end == mark => break,
                        '$' | '`' if mark == '"' => return None,
                        letter => inside.push(letter),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(letters.next()?),
            ' ' => words.extend(word.take()),
            '$' | '`' | ';' | '|' | '&' | '<' | '>' | '(' | ')' | '*' | '~' | '\n' => return None,
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use schwann_recorder::words::quoted;

    use super::super::Weight;
    use super::*;

    fn of(fix: &str) -> Option<Vec<String>> {
        let fix = fix.to_owned();
        runnable(&Finding { code: "code", weight: Weight::Fault, what: String::new(), fix })
    }

    #[test]
    fn what_comes_from_the_network_stays_one_word() {
        for odd in ["it's", "a b", "$(reboot)", "; reboot", "", "`reboot`", "a\\b", "\"x\""] {
            let words = of(&format!("schwann config set lab.SessionID {}    # then again", quoted(odd)));
            assert_eq!(words.and_then(|mut words| words.pop()).as_deref(), Some(odd));
        }
    }

    #[test]
    fn only_whole_commands_of_this_computer_are_run() {
        assert_eq!(of("sudo ip link set eth0 multicast on").map(|words| words.len()), Some(7));
        let allow = "netsh advfirewall firewall set rule name=\"my python\" program=\"C:\\lab\\python.exe\" dir=in new action=allow    # as administrator";
        let words = of(allow).expect("it is whole");
        assert_eq!(words[5..7], ["name=my python", "program=C:\\lab\\python.exe"]);
        for other in [
            "date -u",
            "on eeg-pc: sudo iptables -I INPUT",
            "ip link",
            "sudo ip link set NAME up",
            "sudo a; sudo b",
            "sudo \"$(reboot)\"",
            "sudo \"unended",
            "netsh interface show interface",
            "schwann doctor",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
