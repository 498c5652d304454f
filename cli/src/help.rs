//! The help of all commands, wrapped once: by the terminal's width.

use clap::Command;

/// Joins the lines of each paragraph in the help text after a command's options, and in its subcommands'
/// text.
///
/// In the source such text has lines of its own. clap would break them once more where a terminal is narrower.
pub(crate) fn rewrapped(command: Command) -> Command {
    let names: Vec<_> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    let after = command.get_after_help().map(ToString::to_string);
    let command = match after {
        Some(after) => command.after_help(joined(&after)),
        None => command,
    };
    names.into_iter().fold(command, |command, name| command.mut_subcommand(name, rewrapped))
}

/// Lines that begin at the margin belong to the one before them, unless that is indented, empty or a heading.
fn joined(text: &str) -> String {
    let mut out = String::new();
    let mut is_open = false;
    for line in text.lines() {
        let is_prose = line.starts_with(|first: char| !first.is_whitespace());
        match (is_prose && is_open, out.is_empty()) {
            (true, _) => out.push(' '),
            (false, false) => out.push('\n'),
            (false, true) => {}
        }
        out.push_str(line);
        is_open = is_prose && !line.ends_with(':');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::joined;

    #[test]
    fn paragraphs_are_one_line_and_examples_stay_as_they_are() {
        let text = "Examples:\n  schwann one\n  schwann two\n\nA paragraph of\ntwo lines.\n\nAnother one.";
        let wanted = "Examples:\n  schwann one\n  schwann two\n\nA paragraph of two lines.\n\nAnother one.";
        assert_eq!(joined(text), wanted);
    }
}
