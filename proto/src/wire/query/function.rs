//! The core function library of XPath 1.0 §4.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use super::evaluate::{Evaluator, is_true};
use super::syntax::Expression;
use super::value::{Context, Node, Value};
use super::{TooCostly, number, string};
use crate::wire::convert;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Function {
    Boolean,
    Ceiling,
    Concat,
    Contains,
    Count,
    False,
    Floor,
    Id,
    Lang,
    Last,
    LocalName,
    Name,
    NamespaceUri,
    NormalizeSpace,
    Not,
    Number,
    Position,
    Round,
    StartsWith,
    String,
    StringLength,
    Substring,
    SubstringAfter,
    SubstringBefore,
    Sum,
    Translate,
    True,
}

impl Function {
    pub(super) fn from_name(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"boolean" => Self::Boolean,
            b"ceiling" => Self::Ceiling,
            b"concat" => Self::Concat,
            b"contains" => Self::Contains,
            b"count" => Self::Count,
            b"false" => Self::False,
            b"floor" => Self::Floor,
            b"id" => Self::Id,
            b"lang" => Self::Lang,
            b"last" => Self::Last,
            b"local-name" => Self::LocalName,
            b"name" => Self::Name,
            b"namespace-uri" => Self::NamespaceUri,
            b"normalize-space" => Self::NormalizeSpace,
            b"not" => Self::Not,
            b"number" => Self::Number,
            b"position" => Self::Position,
            b"round" => Self::Round,
            b"starts-with" => Self::StartsWith,
            b"string" => Self::String,
            b"string-length" => Self::StringLength,
            b"substring" => Self::Substring,
            b"substring-after" => Self::SubstringAfter,
            b"substring-before" => Self::SubstringBefore,
            b"sum" => Self::Sum,
            b"translate" => Self::Translate,
            b"true" => Self::True,
            _ => return None,
        })
    }

    pub(super) fn argument_counts(self) -> RangeInclusive<usize> {
        match self {
            Self::False | Self::Last | Self::Position | Self::True => 0..=0,
            Self::LocalName
            | Self::Name
            | Self::NamespaceUri
            | Self::NormalizeSpace
            | Self::Number
            | Self::String
            | Self::StringLength => 0..=1,
            Self::Boolean
            | Self::Ceiling
            | Self::Count
            | Self::Floor
            | Self::Id
            | Self::Lang
            | Self::Not
            | Self::Round
            | Self::Sum => 1..=1,
            Self::Contains | Self::StartsWith | Self::SubstringAfter | Self::SubstringBefore => 2..=2,
            Self::Substring => 2..=3,
            Self::Translate => 3..=3,
            Self::Concat => 2..=usize::MAX,
        }
    }

    pub(super) fn needs_node_set(self) -> bool {
        matches!(self, Self::Count | Self::LocalName | Self::Name | Self::NamespaceUri | Self::Sum)
    }
}

impl<'a> Evaluator<'a> {
    /// Calls a function with as many arguments as the parser has checked.
    pub(super) fn call(
        &mut self,
        function: Function,
        arguments: &[Expression],
        context: Context,
    ) -> Result<Value<'a>, TooCostly> {
        let mut call = Call { evaluator: self, arguments, context };
        Ok(match function {
            Function::Boolean => Value::Boolean(is_true(&call.value(0)?)),
            Function::Ceiling => Value::Number(number::ceiling(call.number(0)?)),
            Function::Concat => call.concat()?,
            Function::Contains => Value::Boolean(call.search(string::find)?.is_some()),
            Function::Count => Value::Number(convert::count(call.nodes(0)?.len())),
            Function::False => Value::Boolean(false),
            Function::Floor => Value::Number(number::floor(call.number(0)?)),
            // Without a document type no attribute is an ID.
            Function::Id => Value::NodeSet(Vec::new()),
            Function::Lang => call.lang()?,
            Function::Last => Value::Number(convert::count(context.size)),
            Function::LocalName => call.name_part(|name| after_colon(name).unwrap_or(name))?,
            Function::Name => call.name_part(|name| name)?,
            Function::NamespaceUri => call.namespace_uri()?,
            Function::NormalizeSpace => Value::Text(Cow::Owned(string::normalize_space(&call.text(0)?))),
            Function::Not => Value::Boolean(!is_true(&call.value(0)?)),
            Function::Number => Value::Number(call.number(0)?),
            Function::Position => Value::Number(convert::count(context.position)),
            Function::Round => Value::Number(number::round(call.number(0)?)),
            Function::StartsWith => Value::Boolean(call.search(|text, prefix| text.starts_with(prefix))?),
            Function::String => Value::Text(call.text(0)?),
            Function::StringLength => {
                Value::Number(convert::count(string::characters(&call.text(0)?).count()))
            }
            Function::Substring => call.substring()?,
            Function::SubstringAfter => {
                Value::Text(Cow::Owned(call.search(|text, end| string::after(text, end).to_vec())?))
            }
            Function::SubstringBefore => {
                Value::Text(Cow::Owned(call.search(|text, end| string::before(text, end).to_vec())?))
            }
            Function::Sum => call.sum()?,
            Function::Translate => call.translate()?,
            Function::True => Value::Boolean(true),
        })
    }
}

/// A function's arguments and where they are evaluated.
struct Call<'e, 'x, 'a> {
    evaluator: &'e mut Evaluator<'a>,
    arguments: &'x [Expression],
    context: Context,
}

impl<'a> Call<'_, '_, 'a> {
    fn concat(&mut self) -> Result<Value<'a>, TooCostly> {
        let mut joined = Vec::new();
        for index in 0..self.arguments.len() {
            joined.extend_from_slice(&self.text(index)?);
        }
        Ok(Value::Text(Cow::Owned(joined)))
    }

    /// Evaluates a function of a text and another text to be looked for in it.
    fn search<T>(&mut self, search: impl Fn(&[u8], &[u8]) -> T) -> Result<T, TooCostly> {
        let (text, pattern) = (self.text(0)?, self.text(1)?);
        self.evaluator.spend_text(text.len().saturating_mul(pattern.len()) / 4)?;
        Ok(search(&text, &pattern))
    }

    fn substring(&mut self) -> Result<Value<'a>, TooCostly> {
        let (text, start) = (self.text(0)?, self.number(1)?);
        let length = if self.arguments.len() > 2 { self.number(2)? } else { f64::INFINITY };
        Ok(Value::Text(Cow::Owned(string::substring(&text, start, length))))
    }

    fn translate(&mut self) -> Result<Value<'a>, TooCostly> {
        let (text, from, to) = (self.text(0)?, self.text(1)?, self.text(2)?);
        self.evaluator.spend(text.len().saturating_mul(from.len()) / 2)?;
        Ok(Value::Text(Cow::Owned(string::translate(&text, &from, &to))))
    }

    fn sum(&mut self) -> Result<Value<'a>, TooCostly> {
        let mut sum = 0.0;
        for node in self.nodes(0)? {
            let text = Value::Text(self.evaluator.node_text(node)?);
            sum += self.evaluator.number(&text)?;
        }
        Ok(Value::Number(sum))
    }

    fn lang(&mut self) -> Result<Value<'a>, TooCostly> {
        let wanted = self.text(0)?;
        let document = self.evaluator.document;
        let mut next = Some(self.context.node.id);
        while let Some(id) = next {
            self.evaluator.spend(1)?;
            let language = document.attributes(id).iter().find(|attribute| attribute.name == "xml:lang");
            if let Some(language) = language {
                let language = language.value.as_bytes();
                let matches = language.split_at_checked(wanted.len()).is_some_and(|(start, rest)| {
                    start.eq_ignore_ascii_case(&wanted) && matches!(rest.first(), None | Some(b'-'))
                });
                return Ok(Value::Boolean(matches));
            }
            next = document.parent(id);
        }
        Ok(Value::Boolean(false))
    }

    fn name_part(&mut self, part: impl Fn(&'a [u8]) -> &'a [u8]) -> Result<Value<'a>, TooCostly> {
        let name = self.node()?.map(|node| self.name_of(node)).unwrap_or_default();
        Ok(Value::Text(Cow::Borrowed(part(name))))
    }

    fn namespace_uri(&mut self) -> Result<Value<'a>, TooCostly> {
        let Some(node) = self.node()? else { return Ok(Value::EMPTY_TEXT) };
        let name = self.name_of(node);
        let local = after_colon(name);
        let prefix = name.get(..name.len().saturating_sub(local.map_or(0, <[u8]>::len))).unwrap_or_default();
        let declaration = match (local, node.attribute) {
            (Some(_), _) => [b"xmlns:", prefix.strip_suffix(b":").unwrap_or(prefix)].concat(),
            (None, None) => b"xmlns".to_vec(),
            // The default namespace does not apply to attributes.
            (None, Some(_)) => return Ok(Value::EMPTY_TEXT),
        };
        let document = self.evaluator.document;
        let mut next = Some(node.id);
        while let Some(id) = next {
            self.evaluator.spend(1)?;
            let found = document.attributes(id).iter().find(|attribute| attribute.name == *declaration);
            if let Some(found) = found {
                return Ok(Value::Text(Cow::Borrowed(found.value.as_bytes())));
            }
            next = document.parent(id);
        }
        Ok(Value::EMPTY_TEXT)
    }

    /// Returns the first node of the first argument, or the context node if there is no argument.
    fn node(&mut self) -> Result<Option<Node>, TooCostly> {
        if self.arguments.is_empty() {
            return Ok(Some(self.context.node));
        }
        Ok(self.nodes(0)?.first().copied())
    }

    fn name_of(&self, node: Node) -> &'a [u8] {
        let document = self.evaluator.document;
        match node.attribute {
            Some(index) => {
                document.attributes(node.id).get(index).map_or(&[], |attribute| attribute.name.as_bytes())
            }
            None => document.name(node.id).as_bytes(),
        }
    }

    fn nodes(&mut self, index: usize) -> Result<Vec<Node>, TooCostly> {
        match self.arguments.get(index) {
            Some(argument) => self.evaluator.node_set(argument, self.context),
            None => Ok(Vec::new()),
        }
    }

    fn number(&mut self, index: usize) -> Result<f64, TooCostly> {
        let value = self.value(index)?;
        self.evaluator.number(&value)
    }

    fn text(&mut self, index: usize) -> Result<Cow<'a, [u8]>, TooCostly> {
        let value = self.value(index)?;
        self.evaluator.text(&value)
    }

    /// Evaluates an argument; one that was left out is the context node.
    fn value(&mut self, index: usize) -> Result<Value<'a>, TooCostly> {
        match self.arguments.get(index) {
            Some(argument) => self.evaluator.value(argument, self.context),
            None => Ok(Value::NodeSet(alloc::vec![self.context.node])),
        }
    }
}

fn after_colon(name: &[u8]) -> Option<&[u8]> {
    let colon = name.iter().position(|byte| *byte == b':')?;
    name.get(colon.saturating_add(1)..)
}
