//! Cursors: an iterator that stands somewhere, whatever kind of level it goes through.
//!
//! ```text
//! open      p = first position of the region; what the kind keeps beside it
//! while valid {
//!   i = coordinate;  position: where the levels below, or the value, are
//!   advance                  or jump: to the first coordinate that is not less than another
//! }
//! ```
//!
//! Loops ask a cursor and nothing else: that positions of most kinds go up to an end is the default of [`LevelCode`]'s functions. A kind
//! that goes from node to node says otherwise in its own file.

use std::rc::Rc;

use lacunar_imp::{BinaryOp, Builder, CompareOp, ExprId, Stmt, VarId};

use super::nodes::{Stack, Walk};
use super::{At, LevelCode, State, step_until};

/// An iterator that stands somewhere.
#[derive(Clone, Debug)]
pub struct Cursor {
    code: Rc<dyn LevelCode>,
    name: String,
    position: VarId,
    end: ExprId,
    /// The position of the level above.
    parent: ExprId,
    /// The variables that the level kind keeps beside the position.
    state: Option<State>,
    /// The coordinate at which to stop, where the end of the positions does not say it.
    limit: Option<ExprId>,
    /// The walk from node to node, where positions do not go up to an end.
    walk: Option<Walk>,
}

impl Cursor {
    /// Opens an iterator on positions `begin .. end` of a level under a parent position, on the first of them that has a coordinate;
    /// within the coordinates of `region`, for kinds that stop at coordinates. `stack` is that of an iterator that goes from node to
    /// node and needs one.
    pub fn open(
        b: &mut Builder,
        (code, name): (Rc<dyn LevelCode>, String),
        parent: ExprId,
        (begin, end): (ExprId, ExprId),
        region: Option<(ExprId, ExprId)>,
        stack: Option<Stack>,
    ) -> Cursor {
        if let Some(nodes) = code.nodes() {
            let walk = nodes.open(b, &name, begin, stack, region.map(|(low, _)| low));
            let (position, state, limit) = (walk.position, walk.at.map(State::one), region.map(|(_, high)| high));
            return Cursor { code, name, position, end, parent, state, limit, walk: Some(walk) };
        }
        let position = b.declare(&name, begin);
        let end = b.define(&format!("{name}_end"), end);
        let state = code.start(b, parent, position, end);
        let mut cursor = Cursor { code, name, position, end, parent, state, limit: None, walk: None };
        if let Some((low, high)) = region.filter(|_| cursor.code.stops_at_coordinates()) {
            cursor.code.enter(b, &cursor, low);
            cursor.limit = Some(high);
        }
        cursor
    }

    /// The position.
    pub fn position(&self, b: &mut Builder) -> ExprId {
        b.var(self.position)
    }

    /// Returns the variables that the level kind keeps beside the position.
    pub fn state(&self) -> Option<State> {
        self.state
    }

    /// The positions from here to the end.
    pub fn rest(&self, b: &mut Builder) -> (ExprId, ExprId) {
        (b.var(self.position), self.end)
    }

    /// The most positions that are left.
    pub fn left(&self, b: &mut Builder) -> ExprId {
        let begin = b.var(self.position);
        self.code.most_between(b, begin, self.end)
    }

    /// Emits the condition that the cursor stands on a coordinate.
    pub fn valid(&self, b: &mut Builder) -> ExprId {
        let valid = match self.code.nodes().zip(self.walk.as_ref()) {
            Some((nodes, walk)) => nodes.is_valid(b, walk),
            None => {
                let at = b.var(self.position);
                self.code.is_before_end(b, at, self.end)
            }
        };
        let (Some(limit), Some(State { at, .. })) = (self.limit, self.state) else { return valid };
        let here = b.var(at);
        let before = b.compare(CompareOp::Lt, here, limit);
        b.and(valid, before)
    }

    /// The coordinate that it stands on.
    pub fn coordinate(&self, b: &mut Builder, name: &str) -> ExprId {
        let at = b.var(self.position);
        self.coordinate_of(b, name, at)
    }

    fn coordinate_of(&self, b: &mut Builder, name: &str, position: ExprId) -> ExprId {
        self.code.coordinate(b, name, At { parent: self.parent, position, state: self.state })
    }

    /// Moves it to its next coordinate.
    pub fn advance(&self, b: &mut Builder) {
        match self.code.nodes().zip(self.walk.as_ref()) {
            Some((nodes, walk)) => nodes.next(b, walk),
            None => self.code.advance(b, self.parent, self.position, self.end, self.state),
        }
    }

    /// Moves it to a position that was found for it.
    pub fn set(&self, b: &mut Builder, position: ExprId) {
        b.assign(self.position, position);
    }

    /// Moves it to its first coordinate that is `coordinate` or more: steps of doubled length until one is, then a search within the
    /// last step.
    pub fn jump(&self, b: &mut Builder, coordinate: ExprId) {
        let (one, two) = (b.int(1), b.int(2));
        let from = b.var(self.position);
        let step = b.declare("step", one);
        let length = b.var(step);
        let ahead = b.add(from, length);
        let left = b.compare(CompareOp::Lt, ahead, self.end);
        b.while_loop(left, |b| {
            let own = self.coordinate_of(b, "ahead", ahead);
            let reached = b.compare(CompareOp::Ge, own, coordinate);
            b.if_then(reached, |b| b.push(Stmt::Break));
            let doubled = b.mul(length, two);
            b.assign(step, doubled);
        });
        let half = b.binary(BinaryOp::Div, length, two);
        let begin = b.add(from, half);
        let end = b.binary(BinaryOp::Min, ahead, self.end);
        let found = self.code.seek(b, self.parent, begin, end, coordinate);
        b.assign(self.position, found);
    }

    /// Moves it to its first coordinate that is `coordinate` or more, one by one.
    pub fn skip(&self, b: &mut Builder, coordinate: ExprId) {
        step_until(b, self.position, self.end, |b, at| {
            let own = self.coordinate_of(b, "own", at);
            b.compare(CompareOp::Ge, own, coordinate)
        });
    }

    /// The end of the positions from here on that have a coordinate; none, if it stands on another.
    pub fn segment_end(&self, b: &mut Builder, coordinate: ExprId) -> ExprId {
        let at = b.var(self.position);
        let segment = b.declare(&format!("{}_segment", self.name), at);
        step_until(b, segment, self.end, |b, here| {
            let own = self.coordinate_of(b, &format!("{}_crd", self.name), here);
            b.compare(CompareOp::Ne, own, coordinate)
        });
        b.var(segment)
    }

    /// The coordinate that it stands on goes to `head`, which has the type of `none`; at its end, `none`.
    pub fn look(&self, b: &mut Builder, head: VarId, none: ExprId) {
        let valid = self.valid(b);
        let then = b.block(|b| {
            let own = self.coordinate(b, "head");
            let own = b.cast(b.type_of(none), own);
            b.assign(head, own);
        });
        let otherwise = b.block(|b| b.assign(head, none));
        b.push(Stmt::If { cond: valid, then, otherwise });
    }

    /// A second cursor on the positions from `begin` on, up to where this one is: for kinds that keep nothing beside the position.
    pub fn follower(&self, b: &mut Builder, begin: ExprId) -> Cursor {
        let position = b.declare(&self.name, begin);
        Cursor { position, end: b.var(self.position), ..self.clone() }
    }

    /// Returns the cursor's name in the emitted code.
    pub fn name(&self) -> &str {
        &self.name
    }
}
