//! Other places for the parts of a syntax tree: of one whose text was made from a text in another language.

use lacunar_base::Span;

use super::action::Action;
use super::ast::{Ast, Bodies, Expr, ExprKind, Name, Statement};

impl Ast {
    /// Moves every place of statements and operators. The tree has no blocks and no lines of its own.
    pub(crate) fn move_spans(&mut self, place: &dyn Fn(Span) -> Span) {
        for statement in &mut self.statements {
            statement.move_spans(place);
        }
        for declared in &mut self.operators {
            declared.name.move_span(place);
            match &mut declared.bodies {
                Bodies::External(_) => {}
                Bodies::One(body) => body.move_spans(place),
                Bodies::Regions(bodies) => bodies.iter_mut().for_each(|(_, body)| body.move_spans(place)),
            }
        }
        for Action { span, .. } in &mut self.body {
            *span = place(*span);
        }
    }
}

impl Statement {
    fn move_spans(&mut self, place: &dyn Fn(Span) -> Span) {
        self.name.move_span(place);
        self.indices.iter_mut().chain([&mut self.rhs]).for_each(|expr| expr.move_spans(place));
        self.lhs_span = place(self.lhs_span);
        self.span = place(self.span);
    }
}

impl Name {
    fn move_span(&mut self, place: &dyn Fn(Span) -> Span) {
        self.span = place(self.span);
    }
}

impl Expr {
    fn move_spans(&mut self, place: &dyn Fn(Span) -> Span) {
        self.span = place(self.span);
        match &mut self.kind {
            ExprKind::Number(_) | ExprKind::Bool(_) | ExprKind::Name(_) | ExprKind::Identity(_) => {}
            ExprKind::Apply { name, args, .. } => {
                name.move_span(place);
                args.iter_mut().for_each(|arg| arg.move_spans(place));
            }
            ExprKind::List { index, .. } => index.iter_mut().for_each(|index| index.move_spans(place)),
            ExprKind::Cast { dtype, operand } => {
                dtype.move_span(place);
                operand.move_spans(place);
            }
            ExprKind::Neg(operand) => operand.move_spans(place),
            ExprKind::Binary(_, a, b) => {
                a.move_spans(place);
                b.move_spans(place);
            }
        }
    }
}
