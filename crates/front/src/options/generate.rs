//! Kinds of made-up inputs: `rand`, `ones`, `arange`, `sparse(0.01)`, `uniform(8)`, and the letters of taco's `-g`.

use lacunar_formats::Generator;

use super::Part;
use super::error::Error;

/// Reads a kind. The letters and their densities are those of taco's `-g`: `d` a dense sequence, `r` and `u` dense
/// random, `s` sparse, `h` hypersparse.
pub(super) fn parse(value: Part<'_>) -> Result<Generator, Error> {
    let (word, argument) = match value.text.strip_suffix(')').and_then(|text| text.split_once('(')) {
        Some((word, argument)) => {
            (Part::new(word, value.start), Some(Part::new(argument, value.start + word.len() + 1)))
        }
        None => (value, None),
    };
    let plain = match word.text {
        "rand" | "random" | "r" | "u" => Some(Generator::Rand),
        "ones" => Some(Generator::Ones),
        "arange" | "d" => Some(Generator::Arange),
        "s" => Some(Generator::Sparse(0.07)),
        "h" => Some(Generator::Sparse(0.005)),
        _ => None,
    };
    match (plain, word.text, argument) {
        (Some(generator), _, None) => Ok(generator),
        (None, "sparse", Some(argument)) => {
            let density = argument.text.parse().ok().filter(|density| (0.0..=1.0).contains(density));
            density.map(Generator::Sparse).ok_or_else(|| wrong_argument("sparse", argument, "a density from 0 to 1"))
        }
        (None, "uniform", Some(argument)) => {
            let count = argument.text.parse().ok();
            count
                .map(Generator::Uniform)
                .ok_or_else(|| wrong_argument("uniform", argument, "a number of entries in each row"))
        }
        (Some(_), name, Some(argument)) => Err(wrong_argument(name, argument, "nothing")),
        (None, "sparse", None) => Err(wrong_argument("sparse", word, "a density from 0 to 1")),
        (None, "uniform", None) => Err(wrong_argument("uniform", word, "a number of entries in each row")),
        _ => Err(Error::Generator { span: word.span(), word: word.text.to_string() }),
    }
}

fn wrong_argument(word: &str, argument: Part<'_>, takes: &'static str) -> Error {
    Error::GeneratorArgument { span: argument.span(), word: word.to_string(), takes }
}
