//! Programs that are measured: the files of `examples/`, as people run them, on other inputs.
//!
//! ```text
//! # comments are left out, so that no word of them is taken for a tensor
//! -f A:csr -t A:pattern -g x:rand     flags: formats, types and fill values are kept, what is about the file's own inputs is not
//! read A "examples/data/karate.mtx"   replaced by the measured input, as tensors that are given are not read
//! y(i) = A(i,j) * x(j)
//! ```

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use lacunar::{DType, DynTensor, FormatSpec, Options};
use lacunar_formats::Scalar;

/// Flags that say which inputs a file has, or how large they are.
const OWN_INPUTS: [&str; 3] = ["-d", "-g", "-i"];

/// The statements and the flags of a file of `examples/`.
///
/// # Errors
/// The file can't be read, or a flag has no value.
pub fn read(file: &str) -> Result<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("examples").join(file);
    let content = fs::read_to_string(&path).with_context(|| format!("{} can't be read", path.display()))?;
    let (mut text, mut flags) = (String::new(), String::new());
    for line in content.lines() {
        if line.trim_start().starts_with('-') {
            for (name, value) in pairs(line)?.into_iter().filter(|(name, _)| !OWN_INPUTS.contains(name)) {
                flags += &format!("{name} {value} ");
            }
        } else {
            text += line.split('#').next().unwrap_or_default().trim_end();
            text.push('\n');
        }
    }
    Ok((text, flags))
}

fn pairs(flags: &str) -> Result<Vec<(&str, &str)>> {
    let words: Vec<&str> = flags.split_whitespace().collect();
    let pair = |pair: &[&'_ str]| match pair {
        [_, _] => Ok(()),
        _ => bail!("`{flags}` has a flag without a value"),
    };
    words.chunks(2).try_for_each(pair)?;
    Ok(words.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect())
}

/// The declarations in the flags, one after the other: `-f A:csr -t p:i64 --fill A:inf -d k:3`.
pub struct Flags<'a> {
    flags: Vec<(&'a str, &'a str, &'a str)>,
}

impl<'a> Flags<'a> {
    /// Reads them.
    ///
    /// # Errors
    /// They are not of this form.
    pub fn parse(text: &'a str) -> Result<Flags<'a>> {
        let split = |(flag, value): (&'a str, &'a str)| {
            let (name, value) = value.split_once(':').with_context(|| format!("`{flag} {value}` names no tensor"))?;
            Ok((flag, name, value))
        };
        Ok(Flags { flags: pairs(text)?.into_iter().map(split).collect::<Result<_>>()? })
    }

    fn find(&self, flag: &str, name: &str) -> Option<&'a str> {
        self.flags.iter().rev().find(|(other, of, _)| *other == flag && *of == name).map(|(_, _, value)| *value)
    }

    /// Declares everything but facts about tensors that are given.
    ///
    /// # Errors
    /// A flag is not known, or its value is none.
    pub fn declare(&self, mut options: Options, is_given: impl Fn(&str) -> bool) -> Result<Options> {
        for &(flag, name, value) in self.flags.iter().filter(|(_, name, _)| !is_given(name)) {
            options = match flag {
                "-f" => options.format(name, value.parse::<FormatSpec>()?),
                "-t" => options.dtype(name, element_type(value)?),
                "-d" => options.dims(name, &value.split(',').map(str::parse).collect::<Result<Vec<u64>, _>>()?),
                "--fill" => {
                    options.declarations.fills.insert(name.to_string(), Scalar::real(DType::F64, value.parse()?));
                    options
                }
                _ => bail!("`{flag}` is not taken here"),
            };
        }
        Ok(options)
    }

    /// A tensor of type `f64` with the type and the fill value that are declared for it; `None` if it has these already.
    ///
    /// # Errors
    /// It can't have them.
    pub fn typed(&self, name: &str, tensor: &DynTensor) -> Result<Option<DynTensor>> {
        let (dtype, fill) = (self.find("-t", name), self.find("--fill", name));
        if dtype.is_none() && fill.is_none() {
            return Ok(None);
        }
        let dtype = dtype.map_or(Ok(tensor.dtype()), element_type)?;
        let typed = tensor.cast(dtype)?;
        Ok(Some(match fill {
            Some(fill) => {
                let number = Scalar::real(DType::F64, fill.parse()?);
                typed.with_fill(number.to(dtype).with_context(|| format!("{fill} is no {}", dtype.name()))?)?
            }
            None => typed,
        }))
    }
}

fn element_type(name: &str) -> Result<DType> {
    DType::parse(name).with_context(|| format!("`{name}` is no type"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lacunar::{Format, Tensor};

    #[test]
    fn files_are_split_into_statements_and_flags() {
        let (text, flags) = read("sssp.lac").expect("it is there");
        assert!(text.contains("while") && !text.contains('#') && !text.contains("--fill"), "{text}");
        assert!(flags.contains("--fill A:inf") && !flags.contains("-d"), "{flags}");
        assert!(read("nothing.lac").is_err());
    }

    #[test]
    fn flags_declare() {
        let flags = Flags::parse("-f y:sv -t A:i64 --fill A:3").expect("well-formed");
        let options = flags.declare(Options::new(), |name| name == "A").expect("they are known");
        assert!(options.declarations.formats.contains_key("y") && options.declarations.fills.is_empty());
        let tensor = Tensor::<f64>::from_entries(&[2], &[(&[1], 2.0)], Format::dense(1)).expect("well-formed");
        let typed = flags.typed("A", tensor.as_dyn()).expect("it can be").expect("it differs");
        assert_eq!((typed.dtype(), typed.fill()), (DType::I64, Scalar::int(DType::I64, 3)));
        assert!(flags.typed("y", tensor.as_dyn()).expect("it can be").is_none());
        assert!(Flags::parse("-f").is_err() && Flags::parse("-f csr").is_err());
        assert!(Flags::parse("-q A:1").expect("a flag").declare(Options::new(), |_| false).is_err());
    }
}
