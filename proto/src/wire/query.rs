//! Queries: XPath 1.0 expressions about a stream's description.
//!
//! A query is compiled once and asked of many descriptions. Its context is the `<info>` element,
//! metadata included. Its value becomes true or false by the rules of XPath (lsl-wire §5). All of XPath
//! 1.0's grammar and core functions are there; variables are not, and the namespace axis is empty.
//! `string-length` and its kin count characters; a byte that is not UTF-8 counts as one.
//!
//! Any host on the network can send queries. Limits on length, nesting and work keep a query from
//! holding up an outlet's samples.

mod axis;
mod cache;
mod evaluate;
mod fields;
mod function;
mod number;
mod parse;
mod string;
mod syntax;
mod token;
mod value;

use alloc::format;
use alloc::string::String;
use core::fmt;

pub use cache::QueryCache;

use crate::wire::xml::Document;
use evaluate::Evaluator;
use syntax::Expression;

/// A compiled query.
#[derive(Clone, Debug)]
pub struct Query {
    /// Nothing if the query matches every stream.
    expression: Option<Expression>,
}

/// Why a text is not a query; its author must correct it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct QueryError {
    /// Offset of the offending part, in bytes.
    pub position: usize,
    /// What is wrong there.
    pub reason: QueryFault,
}

/// What can be wrong with a query.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum QueryFault {
    /// A function does not take that many arguments.
    ArgumentCount,
    /// There is a character that no expression contains, or a literal does not end.
    Character,
    /// A node set is needed here.
    NodeSet,
    /// The expression is nested deeper than [`MAX_QUERY_DEPTH`].
    TooDeep,
    /// The query is longer than [`MAX_QUERY_BYTES`].
    TooLong,
    /// Something else is expected here.
    Unexpected,
    /// There is no axis of that name.
    UnknownAxis,
    /// There is no function of that name.
    UnknownFunction,
    /// There are no variables.
    Variable,
}

/// The evaluation of a query was given up, because it takes too long.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TooCostly;

impl Query {
    /// Compiles a query; an empty one matches every stream.
    ///
    /// - Errors: [`QueryError`]: refuse what the application asks, or ignore what a peer asks.
    pub fn parse(text: impl AsRef<[u8]>) -> Result<Self, QueryError> {
        let text = text.as_ref();
        if text.len() > MAX_QUERY_BYTES {
            return Err(QueryError { position: MAX_QUERY_BYTES, reason: QueryFault::TooLong });
        }
        if text.iter().copied().all(token::is_space) {
            return Ok(Self { expression: None });
        }
        Ok(Self { expression: Some(parse::parse(text)?) })
    }

    /// Returns whether a stream's short description decides the query as the whole one does.
    ///
    /// A query that may look at metadata, however it words that, does not. This says so of some others, too.
    pub fn is_about_fields(&self) -> bool {
        self.expression.as_ref().is_none_or(fields::decide)
    }

    /// Returns whether the query is true for the description; one that is [`TooCostly`] is not.
    pub fn matches(&self, description: &Document) -> bool {
        self.evaluate(description).unwrap_or(false)
    }

    /// Returns whether the query is true for the description.
    ///
    /// - Errors: [`TooCostly`]: treat the query as false, and tell the user.
    pub fn evaluate(&self, description: &Document) -> Result<bool, TooCostly> {
        let Some(expression) = &self.expression else { return Ok(true) };
        let root = description.root();
        let context =
            description.child(root, "info").or_else(|| description.document_element()).unwrap_or(root);
        Evaluator::new(description).boolean(expression, context)
    }
}

impl QueryError {
    /// Returns the text that programs see as the last error, such as `Invalid query 'a=': ...`.
    pub fn describe(&self, query: &str) -> String {
        format!("Invalid query '{query}': {self}")
    }
}

impl core::error::Error for QueryError {}

impl fmt::Display for QueryError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = match self.reason {
            QueryFault::ArgumentCount => "wrong number of arguments",
            QueryFault::Character => "unrecognized character or unterminated literal",
            QueryFault::NodeSet => "expression is no node set",
            QueryFault::TooDeep => "expression is nested too deeply",
            QueryFault::TooLong => "query is too long",
            QueryFault::Unexpected => "unexpected token or end",
            QueryFault::UnknownAxis => "unknown axis",
            QueryFault::UnknownFunction => "unknown function",
            QueryFault::Variable => "variables are not supported",
        };
        write!(formatter, "{reason} at character {}", self.position.saturating_add(1))
    }
}

impl core::error::Error for TooCostly {}

impl fmt::Display for TooCostly {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the query takes too long to evaluate")
    }
}

/// Longest query in bytes; a longer one does not fit into a datagram.
pub const MAX_QUERY_BYTES: usize = 65_507;

/// Deepest nesting of parentheses, predicates and arguments.
pub const MAX_QUERY_DEPTH: usize = 64;

/// Steps (nodes visited, or some bytes of text handled) that every evaluation may take; up to ten milliseconds.
const BASE_STEPS: usize = 1_000_000;

/// Steps that an evaluation may take in addition for each node of the description.
const STEPS_PER_NODE: usize = 32;

#[cfg(test)]
mod tests;
