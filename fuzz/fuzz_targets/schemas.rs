//! The target `schemas` of `lacunar_testing::fuzz`.

#![no_main]

use lacunar_testing::fuzz::target;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some(target) = target("schemas") {
        (target.run)(bytes);
    }
});
