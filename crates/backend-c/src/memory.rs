//! Memory of arrays and lists of parts: allocation, growth, release, and the join of a parallel loop's parts into one
//! array.
//!
//! ```text
//! deposit p[c] = w[.. n];           p[c] = (struct lac_part){w, n, 0};
//!                                   w = NULL;
//! let e: i64 = collect a[0 ..] = p; const int64_t e = lac_place_parts(p, p_capacity);
//!                                   if ((uint64_t)e > a_capacity) { ...grow... }
//!                                   lac_join_parts(runtime, p, p_capacity, a, 0, sizeof *a);
//!                                   p_capacity = 0;
//! ```

use lacunar_imp::{ArrayId, ArrayRole, ExprId, VarId};

use crate::expr::Binding;
use crate::helpers::Helper;
use crate::kernel::KernelPrinter;
use crate::types::c_type;

impl KernelPrinter<'_> {
    /// Declares a local array or list of parts that has no memory yet.
    pub(crate) fn declare_array(&mut self, array: ArrayId) {
        let (name, data) = (self.array_name(array), &self.function.arrays[array]);
        if data.role == ArrayRole::Parts {
            self.helpers.name(Helper::Part);
            self.line(format_args!("struct lac_part *{name} = NULL;"));
        } else {
            self.line(format_args!("{} *restrict {name} = NULL;", c_type(data.elem)));
        }
        if self.facts.is_grown(array) {
            self.line(format_args!("uint64_t {} = 0;", self.capacity_name(array)));
        }
    }

    /// Releases a local array or list of parts.
    pub(crate) fn release_array(&mut self, array: ArrayId) {
        self.uses_runtime = true;
        let name = self.array_name(array);
        if self.function.arrays[array].role == ArrayRole::Parts {
            let (release, count) = (self.helpers.name(Helper::ReleaseParts), self.capacity_name(array));
            self.line(format_args!("{release}(runtime, {name}, {count});"));
        } else {
            let release = self.helpers.name(Helper::Release);
            self.line(format_args!("{release}(runtime, {name});"));
        }
    }

    pub(crate) fn alloc(&mut self, array: ArrayId, len: ExprId, zeroed: bool) {
        self.name_shared(&[len]);
        let (name, len) = (self.array_name(array), self.expr(len));
        let allocate = self.helpers.name(Helper::Allocate);
        let memory = self.scope.memory.clone();
        self.line(format_args!("{memory} = {allocate}(runtime, {name}, {}, sizeof *{name}, {zeroed});", len.text));
        self.take_memory(array);
    }

    pub(crate) fn grow(&mut self, array: ArrayId, count: ExprId, block: ExprId, zeroed: bool) {
        // There is room for no elements, and compilers warn of a comparison that says so.
        if self.as_int(count) == Some(0) {
            return;
        }
        self.name_shared(&[count, block]);
        // A negative count is a very large unsigned one, which `lac_grow` refuses as it refuses every overflow.
        let needed = if self.as_int(block) == Some(1) {
            format!("(uint64_t){}", self.expr(count).at_least(Binding::Prefix))
        } else {
            let elements = self.helpers.name(Helper::Elements);
            format!("{elements}({}, {})", self.expr(count).text, self.expr(block).text)
        };
        self.make_room(array, &needed, zeroed);
    }

    /// Makes sure that there is room for as many elements as are needed.
    fn make_room(&mut self, array: ArrayId, needed: &str, zeroed: bool) {
        let (name, capacity) = (self.array_name(array), self.capacity_name(array));
        let (grow, memory) = (self.helpers.name(Helper::Grow), self.scope.memory.clone());
        self.braces(format_args!("if ({needed} > {capacity})"), |printer| {
            printer.line(format_args!(
                "{memory} = {grow}(runtime, {name}, {capacity}, {needed}, sizeof *{name}, {zeroed});"
            ));
            printer.take_memory(array);
        });
    }

    /// Takes over the memory of an allocation. A failed one leaves no memory or the old one, which is taken as well.
    fn take_memory(&mut self, array: ArrayId) {
        (self.uses_runtime, self.scope.uses_memory) = (true, true);
        let (name, memory) = (self.array_name(array), self.scope.memory.clone());
        self.line(format_args!("{name} = {memory}.start;"));
        if self.facts.is_grown(array) {
            let capacity = self.capacity_name(array);
            self.line(format_args!("{capacity} = {memory}.capacity;"));
        }
        self.line(format!("{} = {memory}.status;", self.scope.status));
        self.leave_if_failed();
    }

    /// Leaves if the status that has been noted is a failure.
    pub(crate) fn leave_if_failed(&mut self) {
        let head = format!("if ({} != LACUNAR_OK)", self.scope.status);
        self.braces(head, KernelPrinter::jump);
    }

    // Parts.

    pub(crate) fn alloc_parts(&mut self, list: ArrayId, len: ExprId) {
        self.name_shared(&[len]);
        let (name, len, memory) = (self.array_name(list), self.expr(len), self.scope.memory.clone());
        self.release_array(list);
        let allocate = self.helpers.name(Helper::Allocate);
        self.line(format_args!("{memory} = {allocate}(runtime, NULL, {}, sizeof *{name}, true);", len.text));
        self.take_memory(list);
    }

    pub(crate) fn deposit(&mut self, parts: ArrayId, slot: ExprId, array: ArrayId, len: ExprId) {
        self.name_shared(&[slot, len]);
        let (list, name) = (self.array_name(parts), self.array_name(array));
        let (slot, len) = (self.index(slot), self.expr(len));
        self.line(format_args!("{list}[{slot}] = (struct lac_part){{{name}, {}, 0}};", len.text));
        self.line(format_args!("{name} = NULL;"));
        if self.facts.is_grown(array) {
            self.line(format_args!("{} = 0;", self.capacity_name(array)));
        }
    }

    pub(crate) fn collect(&mut self, array: ArrayId, at: ExprId, parts: ArrayId, bias: Option<ArrayId>, result: VarId) {
        self.uses_runtime = true;
        self.name_shared(&[at]);
        let (name, list, count) = (self.array_name(array), self.array_name(parts), self.capacity_name(parts));
        let (place, at_zero) = (self.helpers.name(Helper::PlaceParts), self.as_int(at) == Some(0));
        let at = self.expr(at);
        let total = format!("{place}({list}, {count})");
        let end = if at_zero { total } else { format!("{} + {total}", at.at_least(Binding::Sum)) };
        self.define(result, &end);
        self.make_room(array, &format!("(uint64_t){}", self.var_name(result)), false);
        if let Some(bias) = bias {
            let (others, other_count) = (self.array_name(bias), self.capacity_name(bias));
            let join = self.helpers.name(Helper::JoinShifted(self.function.arrays[array].elem));
            self.line(format_args!("{place}({others}, {other_count});"));
            let call = format!("{join}(runtime, {list}, {count}, {others}, {name}, {})", at.text);
            self.line(format!("{} = {call};", self.scope.status));
            self.leave_if_failed();
        } else {
            let join = self.helpers.name(Helper::JoinParts);
            self.line(format_args!("{join}(runtime, {list}, {count}, {name}, {}, sizeof *{name});", at.text));
        }
        self.line(format_args!("{count} = 0;"));
    }
}
