//! Gives expressions their values, within a budget of steps.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use super::number;
use super::syntax::{Expression, Operator, Path, Start, Step};
use super::value::{Context, Node, Value};
use super::{BASE_STEPS, STEPS_PER_NODE, TooCostly};
use crate::wire::convert;
use crate::wire::xml::{Document, NodeId, NodeKind};

/// One evaluation of one query.
pub(super) struct Evaluator<'a> {
    pub(super) document: &'a Document,
    steps_left: usize,
    /// Position of each node in document order, by arena index; computed when first needed.
    order: Option<Vec<usize>>,
}

impl<'a> Evaluator<'a> {
    pub(super) fn new(document: &'a Document) -> Self {
        let steps_left = document.node_count().saturating_mul(STEPS_PER_NODE).saturating_add(BASE_STEPS);
        Self { document, steps_left, order: None }
    }

    /// Returns the value of the whole query as a boolean.
    pub(super) fn boolean(&mut self, expression: &Expression, context: NodeId) -> Result<bool, TooCostly> {
        let context = Context { node: Node::from(context), position: 1, size: 1 };
        let value = self.value(expression, context)?;
        Ok(is_true(&value))
    }

    // The recursion is as deep as the expression, which the parser has limited.
    pub(super) fn value(
        &mut self,
        expression: &Expression,
        context: Context,
    ) -> Result<Value<'a>, TooCostly> {
        self.spend(1)?;
        match expression {
            Expression::Call(function, arguments) => self.call(*function, arguments, context),
            Expression::Chain(first, rest) => self.chain(first, rest, context),
            Expression::Literal(text) => {
                self.spend_text(text.len())?;
                Ok(Value::Text(Cow::Owned(text.to_vec())))
            }
            Expression::Negate(operand) => {
                let value = self.value(operand, context)?;
                Ok(Value::Number(-self.number(&value)?))
            }
            Expression::Number(value) => Ok(Value::Number(*value)),
            Expression::Path(path) => Ok(Value::NodeSet(self.path(path, context)?)),
            Expression::Union(members) => {
                let mut union = Vec::new();
                for member in members {
                    union.extend(self.node_set(member, context)?);
                }
                self.sort(&mut union)?;
                Ok(Value::NodeSet(union))
            }
        }
    }

    /// Returns the nodes of an expression that the parser knows to be a node set.
    pub(super) fn node_set(
        &mut self,
        expression: &Expression,
        context: Context,
    ) -> Result<Vec<Node>, TooCostly> {
        Ok(match self.value(expression, context)? {
            Value::NodeSet(nodes) => nodes,
            Value::Boolean(_) | Value::Number(_) | Value::Text(_) => Vec::new(),
        })
    }

    fn chain(
        &mut self,
        first: &Expression,
        rest: &[(Operator, Expression)],
        context: Context,
    ) -> Result<Value<'a>, TooCostly> {
        let mut left = self.value(first, context)?;
        for (operator, right) in rest {
            left = match operator {
                Operator::And if !is_true(&left) => Value::Boolean(false),
                Operator::Or if is_true(&left) => Value::Boolean(true),
                Operator::And | Operator::Or => Value::Boolean(is_true(&self.value(right, context)?)),
                operator => {
                    let right = self.value(right, context)?;
                    self.apply(*operator, &left, &right)?
                }
            };
        }
        Ok(left)
    }

    fn apply(
        &mut self,
        operator: Operator,
        left: &Value<'a>,
        right: &Value<'a>,
    ) -> Result<Value<'a>, TooCostly> {
        let arithmetic: fn(f64, f64) -> f64 = match operator {
            Operator::Add => |left, right| left + right,
            Operator::Divide => |left, right| left / right,
            Operator::Modulo => |left, right| left % right,
            Operator::Multiply => |left, right| left * right,
            Operator::Subtract => |left, right| left - right,
            comparison => return Ok(Value::Boolean(self.compare(comparison, left, right)?)),
        };
        Ok(Value::Number(arithmetic(self.number(left)?, self.number(right)?)))
    }

    /// Compares as XPath 1.0 §3.4 says: with a node set it is enough that one node satisfies the comparison.
    fn compare(
        &mut self,
        operator: Operator,
        left: &Value<'a>,
        right: &Value<'a>,
    ) -> Result<bool, TooCostly> {
        match (left, right) {
            (Value::NodeSet(_), Value::Boolean(_)) | (Value::Boolean(_), Value::NodeSet(_)) => {
                self.compare_simple(operator, &Value::Boolean(is_true(left)), &Value::Boolean(is_true(right)))
            }
            (Value::NodeSet(nodes), Value::NodeSet(others)) => {
                let others = self.texts(others)?;
                for node in nodes {
                    let text = Value::Text(self.node_text(*node)?);
                    for other in &others {
                        if self.compare_simple(operator, &text, other)? {
                            return Ok(true);
                        }
                    }
                }
                Ok(false)
            }
            (Value::NodeSet(nodes), simple) => {
                for node in nodes {
                    let text = Value::Text(self.node_text(*node)?);
                    if self.compare_simple(operator, &text, simple)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            (simple, Value::NodeSet(nodes)) => {
                for node in nodes {
                    let text = Value::Text(self.node_text(*node)?);
                    if self.compare_simple(operator, simple, &text)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            (left, right) => self.compare_simple(operator, left, right),
        }
    }

    /// Compares two values; neither is a node set.
    fn compare_simple(
        &mut self,
        operator: Operator,
        left: &Value<'a>,
        right: &Value<'a>,
    ) -> Result<bool, TooCostly> {
        self.spend(1)?;
        let equality = matches!(operator, Operator::Equal | Operator::NotEqual);
        let equal = match (left, right) {
            _ if !equality => {
                let (left, right) = (self.number(left)?, self.number(right)?);
                return Ok(match operator {
                    Operator::Greater => left > right,
                    Operator::GreaterOrEqual => left >= right,
                    Operator::Less => left < right,
                    _ => left <= right,
                });
            }
            (Value::Boolean(_), _) | (_, Value::Boolean(_)) => is_true(left) == is_true(right),
            (Value::Number(_), _) | (_, Value::Number(_)) => self.number(left)? == self.number(right)?,
            (Value::Text(left), Value::Text(right)) => {
                self.spend_text(left.len().min(right.len()))?;
                left == right
            }
            (Value::NodeSet(_), _) | (_, Value::NodeSet(_)) => false,
        };
        Ok(equal == (operator == Operator::Equal))
    }

    fn path(&mut self, path: &Path, context: Context) -> Result<Vec<Node>, TooCostly> {
        let mut nodes = match &path.start {
            Start::Context => alloc::vec![context.node],
            Start::Filter(expression, predicates) => {
                let mut nodes = self.node_set(expression, context)?;
                for predicate in predicates {
                    nodes = self.filter(nodes, predicate)?;
                }
                nodes
            }
            Start::Root => alloc::vec![Node::from(self.document.root())],
        };
        for step in &path.steps {
            nodes = self.step(&nodes, step)?;
        }
        Ok(nodes)
    }

    fn step(&mut self, from: &[Node], step: &Step) -> Result<Vec<Node>, TooCostly> {
        let mut reached = Vec::new();
        for node in from {
            let mut nodes = self.axis(*node, step.axis, &step.test)?;
            for predicate in &step.predicates {
                nodes = self.filter(nodes, predicate)?;
            }
            reached.append(&mut nodes);
        }
        if from.len() > 1 {
            self.sort(&mut reached)?;
        } else if step.axis.is_reverse() {
            reached.reverse();
        }
        Ok(reached)
    }

    /// Keeps the nodes for which the predicate is true, or whose position it names.
    fn filter(&mut self, nodes: Vec<Node>, predicate: &Expression) -> Result<Vec<Node>, TooCostly> {
        let size = nodes.len();
        let mut kept = Vec::new();
        for (index, node) in nodes.into_iter().enumerate() {
            let position = index.saturating_add(1);
            let keep = match self.value(predicate, Context { node, position, size })? {
                Value::Number(wanted) => wanted == convert::count(position),
                value => is_true(&value),
            };
            if keep {
                kept.push(node);
            }
        }
        Ok(kept)
    }

    /// Puts nodes in document order, each once.
    fn sort(&mut self, nodes: &mut Vec<Node>) -> Result<(), TooCostly> {
        if nodes.len() < 2 {
            return Ok(());
        }
        self.spend(nodes.len().saturating_mul(2))?;
        if self.order.is_none() {
            self.spend(self.document.node_count())?;
        }
        let order = self.order.get_or_insert_with(|| self.document.order());
        // An element comes before its attributes, and these before its children: `None` is less than `Some`.
        nodes.sort_unstable_by_key(|node| (order.get(node.id.index()), node.attribute));
        nodes.dedup();
        Ok(())
    }

    pub(super) fn number(&mut self, value: &Value<'a>) -> Result<f64, TooCostly> {
        Ok(match value {
            Value::Boolean(value) => f64::from(u8::from(*value)),
            Value::NodeSet(_) => number::from_text(&self.text(value)?),
            Value::Number(value) => *value,
            Value::Text(text) => {
                self.spend_text(text.len())?;
                number::from_text(text)
            }
        })
    }

    pub(super) fn text(&mut self, value: &Value<'a>) -> Result<Cow<'a, [u8]>, TooCostly> {
        Ok(match value {
            Value::Boolean(true) => Cow::Borrowed(b"true"),
            Value::Boolean(false) => Cow::Borrowed(b"false"),
            Value::NodeSet(nodes) => match nodes.first() {
                Some(first) => self.node_text(*first)?,
                None => Cow::Borrowed(b""),
            },
            Value::Number(number) => Cow::Owned(number::to_text(*number).into_bytes()),
            Value::Text(text) => {
                self.spend_text(text.len())?;
                text.clone()
            }
        })
    }

    /// Returns the string-value of a node: an attribute's value, or all text below it.
    pub(super) fn node_text(&mut self, node: Node) -> Result<Cow<'a, [u8]>, TooCostly> {
        let document = self.document;
        if let Some(index) = node.attribute {
            let value = document.attributes(node.id).get(index).map(|attribute| attribute.value.as_bytes());
            return Ok(Cow::Borrowed(value.unwrap_or_default()));
        }
        let mut text = Cow::Borrowed(document.value(node.id).as_bytes());
        if matches!(document.kind(node.id), Some(NodeKind::Cdata | NodeKind::Text)) {
            return Ok(text);
        }
        let mut next = document.first_child(node.id);
        while let Some(id) = next {
            let value = document.value(id).as_bytes();
            self.spend(1)?;
            if text.is_empty() {
                text = Cow::Borrowed(value);
            } else if !value.is_empty() {
                // The first piece is copied only now that it is not the only one.
                let copied = if let Cow::Borrowed(first) = text { first.len() } else { 0 };
                self.spend_text(copied.saturating_add(value.len()))?;
                text.to_mut().extend_from_slice(value);
            }
            next = document.next_in_document(node.id, id);
        }
        Ok(text)
    }

    fn texts(&mut self, nodes: &[Node]) -> Result<Vec<Value<'a>>, TooCostly> {
        nodes.iter().map(|node| Ok(Value::Text(self.node_text(*node)?))).collect()
    }

    /// Pays for handling that many bytes of text.
    pub(super) fn spend_text(&mut self, bytes: usize) -> Result<(), TooCostly> {
        self.spend(bytes / BYTES_PER_STEP)
    }

    pub(super) fn spend(&mut self, steps: usize) -> Result<(), TooCostly> {
        self.steps_left = self.steps_left.checked_sub(steps).ok_or(TooCostly)?;
        Ok(())
    }
}

/// Converts to a boolean: a number but 0 and NaN, text and node sets that are not empty are true.
pub(super) fn is_true(value: &Value<'_>) -> bool {
    match value {
        Value::Boolean(value) => *value,
        Value::NodeSet(nodes) => !nodes.is_empty(),
        Value::Number(number) => *number != 0.0 && !number.is_nan(),
        Value::Text(text) => !text.is_empty(),
    }
}

/// Bytes that are handled in the time in which one node is visited.
const BYTES_PER_STEP: usize = 16;
