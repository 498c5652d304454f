//! The words of an expression.

use alloc::vec::Vec;

use super::{QueryError, QueryFault};

/// One word; names and literals are slices of the query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token<'a> {
    /// `'...'` or `"..."`, without the quotes.
    Literal(&'a [u8]),
    /// A name, perhaps with a prefix and a colon; `a:*`, too.
    Name(&'a [u8]),
    Number(f64),
    /// Punctuation and operators that are no names.
    Symbol(&'static str),
}

/// Splits a query into its words and where each begins.
pub(super) fn tokenize(text: &[u8]) -> Result<Vec<(Token<'_>, usize)>, QueryError> {
    let mut tokens = Vec::new();
    let mut rest = skip_space(text);
    while let Some(first) = rest.first() {
        let position = text.len().saturating_sub(rest.len());
        let (token, tail) = word(*first, rest).map_err(|reason| QueryError { position, reason })?;
        tokens.push((token, position));
        rest = skip_space(tail);
    }
    Ok(tokens)
}

pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Returns the length of the number at the beginning: `1`, `1.`, `1.5` or `.5`; 0 if there is none.
pub(super) fn number_length(text: &[u8]) -> usize {
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let whole = digits(text);
    match text.get(whole..) {
        Some([b'.', fraction @ ..]) => match (whole, digits(fraction)) {
            (0, 0) => 0,
            (whole, fraction) => whole.saturating_add(1).saturating_add(fraction),
        },
        _ => whole,
    }
}

fn word(first: u8, text: &[u8]) -> Result<(Token<'_>, &[u8]), QueryFault> {
    if first == b'\'' || first == b'"' {
        return literal(first, text);
    }
    let number = number_length(text);
    if number > 0 {
        let (digits, rest) = text.split_at_checked(number).unwrap_or_default();
        return Ok((Token::Number(super::number::from_text(digits)), rest));
    }
    if first == b'$' {
        return Err(QueryFault::Variable);
    }
    if let Some((symbol, rest)) =
        SYMBOLS.iter().find_map(|symbol| Some((*symbol, text.strip_prefix(symbol.as_bytes())?)))
    {
        return Ok((Token::Symbol(symbol), rest));
    }
    if is_name_start(first) { Ok(name(text)) } else { Err(QueryFault::Character) }
}

fn literal(quote: u8, text: &[u8]) -> Result<(Token<'_>, &[u8]), QueryFault> {
    let inside = text.get(1..).unwrap_or_default();
    let end = inside.iter().position(|byte| *byte == quote).ok_or(QueryFault::Character)?;
    let (value, rest) = inside.split_at_checked(end).ok_or(QueryFault::Character)?;
    Ok((Token::Literal(value), rest.get(1..).unwrap_or_default()))
}

fn name(text: &[u8]) -> (Token<'_>, &[u8]) {
    let part = |text: &[u8]| text.iter().take_while(|byte| is_name(**byte)).count();
    let local = part(text);
    // A single colon joins prefix and name; a double one ends the name of an axis.
    let length = match text.get(local..) {
        Some([b':', b'*', ..]) => local.saturating_add(2),
        Some([b':', rest @ ..]) if rest.first().is_some_and(|byte| is_name_start(*byte)) => {
            local.saturating_add(1).saturating_add(part(rest))
        }
        _ => local,
    };
    let (name, rest) = text.split_at_checked(length).unwrap_or((text, &[]));
    (Token::Name(name), rest)
}

fn skip_space(text: &[u8]) -> &[u8] {
    let space = text.iter().take_while(|byte| is_space(**byte)).count();
    text.get(space..).unwrap_or_default()
}

fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || !byte.is_ascii()
}

fn is_name(byte: u8) -> bool {
    is_name_start(byte) || byte.is_ascii_digit() || byte == b'-' || byte == b'.'
}

/// Longer ones before those they begin with.
const SYMBOLS: [&str; 21] = [
    "//", "/", "::", "..", ".", "@", "(", ")", "[", "]", ",", "|", "+", "-", "*", "<=", "<", ">=", ">", "!=",
    "=",
];
