//! The certificate of a file that was made from a recording, as `repair` and `export` make them.

use std::io::Read;
use std::path::Path;

use schwann_recorder::certificate::derive;

use crate::exit::{Exit, Problem};
use crate::lab;
use crate::terminal::printable_path;

/// Writes the certificate of the file at `made`, whose content is `content`, if the recording at `from` has one: it names that.
///
/// Says if it is unsigned because this computer's keys cannot be read; then what is returned is [`Exit::Found`].
pub(super) fn made(
    made: &Path,
    content: impl Read,
    how: &str,
    from: &Path,
    is_whole: bool,
) -> Result<Exit, Problem> {
    let how = format!("{how} from {}", from.file_name().unwrap_or_default().display());
    let member = lab::member();
    let signer = member.as_ref().ok().and_then(Option::as_deref);
    let written = derive(from, made, content, &how, is_whole, signer);
    let written = written.map_err(|error| Problem::with(made.display(), error))?;
    let (Some(certificate), Err(error)) = (written, member) else { return Ok(Exit::Good) };
    let certificate = printable_path(&certificate);
    eprintln!("schwann: {certificate} is unsigned, because this computer's keys cannot be read: {error}");
    Ok(Exit::Found)
}
