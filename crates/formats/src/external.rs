//! Functions of other code that kernels call: their names, their types, and their calls.
//!
//! A function is known by its name, in all of the process: texts of programs and of code name it, and whoever runs or links them finds it
//! here. A name belongs to one function for good.
//!
//! ```
//! use lacunar_formats::{DType, External, Scalar, Signature};
//! let signature = Signature { operand: DType::F64, operands: 2, result: DType::F64 };
//! let call = |of: &[Scalar]| Scalar::real(DType::F64, 3.0 + of.len() as f64);
//! let known = External::register("three_more", signature, 1, call).unwrap();
//! assert_eq!(External::find("three_more"), Some(known));
//! assert_eq!(known.call(&[Scalar::zero(DType::F64); 2]), Scalar::real(DType::F64, 5.0));
//! assert!(External::register("three_more", signature, 2, call).is_none());
//! ```

use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{LazyLock, PoisonError, RwLock};

use crate::dtype::DType;
use crate::scalar::Scalar;

/// A function of other code.
#[derive(Clone, Copy)]
pub struct External(&'static Known);

/// The types of a function, whose operands are of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The type of the operands.
    pub operand: DType,
    /// The number of operands: one or two.
    pub operands: usize,
    /// The type of the result.
    pub result: DType,
}

/// A function as it is called by name.
type Call = Box<dyn Fn(&[Scalar]) -> Scalar + Send + Sync>;

struct Known {
    name: String,
    signature: Signature,
    address: usize,
    call: Call,
}

/// All functions, by their names.
static KNOWN: LazyLock<RwLock<HashMap<String, External>>> = LazyLock::new(RwLock::default);

impl Signature {
    /// The types of operands and results.
    pub const TYPES: [DType; 6] = [DType::F64, DType::F32, DType::I64, DType::U64, DType::I32, DType::U32];

    /// True if functions can have these types.
    pub fn is_possible(self) -> bool {
        matches!(self.operands, 1 | 2)
            && [self.operand, self.result].iter().all(|dtype| Signature::TYPES.contains(dtype))
    }
}

impl External {
    /// Makes a function known: the place of its code, and a way to call it on values of its types. `None` if the name is that of another
    /// one, or the types are not possible.
    pub fn register(
        name: &str,
        signature: Signature,
        address: usize,
        call: impl Fn(&[Scalar]) -> Scalar + Send + Sync + 'static,
    ) -> Option<External> {
        let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.get(name) {
            let is_same = found.0.address == address && found.0.signature == signature;
            return is_same.then_some(*found);
        }
        let made = Known { name: name.to_string(), signature, address, call: Box::new(call) };
        let made = signature.is_possible().then(|| External(Box::leak(Box::new(made))))?;
        known.insert(name.to_string(), made);
        Some(made)
    }

    /// The function of a name.
    pub fn find(name: &str) -> Option<External> {
        KNOWN.read().unwrap_or_else(PoisonError::into_inner).get(name).copied()
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        &self.0.name
    }

    /// The symbol by which machine code calls it.
    pub fn symbol(self) -> String {
        format!("{}{}", External::SYMBOLS, self.0.name)
    }

    /// The beginning of all such symbols.
    pub const SYMBOLS: &'static str = "lacunar_external_";

    /// Its types.
    pub fn signature(self) -> Signature {
        self.0.signature
    }

    /// The place of its code.
    pub fn address(self) -> usize {
        self.0.address
    }

    /// Its value for operands.
    pub fn call(self, operands: &[Scalar]) -> Scalar {
        (self.0.call)(operands)
    }
}

impl PartialEq for External {
    fn eq(&self, other: &External) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for External {}

impl PartialOrd for External {
    fn partial_cmp(&self, other: &External) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for External {
    fn cmp(&self, other: &External) -> std::cmp::Ordering {
        self.name().cmp(other.name())
    }
}

impl Hash for External {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::hash(self.0, state);
    }
}

impl fmt::Debug for External {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
