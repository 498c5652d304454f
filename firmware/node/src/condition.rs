//! Whether a query means this stream, without a heap.
//!
//! Understands what programs ask: comparisons of the description's elements with texts and numbers. Also `and`,
//! `or`, parentheses, `not`, `starts-with`, `contains`, `true` and `false`. Anything else, queries about `desc`
//! among them, is answered by silence, as the desktop answers a malformed query. lsl-wire §5.
//!
//! The desktop's evaluator (`proto::wire::query`) knows all of XPath 1.0 and needs a heap. A test holds the two
//! against each other.

use schwann_proto::wire::number::parse_f64;

use crate::description::Description;

/// Whether the stream fulfils `condition`; no for a condition that is not understood.
pub(crate) fn matches(condition: &str, stream: &Description<'_>) -> bool {
    if condition.trim_ascii().is_empty() {
        return true;
    }
    let mut parser = Parser { rest: condition, stream, depth: 0 };
    let verdict = parser.any();
    verdict.and_then(|value| parser.at_end().then(|| value.truth())).unwrap_or(false)
}

#[derive(Clone, Copy)]
enum Operand<'a> {
    Truth(bool),
    Number(f64),
    Text(&'a str),
    /// An element of the description.
    Element(&'a str),
    /// An element that no description has.
    Nothing,
}

#[derive(Clone, Copy, PartialEq)]
enum Comparison {
    Equal,
    Unequal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

impl Operand<'_> {
    fn truth(self) -> bool {
        match self {
            Self::Truth(truth) => truth,
            Self::Number(number) => number != 0.0 && !number.is_nan(),
            Self::Text(text) => !text.is_empty(),
            // An element that exists is true, with any content.
            Self::Element(_) => true,
            Self::Nothing => false,
        }
    }

    fn with_text<R>(self, stream: &Description<'_>, then: impl FnOnce(&str) -> R) -> Option<R> {
        match self {
            Self::Text(text) => Some(then(text)),
            Self::Element(name) => Some(stream.value(name, then)),
            Self::Nothing => Some(then("")),
            Self::Truth(_) | Self::Number(_) => None,
        }
    }

    fn number(self, stream: &Description<'_>) -> f64 {
        match self {
            Self::Number(number) => number,
            Self::Truth(truth) => f64::from(u8::from(truth)),
            Self::Text(text) => parse_number(text),
            Self::Element(name) => stream.value(name, parse_number),
            Self::Nothing => f64::NAN,
        }
    }
}

/// XPath 1.0 §4.4: the whole text is a number, or it is none.
fn parse_number(text: &str) -> f64 {
    let text = text.trim_ascii();
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-'));
    if plain { parse_f64(text).unwrap_or(f64::NAN) } else { f64::NAN }
}

struct Parser<'a> {
    rest: &'a str,
    stream: &'a Description<'a>,
    depth: u8,
}

impl<'a> Parser<'a> {
    fn any(&mut self) -> Option<Operand<'a>> {
        self.depth = self.depth.checked_add(1).filter(|depth| *depth <= MAX_DEPTH)?;
        let mut left = self.all()?;
        while self.word("or") {
            let right = self.all()?;
            left = Operand::Truth(left.truth() | right.truth());
        }
        self.depth -= 1;
        Some(left)
    }

    fn all(&mut self) -> Option<Operand<'a>> {
        let mut left = self.comparison()?;
        while self.word("and") {
            let right = self.comparison()?;
            left = Operand::Truth(left.truth() & right.truth());
        }
        Some(left)
    }

    fn comparison(&mut self) -> Option<Operand<'a>> {
        let left = self.operand()?;
        let Some(comparison) = self.operator() else { return Some(left) };
        let right = self.operand()?;
        Some(Operand::Truth(compare(left, comparison, right, self.stream)?))
    }

    fn operator(&mut self) -> Option<Comparison> {
        let operators = [
            ("!=", Comparison::Unequal),
            ("<=", Comparison::LessEqual),
            (">=", Comparison::GreaterEqual),
            ("=", Comparison::Equal),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ];
        operators.into_iter().find(|(sign, _)| self.sign(sign)).map(|(_, comparison)| comparison)
    }

    fn operand(&mut self) -> Option<Operand<'a>> {
        self.skip_space();
        let first = *self.rest.as_bytes().first()?;
        match first {
            b'(' => {
                self.sign("(");
                let inner = self.any()?;
                self.sign(")").then_some(inner)
            }
            b'\'' | b'"' => self.literal().map(Operand::Text),
            b'0'..=b'9' | b'.' | b'-' => self.number().map(Operand::Number),
            _ => self.named(),
        }
    }

    fn literal(&mut self) -> Option<&'a str> {
        self.skip_space();
        let quote = self.rest.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
        let (text, rest) = self.rest.get(1..)?.split_once(quote)?;
        self.rest = rest;
        Some(text)
    }

    fn number(&mut self) -> Option<f64> {
        let is_part = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'-');
        let len = self.rest.bytes().take_while(|byte| is_part(*byte)).count();
        let (text, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        parse_f64(text)
    }

    /// A function's call, or an element.
    fn named(&mut self) -> Option<Operand<'a>> {
        let name = self.name()?;
        if !self.sign("(") {
            return Some(if Description::has(name) { Operand::Element(name) } else { self.unknown(name)? });
        }
        let value = match name {
            "true" => true,
            "false" => false,
            "not" => !self.any()?.truth(),
            "starts-with" | "contains" => {
                let text = self.operand()?;
                let part = if self.sign(",") { self.literal()? } else { return None };
                text.with_text(self.stream, |text| match name {
                    "contains" => text.contains(part),
                    _ => text.starts_with(part),
                })?
            }
            _ => return None,
        };
        self.sign(")").then_some(Operand::Truth(value))
    }

    /// The content of `desc` is not known here; other names belong to no element.
    fn unknown(&self, name: &str) -> Option<Operand<'a>> {
        let is_path = self.rest.starts_with(['/', '[', ':', '@', '*']);
        (name != "desc" && !is_path).then_some(Operand::Nothing)
    }

    fn name(&mut self) -> Option<&'a str> {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        let len = self.rest.bytes().take_while(|byte| is_part(*byte)).count();
        let (name, rest) = self.rest.split_at_checked(len).filter(|(name, _)| !name.is_empty())?;
        self.rest = rest;
        Some(name)
    }

    fn word(&mut self, word: &str) -> bool {
        self.skip_space();
        let Some(rest) = self.rest.strip_prefix(word) else { return false };
        let goes_on = rest.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !goes_on {
            self.rest = rest;
        }
        !goes_on
    }

    fn sign(&mut self, sign: &str) -> bool {
        self.skip_space();
        let rest = self.rest.strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }

    fn at_end(&mut self) -> bool {
        self.skip_space();
        self.rest.is_empty()
    }
}

/// XPath 1.0 §3.4.
fn compare(
    left: Operand<'_>,
    comparison: Comparison,
    right: Operand<'_>,
    stream: &Description<'_>,
) -> Option<bool> {
    use Comparison::{Equal, Greater, GreaterEqual, Less, LessEqual, Unequal};
    use Operand::{Nothing, Truth};
    let equality = matches!(comparison, Equal | Unequal);
    if let (Truth(_), _) | (_, Truth(_)) = (left, right) {
        let same = left.truth() == right.truth();
        return equality.then_some(same == (comparison == Equal));
    }
    // No element: nothing to compare with anything.
    if matches!(left, Nothing) || matches!(right, Nothing) {
        return Some(false);
    }
    let is_number = |operand| matches!(operand, Operand::Number(_));
    if equality && !is_number(left) && !is_number(right) {
        let same = left.with_text(stream, |left| right.with_text(stream, |right| left == right))??;
        return Some(same == (comparison == Equal));
    }
    let (left, right) = (left.number(stream), right.number(stream));
    Some(match comparison {
        Equal => left == right,
        Unequal => left != right,
        Less => left < right,
        LessEqual => left <= right,
        Greater => left > right,
        GreaterEqual => left >= right,
    })
}

/// How deep parentheses may be nested; the stack is small.
const MAX_DEPTH: u8 = 8;

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use schwann_proto::{stream_info::StreamInfo, wire::query::Query};

    use super::matches;
    use crate::description::{Description, tests::example};

    /// What programs ask, and what they might.
    const CONDITIONS: &[(&str, bool)] = &[
        ("", true),
        ("session_id='default'", true),
        ("session_id='other'", false),
        ("session_id='default' and name='Plain'", true),
        ("session_id='default' and type='EEG'", true),
        ("session_id='default' and name='Plain' and starts-with(type,'E')", true),
        ("name=\"Plain\" or name='x'", true),
        ("name='x' or type='y'", false),
        ("channel_count > 2", true),
        ("channel_count>=8 and channel_count<9", true),
        ("channel_count=8", true),
        ("channel_count='8'", true),
        ("nominal_srate=1000", true),
        ("nominal_srate='1000.000000000000'", true),
        ("nominal_srate = 999", false),
        ("not(name='Plain')", false),
        ("not(name='x') and (type='EEG' or false())", true),
        ("contains(name,'lai')", true),
        ("contains(name,'LAI')", false),
        ("source_id='chip-77' and hostname!='elsewhere'", true),
        ("channel_count!=8", false),
        ("nothing='x'", false),
        ("not(nothing='x')", true),
        ("name", true),
        ("nothing", false),
        ("true()", true),
        ("(((name='Plain')))", true),
        ("'a'='a' and 2 > 1", true),
        ("channel_format='float32'", true),
        ("name='Plain' and", false),
        ("name=", false),
        ("and", false),
    ];

    #[test]
    fn conditions_are_understood_as_on_the_desktop() {
        let stream = Description { name: "Plain", ..example() };
        let mut message = Vec::new();
        stream.put_shortinfo(&mut message).unwrap();
        let info = StreamInfo::parse(&message).unwrap();
        for (condition, expected) in CONDITIONS {
            assert_eq!(matches(condition, &stream), *expected, "{condition}");
            if let Ok(query) = Query::parse(condition.as_bytes()) {
                assert!(condition.is_empty() || info.matches(&query) == *expected, "desktop: {condition}");
            }
        }
    }

    #[test]
    fn what_is_not_understood_is_no_match() {
        let stream = example();
        for condition in [
            "desc/manufacturer='Schwann'",
            "count(desc/channel)>1",
            "/info/name",
            "@a='1'",
            "((((((((((name))))))))))",
            "name='unterminated",
            "starts-with(name)",
            "\u{e4}='x'",
            "not(",
        ] {
            assert!(!matches(condition, &stream), "{condition}");
        }
    }
}
