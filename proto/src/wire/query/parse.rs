//! From words to the compiled form: one function per production of XPath 1.0.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::function::Function;
use super::syntax::{Axis, Expression, NodeTest, Operator, Path, Start, Step};
use super::token::{Token, tokenize};
use super::{MAX_QUERY_DEPTH, QueryError, QueryFault};

pub(super) fn parse(text: &[u8]) -> Result<Expression, QueryError> {
    let tokens = tokenize(text)?;
    let mut parser = Parser { tokens: &tokens, end: text.len(), depth: 0 };
    let expression = parser.expression(0)?;
    if parser.tokens.is_empty() { Ok(expression) } else { parser.fail(QueryFault::Unexpected) }
}

struct Parser<'a> {
    tokens: &'a [(Token<'a>, usize)],
    end: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    /// Parses operands joined by operators of at least this precedence.
    fn expression(&mut self, minimum: u8) -> Result<Expression, QueryError> {
        let mut left = self.unary()?;
        while let Some(operator) = self.peek_operator().filter(|operator| operator.precedence() >= minimum) {
            self.advance();
            let right = self.expression(operator.precedence().saturating_add(1))?;
            left = left.join(operator, right);
        }
        Ok(left)
    }

    /// Parses an expression inside brackets of any kind.
    fn nested(&mut self) -> Result<Expression, QueryError> {
        if self.depth >= MAX_QUERY_DEPTH {
            return self.fail(QueryFault::TooDeep);
        }
        self.depth = self.depth.saturating_add(1);
        let expression = self.expression(0)?;
        self.depth = self.depth.saturating_sub(1);
        Ok(expression)
    }

    fn unary(&mut self) -> Result<Expression, QueryError> {
        let (mut minus, mut negative) = (false, false);
        while self.take("-") {
            (minus, negative) = (true, !negative);
        }
        let operand = self.union()?;
        Ok(match (minus, negative) {
            (false, _) => operand,
            (true, true) => Expression::Negate(Box::new(operand)),
            (true, false) => Expression::Call(Function::Number, alloc::vec![operand]),
        })
    }

    fn union(&mut self) -> Result<Expression, QueryError> {
        let first = self.node_set_before_pipe()?;
        if !self.peek_symbol("|") {
            return Ok(first);
        }
        let mut members = alloc::vec![first];
        while self.take("|") {
            let member = self.path()?;
            self.require_node_set(&member)?;
            members.push(member);
        }
        Ok(Expression::Union(members))
    }

    fn node_set_before_pipe(&mut self) -> Result<Expression, QueryError> {
        let first = self.path()?;
        if self.peek_symbol("|") {
            self.require_node_set(&first)?;
        }
        Ok(first)
    }

    fn path(&mut self) -> Result<Expression, QueryError> {
        let mut path = Path { start: Start::Context, steps: Vec::new() };
        if self.starts_primary() {
            let primary = self.filter()?;
            if !self.peek_symbol("/") && !self.peek_symbol("//") {
                return Ok(primary);
            }
            self.require_node_set(&primary)?;
            path.start = Start::Filter(Box::new(primary), Vec::new());
            self.separator(&mut path);
        } else if self.peek_symbol("//") {
            path.start = Start::Root;
            self.separator(&mut path);
        } else if self.take("/") {
            path.start = Start::Root;
            if !self.starts_step() {
                return Ok(Expression::Path(path));
            }
        }
        self.step(&mut path)?;
        while self.separator(&mut path) {
            self.step(&mut path)?;
        }
        Ok(Expression::Path(path))
    }

    /// Takes `/`, or `//` and the step that it stands for.
    fn separator(&mut self, path: &mut Path) -> bool {
        if self.take("//") {
            path.steps.push(Step {
                axis: Axis::DescendantOrSelf,
                test: NodeTest::AnyNode,
                predicates: Vec::new(),
            });
            return true;
        }
        self.take("/")
    }

    fn filter(&mut self) -> Result<Expression, QueryError> {
        let primary = self.primary()?;
        if !self.peek_symbol("[") {
            return Ok(primary);
        }
        self.require_node_set(&primary)?;
        let predicates = self.predicates()?;
        Ok(Expression::Path(Path { start: Start::Filter(Box::new(primary), predicates), steps: Vec::new() }))
    }

    fn primary(&mut self) -> Result<Expression, QueryError> {
        match self.peek() {
            Some(Token::Literal(value)) => {
                self.advance();
                Ok(Expression::Literal(value.into()))
            }
            Some(Token::Number(value)) => {
                self.advance();
                Ok(Expression::Number(value))
            }
            Some(Token::Symbol("(")) => {
                self.advance();
                let inner = self.nested()?;
                self.expect(")")?;
                Ok(inner)
            }
            Some(Token::Name(name)) => self.call(name),
            _ => self.fail(QueryFault::Unexpected),
        }
    }

    fn call(&mut self, name: &[u8]) -> Result<Expression, QueryError> {
        let Some(function) = Function::from_name(name) else { return self.fail(QueryFault::UnknownFunction) };
        let position = self.position();
        self.advance();
        self.expect("(")?;
        let mut arguments = Vec::new();
        if !self.take(")") {
            loop {
                let argument = self.nested()?;
                if function.needs_node_set() {
                    self.require_node_set(&argument)?;
                }
                arguments.push(argument);
                if !self.take(",") {
                    break;
                }
            }
            self.expect(")")?;
        }
        if !function.argument_counts().contains(&arguments.len()) {
            return Err(QueryError { position, reason: QueryFault::ArgumentCount });
        }
        Ok(Expression::Call(function, arguments))
    }

    fn step(&mut self, path: &mut Path) -> Result<(), QueryError> {
        let abbreviated = if self.take("..") {
            Some(Axis::Parent)
        } else if self.take(".") {
            Some(Axis::Itself)
        } else {
            None
        };
        if let Some(axis) = abbreviated {
            path.steps.push(Step { axis, test: NodeTest::AnyNode, predicates: Vec::new() });
            return Ok(());
        }
        let axis = self.axis()?;
        let test = self.node_test()?;
        let predicates = self.predicates()?;
        path.steps.push(Step { axis, test, predicates });
        Ok(())
    }

    fn axis(&mut self) -> Result<Axis, QueryError> {
        if self.take("@") {
            return Ok(Axis::Attribute);
        }
        let [(Token::Name(name), _), (Token::Symbol("::"), _), ..] = self.tokens else {
            return Ok(Axis::Child);
        };
        let Some(axis) = Axis::from_name(name) else { return self.fail(QueryFault::UnknownAxis) };
        self.advance();
        self.advance();
        Ok(axis)
    }

    fn node_test(&mut self) -> Result<NodeTest, QueryError> {
        if self.take("*") {
            return Ok(NodeTest::AnyName);
        }
        let Some(Token::Name(name)) = self.peek() else { return self.fail(QueryFault::Unexpected) };
        self.advance();
        if self.take("(") {
            return self.node_type(name);
        }
        Ok(match name.strip_suffix(b"*") {
            Some(prefix) => NodeTest::Prefix(prefix.into()),
            None => NodeTest::Name(name.into()),
        })
    }

    fn node_type(&mut self, name: &[u8]) -> Result<NodeTest, QueryError> {
        let test = match name {
            b"comment" => NodeTest::Nothing,
            b"node" => NodeTest::AnyNode,
            b"processing-instruction" => {
                if let Some(Token::Literal(_)) = self.peek() {
                    self.advance();
                }
                NodeTest::Nothing
            }
            b"text" => NodeTest::Text,
            _ => return self.fail(QueryFault::UnknownFunction),
        };
        self.expect(")")?;
        Ok(test)
    }

    fn predicates(&mut self) -> Result<Vec<Expression>, QueryError> {
        let mut predicates = Vec::new();
        while self.take("[") {
            predicates.push(self.nested()?);
            self.expect("]")?;
        }
        Ok(predicates)
    }

    /// Returns the operator that stands where an operand has ended, so `*` and `and` are no names here.
    fn peek_operator(&self) -> Option<Operator> {
        Some(match self.peek()? {
            Token::Name(b"and") => Operator::And,
            Token::Name(b"div") => Operator::Divide,
            Token::Name(b"mod") => Operator::Modulo,
            Token::Name(b"or") => Operator::Or,
            Token::Symbol("!=") => Operator::NotEqual,
            Token::Symbol("*") => Operator::Multiply,
            Token::Symbol("+") => Operator::Add,
            Token::Symbol("-") => Operator::Subtract,
            Token::Symbol("<") => Operator::Less,
            Token::Symbol("<=") => Operator::LessOrEqual,
            Token::Symbol("=") => Operator::Equal,
            Token::Symbol(">") => Operator::Greater,
            Token::Symbol(">=") => Operator::GreaterOrEqual,
            _ => return None,
        })
    }

    /// Returns whether a literal, number, parenthesis or function call follows, and not a step.
    fn starts_primary(&self) -> bool {
        match self.tokens {
            [(Token::Literal(_) | Token::Number(_) | Token::Symbol("("), _), ..] => true,
            [(Token::Name(name), _), (Token::Symbol("("), _), ..] => {
                !matches!(*name, b"comment" | b"node" | b"processing-instruction" | b"text")
            }
            _ => false,
        }
    }

    fn starts_step(&self) -> bool {
        matches!(self.peek(), Some(Token::Name(_) | Token::Symbol("." | ".." | "@" | "*")))
    }

    fn require_node_set(&self, expression: &Expression) -> Result<(), QueryError> {
        if expression.is_node_set() { Ok(()) } else { self.fail(QueryFault::NodeSet) }
    }

    fn expect(&mut self, symbol: &str) -> Result<(), QueryError> {
        if self.take(symbol) { Ok(()) } else { self.fail(QueryFault::Unexpected) }
    }

    fn take(&mut self, symbol: &str) -> bool {
        let found = self.peek_symbol(symbol);
        if found {
            self.advance();
        }
        found
    }

    fn peek_symbol(&self, symbol: &str) -> bool {
        matches!(self.peek(), Some(Token::Symbol(found)) if found == symbol)
    }

    fn peek(&self) -> Option<Token<'a>> {
        self.tokens.first().map(|(token, _)| *token)
    }

    fn advance(&mut self) {
        self.tokens = self.tokens.get(1..).unwrap_or_default();
    }

    fn position(&self) -> usize {
        self.tokens.first().map_or(self.end, |(_, position)| *position)
    }

    fn fail<T>(&self, reason: QueryFault) -> Result<T, QueryError> {
        Err(QueryError { position: self.position(), reason })
    }
}
