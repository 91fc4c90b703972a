//! Operators as the oracle reads them: the bodies of a declaration in the types that a call gives them.

use std::rc::Rc;

use lacunar_formats::DType;
use lacunar_front::einsum::{Bodies, Declared, Expr};
use lacunar_notation::{BinaryFn, Operator};

use super::{Constant, Reader, Value, alone, binds, settled};
use crate::operators::{Defined, Operation};
use crate::sums::{Node, Term, reduce};
use crate::types::{computed_in, mixed};

impl Reader<'_> {
    /// A call of an operator, or the reduction by it.
    pub(super) fn operator(&mut self, operator: Operator, args: &[Expr]) -> Result<Value, String> {
        if operator.is_monoid() && binds(args) {
            let Some((body, vars)) = args.split_last() else { return Err("a reduction of nothing".to_string()) };
            let vars = self.vars(vars)?;
            let body = self.value(body)?;
            let mixes = alone(&body);
            let body = settled(body, mixes);
            let operation = self.operation(BinaryFn::User(operator), body.dtype)?;
            let total = vars.into_iter().rev().fold(body, |body, var| reduce(operation.clone(), body, var, true));
            return Ok(Value::Typed(total, mixes));
        }
        let values = args.iter().map(|arg| self.value(arg)).collect::<Result<Vec<_>, _>>()?;
        let mixes = common(&values, None);
        let operand = match self.declared.iter().find(|declared| declared.name.text == operator.name()) {
            Some(Declared { bodies: Bodies::External(function), .. }) => function.signature().operand,
            _ => computed_in(mixes),
        };
        let defined = self.defined(operator, operand)?;
        let dtype = defined.result;
        let operands = values.into_iter().map(|value| settled(value, operand)).collect();
        // Half floats that are computed in `f32` are half floats again.
        let stays = matches!(mixes, DType::F16 | DType::BF16) && dtype == computed_in(mixes);
        Ok(Value::Typed(Term { node: Node::Apply(defined, operands), dtype }, if stays { mixes } else { dtype }))
    }

    /// The operation that a function is, on a type.
    pub(super) fn operation(&mut self, function: BinaryFn, dtype: DType) -> Result<Operation, String> {
        Ok(match function {
            BinaryFn::User(operator) => Operation::Operator(self.defined(operator, computed_in(dtype))?),
            function => Operation::Function(function),
        })
    }

    fn defined(&mut self, operator: Operator, operand: DType) -> Result<Rc<Defined>, String> {
        let declared = self.declared.iter().find(|declared| declared.name.text == operator.name());
        let declared = declared.ok_or_else(|| format!("`{}` is not declared", operator.name()))?;
        let params = operator.declaration().params.iter().map(|param| (param.clone(), operand)).collect();
        let outside = std::mem::replace(&mut self.operands, params);
        let bodies: Vec<(usize, &Expr)> = match &declared.bodies {
            Bodies::External(_) => Vec::new(),
            Bodies::One(body) => vec![(0, body)],
            Bodies::Regions(regions) => regions.iter().map(|(region, body)| (*region, body)).collect(),
        };
        let values = bodies.iter().map(|(_, body)| self.value(body)).collect::<Result<Vec<_>, _>>();
        self.operands = outside;
        let values = values?;
        let dtype = computed_in(common(&values, Some(operand)));
        let has_regions = matches!(declared.bodies, Bodies::Regions(_));
        let mut found = vec![None; if has_regions { 1 << operator.arity() } else { 1 }];
        for ((region, _), value) in bodies.into_iter().zip(values) {
            found[region] = Some(settled(value, dtype));
        }
        Ok(Rc::new(Defined::new(declared, operand, found, has_regions)))
    }
}

/// The type that values mix into: that of all that are not constants, or else that of an operand, and the constants beside it.
fn common(values: &[Value], operand: Option<DType>) -> DType {
    let mut typed: Option<DType> = None;
    let mut constants: Vec<Constant> = Vec::new();
    for value in values {
        match value {
            Value::Open(constant) => constants.push(*constant),
            typed_value => {
                let own = alone(typed_value);
                typed = Some(typed.map_or(own, |before| mixed(before, own)));
            }
        }
    }
    match typed.or(operand) {
        Some(dtype) => constants.into_iter().fold(dtype, |dtype, constant| constant.beside(dtype)),
        None => constants.into_iter().map(Constant::alone).reduce(mixed).unwrap_or(DType::F64),
    }
}
