//! Pairs of formats: every named format against every other, in conversions and as operands.
//!
//! [`matrices`], [`vectors`] and [`tensors`] name the formats; [`table`] counts the outcomes of each pair;
//! [`conversions`] converts a tensor through pairs, [`operands`] runs the corpus' expressions of two operands on them.

pub mod conversions;
pub mod operands;
pub mod table;

use std::path::PathBuf;

use lacunar_formats::{Format, FormatSpec, LevelKind, Template};

/// A format under the name it has in tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The name.
    pub name: String,
    /// The format as `-f` takes it.
    pub text: String,
}

/// Formats of matrices, besides those of [`each_kind`]. The sizes of blocks divide few sizes of matrices.
const MATRICES: [(&str, &str); 16] = [
    ("dense", "dense"),
    ("coo", "coo"),
    ("csr", "csr"),
    ("csc", "csc"),
    ("dcsr", "dcsr"),
    ("dcsc", "dcsc"),
    ("bcsr", "bcsr(3,2)"),
    ("csb", "csb(4)"),
    ("ell", "ell"),
    ("sell", "sell(4)"),
    ("sell-sort", "sell(4,16)"),
    ("dia", "dia"),
    ("mode-gen", "uqdd:0/3,1/2,0%3,1%2"),
    ("hicoo", "hicoo(2)"),
    ("row-block", "dssd:0/4,1/3,0%4,1%3"),
    ("hash-hash", "hh"),
];

/// Formats of vectors, besides those of [`each_kind`].
const VECTORS: [(&str, &str); 3] = [("dense", "dense"), ("sparse", "sv"), ("blocks", "sd:0/3,0%3")];

/// A level of each kind there is that holds any entries, besides the plain ones, below dense or compressed levels, by the kind's
/// name.
fn each_kind(above: &str) -> impl Iterator<Item = Named> {
    let any = LevelKind::unmapped().into_iter().map(LevelKind::info).filter(|info| !info.properties.single);
    let letters = any.map(|info| (info.name.to_string(), info.letter.to_string()));
    letters.chain(nodes()).map(move |(name, own)| Named { name, text: format!("{above}{own}") })
}

/// The schemas of nodes that every program has, by name, and the text of a level of each: with so little room in nodes that small
/// tensors have many.
pub fn nodes() -> impl Iterator<Item = (String, String)> {
    Template::every_program().iter().filter_map(|template| {
        let arguments: Vec<u32> = (1..=template.parameters().len()).rev().map(|k| 1 << k).collect();
        let schema = template.with(&arguments).ok()?;
        Some((template.name().to_string(), format!("{{{}}}", schema.name())))
    })
}

fn named<Text: Into<String>>((name, text): (&str, Text)) -> Named {
    Named { name: name.to_string(), text: text.into() }
}

/// The formats of matrices, by name.
pub fn matrices() -> Vec<Named> {
    MATRICES.into_iter().map(named).chain(each_kind("d")).collect()
}

/// The formats of vectors, by name.
pub fn vectors() -> Vec<Named> {
    VECTORS.into_iter().map(named).chain(each_kind("")).collect()
}

/// The formats of tensors of an order from 3 on, by name.
pub fn tensors(order: usize) -> Vec<Named> {
    let reversed: Vec<String> = (0..order).rev().map(|mode| mode.to_string()).collect();
    let list = |order: usize| format!("u{}q", "c".repeat(order.saturating_sub(2)));
    let numbers = |sign: &str| (0..order).map(|d| format!("{d}{sign}2")).collect::<Vec<_>>().join(",");
    let all = [
        ("dense", "dense".to_string()),
        ("coo", "coo".to_string()),
        ("csf", "csf".to_string()),
        ("csf-back", format!("{}:{}", "s".repeat(order), reversed.join(","))),
        ("dense-csf", format!("d{}", "s".repeat(order - 1))),
        ("mode-gen", format!("{}d", list(order - 1))),
        ("blocks", format!("{}{}:{},{}", list(order), "d".repeat(order), numbers("/"), numbers("%"))),
        ("hicoo", "hicoo(2)".to_string()),
        ("all-hashed", "h".repeat(order)),
    ];
    all.into_iter().map(named).chain(each_kind(&"s".repeat(order - 1))).collect()
}

/// The formats of an order.
pub fn of_order(order: usize) -> Vec<Named> {
    match order {
        0 => vec![named(("scalar", "scalar"))],
        1 => vectors(),
        2 => matrices(),
        _ => tensors(order),
    }
}

impl Named {
    /// True if some level has nodes.
    pub fn has_nodes(&self) -> bool {
        self.text.contains('{')
    }

    /// The format itself, of an order.
    ///
    /// # Errors
    /// The text is no format of that order.
    pub fn format(&self, order: usize) -> Result<Format, String> {
        let spec: FormatSpec = self.text.parse().map_err(|fault| format!("{}: {fault}", self.text))?;
        spec.resolve(order).map_err(|fault| format!("{}: {fault}", self.text))
    }
}

/// True if `LACUNAR_PAIRS=all` asks for every pair there is, and not for as many as take little time.
pub fn all_wanted() -> bool {
    std::env::var("LACUNAR_PAIRS").is_ok_and(|wanted| wanted == "all")
}

/// Prints a report, and keeps it in a file of a folder.
///
/// # Errors
/// The file cannot be written.
pub fn keep(report: &str, folder: &str, name: &str) -> std::io::Result<()> {
    println!("{report}");
    std::fs::create_dir_all(folder)?;
    std::fs::write(PathBuf::from(folder).join(name), report)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A failure is what a test is for.
mod tests {
    use super::*;

    #[test]
    fn every_name_stands_for_a_format_of_its_own() {
        for order in 1..=5 {
            let named = of_order(order);
            let mut formats: Vec<Format> = named.iter().map(|named| named.format(order).unwrap()).collect();
            assert!(formats.iter().all(|format| format.order() == order));
            formats.sort();
            formats.dedup();
            assert_eq!(formats.len(), named.len(), "order {order}");
        }
    }
}
