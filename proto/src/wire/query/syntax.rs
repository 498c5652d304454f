//! The shape of a compiled query.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::function::Function;

#[derive(Clone, Debug)]
pub(super) enum Expression {
    Call(Function, Vec<Self>),
    /// Operators of one precedence, from left to right. A chain, not a tree: `a or b or ...` may be long.
    Chain(Box<Self>, Vec<(Operator, Self)>),
    Literal(Box<[u8]>),
    Negate(Box<Self>),
    Number(f64),
    Path(Path),
    Union(Vec<Self>),
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Operator {
    Add,
    And,
    Divide,
    Equal,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    Modulo,
    Multiply,
    NotEqual,
    Or,
    Subtract,
}

#[derive(Clone, Debug)]
pub(super) struct Path {
    pub(super) start: Start,
    pub(super) steps: Vec<Step>,
}

/// Where a path begins.
#[derive(Clone, Debug)]
pub(super) enum Start {
    Context,
    /// At the nodes of an expression that satisfy the predicates.
    Filter(Box<Expression>, Vec<Expression>),
    Root,
}

#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) axis: Axis,
    pub(super) test: NodeTest,
    pub(super) predicates: Vec<Expression>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Axis {
    Ancestor,
    AncestorOrSelf,
    Attribute,
    Child,
    Descendant,
    DescendantOrSelf,
    Following,
    FollowingSibling,
    Namespace,
    Parent,
    Preceding,
    PrecedingSibling,
    Itself,
}

#[derive(Clone, Debug)]
pub(super) enum NodeTest {
    /// Elements (on the attribute axis: attributes).
    AnyName,
    /// Every node.
    AnyNode,
    /// Nothing: comments and processing instructions are not in our documents.
    Nothing,
    Name(Box<[u8]>),
    /// Names with this prefix, colon included.
    Prefix(Box<[u8]>),
    Text,
}

impl Expression {
    /// Returns whether the value is a node set, which the grammar alone decides.
    pub(super) fn is_node_set(&self) -> bool {
        match self {
            Self::Call(function, _) => *function == Function::Id,
            Self::Path(_) | Self::Union(_) => true,
            Self::Chain(..) | Self::Literal(_) | Self::Negate(_) | Self::Number(_) => false,
        }
    }

    /// Joins two operands; `self` is extended if it is a chain of the same precedence, which is what
    /// left-associative means.
    pub(super) fn join(self, operator: Operator, right: Self) -> Self {
        match self {
            Self::Chain(first, mut rest)
                if rest.iter().all(|(other, _)| other.precedence() == operator.precedence()) =>
            {
                rest.push((operator, right));
                Self::Chain(first, rest)
            }
            left => Self::Chain(Box::new(left), alloc::vec![(operator, right)]),
        }
    }
}

impl Operator {
    pub(super) fn precedence(self) -> u8 {
        match self {
            Self::Or => 1,
            Self::And => 2,
            Self::Equal | Self::NotEqual => 3,
            Self::Greater | Self::GreaterOrEqual | Self::Less | Self::LessOrEqual => 4,
            Self::Add | Self::Subtract => 5,
            Self::Divide | Self::Modulo | Self::Multiply => 6,
        }
    }
}

impl Axis {
    pub(super) fn from_name(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"ancestor" => Self::Ancestor,
            b"ancestor-or-self" => Self::AncestorOrSelf,
            b"attribute" => Self::Attribute,
            b"child" => Self::Child,
            b"descendant" => Self::Descendant,
            b"descendant-or-self" => Self::DescendantOrSelf,
            b"following" => Self::Following,
            b"following-sibling" => Self::FollowingSibling,
            b"namespace" => Self::Namespace,
            b"parent" => Self::Parent,
            b"preceding" => Self::Preceding,
            b"preceding-sibling" => Self::PrecedingSibling,
            b"self" => Self::Itself,
            _ => return None,
        })
    }

    /// Returns whether the axis goes against document order.
    pub(super) fn is_reverse(self) -> bool {
        matches!(self, Self::Ancestor | Self::AncestorOrSelf | Self::Preceding | Self::PrecedingSibling)
    }
}
