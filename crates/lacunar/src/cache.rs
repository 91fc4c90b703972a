//! Kernels that were compiled before, by program, schedule, formats, types, fill values, sizes and back end.
//!
//! Finding one costs a hash and a comparison of the key. The number of values of a tensor takes part by its magnitude
//! only (a power of 4): it guides the plan, but any plan is right.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use lacunar_formats::{DType, Format, Scalar};
use lacunar_runtime::Tensor;
use rustc_hash::FxHashMap;

use crate::compile::Backend;
use crate::error::Error;
use crate::kernel::Kernel;
use crate::options::Options;

/// The number of kernels that are kept.
const CAPACITY: usize = 1024;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    source: String,
    schedule: String,
    formats: Vec<(String, Format)>,
    sizes: Vec<(String, Vec<u64>)>,
    given: Vec<Given>,
    backend: Backend,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Given {
    name: String,
    format: Format,
    dtype: DType,
    fill: Scalar,
    dims: Vec<u64>,
    magnitude: u32,
    steady: Option<bool>,
    scattered: Option<bool>,
}

#[derive(Default)]
struct Cache {
    kernels: FxHashMap<Key, Arc<Kernel>>,
    /// Keys from the oldest to the newest.
    order: VecDeque<Key>,
}

/// The kernel of a program for the given tensors, and for results of these formats and sizes, compiled if it is not known yet.
pub(crate) fn kernel(
    source: &str,
    given: &[(&str, &Tensor)],
    formats: &[(&str, Format)],
    sizes: &[(&str, Vec<u64>)],
    schedule: &str,
) -> Result<Arc<Kernel>, Error> {
    static CACHE: OnceLock<Mutex<Cache>> = OnceLock::new();
    let cache = CACHE.get_or_init(Mutex::default);
    let backend = Backend::default();
    let key = Key {
        source: source.to_string(),
        schedule: schedule.to_string(),
        formats: formats.iter().map(|(name, format)| ((*name).to_string(), format.clone())).collect(),
        sizes: sizes.iter().map(|(name, sizes)| ((*name).to_string(), sizes.clone())).collect(),
        given: given.iter().map(|(name, tensor)| describe(name, tensor)).collect(),
        backend,
    };
    // A panic elsewhere cannot have left the cache half-changed: entries are only added whole.
    let known = cache.lock().unwrap_or_else(PoisonError::into_inner).kernels.get(&key).cloned();
    if let Some(kernel) = known {
        return Ok(kernel);
    }
    let mut options = Options::new().backend(backend).schedule(schedule);
    for (name, tensor) in given {
        options = options.tensor(name, tensor);
        options.declarations = options.declarations.input(*name);
    }
    for (name, format) in formats {
        options = options.format(name, format.clone());
    }
    for (name, sizes) in sizes {
        options = options.dims(name, sizes);
    }
    let kernel = Arc::new(Kernel::compile(source, &options)?);
    let mut cache = cache.lock().unwrap_or_else(PoisonError::into_inner);
    let full = cache.order.len() >= CAPACITY;
    if let Some(oldest) = full.then(|| cache.order.pop_front()).flatten() {
        cache.kernels.remove(&oldest);
    }
    cache.order.push_back(key.clone());
    cache.kernels.insert(key, Arc::clone(&kernel));
    Ok(kernel)
}

fn describe(name: &str, tensor: &Tensor) -> Given {
    Given {
        name: name.to_string(),
        format: tensor.format().clone(),
        dtype: tensor.dtype(),
        fill: tensor.fill(),
        dims: tensor.dims().to_vec(),
        magnitude: tensor.nnz().checked_ilog2().map_or(0, |log| log / 2 + 1),
        steady: tensor.is_steady(),
        scattered: tensor.is_scattered(),
    }
}
