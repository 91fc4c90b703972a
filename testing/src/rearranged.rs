//! Loops by hand with the meaning of printed ones: the text of a plan with its loops in another order, without the lines about them,
//! with tensors stored otherwise and workspaces over other orders of their indices.
//!
//! ```text
//! forall i (cpu, none)                          forall k
//!   where                                         forall i
//!     forall j                                      where
//!       forall k                           ->         forall j
//!         w(k) += A(i,j) * B(j,k)                       w += ..
//! ```
//!
//! Loops that stand directly inside of each other can change places: their values are assigned once, or combined. Parts of variables
//! keep their order, which storage may ask for. Now and then they read a snapshot of an operand, or are carried out twice.

use fastrand::Rng;
use lacunar_base::random::Draw;

use crate::layouts;

/// The number of times that two loops may change places.
const ROUNDS: usize = 3;
/// The types of workspaces that follow from their producers.
const PLAIN: [&str; 2] = ["f64", "i64"];

/// The text of loops with the meaning of some that were printed; false if an element of a tensor may be absent in one and stored in the
/// other, so that products of 0 with values that are not 0 may differ.
pub fn rearranged(rng: &mut Rng, text: &str) -> (String, bool) {
    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    for line in lines.iter_mut().filter(|line| is_loop(line)) {
        line.truncate(line.find(" (").unwrap_or(line.len()));
    }
    if !text.contains("such that") {
        for _ in 0..ROUNDS {
            exchange(rng, &mut lines);
        }
    }
    transpose(rng, &mut lines);
    let keeps_formats = rng.bool();
    let own = lines.into_iter().filter_map(|line| match line.split_once(": ") {
        Some((name, rest)) if !line.starts_with("op ") => stored(rng, name, rest, keeps_formats),
        _ => Some(line),
    });
    let mut lines: Vec<String> = own.collect();
    if rng.percent(25) {
        read_from_snapshot(rng, &mut lines);
    }
    if rng.percent(25) && !text.contains(" of ") && !text.contains("updated result") {
        repeat(&mut lines);
    }
    (lines.join("\n"), keeps_formats)
}

/// Lets the loops read a snapshot of an operand.
fn read_from_snapshot(rng: &mut Rng, lines: &mut Vec<String>) {
    let is_said = |line: &&String| line.contains(" input ") && !line.contains(" of ") && !line.contains(" structure ");
    let of_line = |line: &String| line.split_once(": ").map(|(name, _)| name.to_string());
    let is_source = |name: &String| lines.iter().any(|line| line.ends_with(&format!(" of {name}")));
    // A number is read without indices.
    let is_read = |name: &String| lines.iter().any(|line| !line.contains(": ") && line.contains(&format!("{name}(")));
    let is_wanted = |name: &String| !is_source(name) && is_read(name);
    let names: Vec<String> = lines.iter().filter(is_said).filter_map(of_line).filter(is_wanted).collect();
    let Some(name) = names.get(rng.usize(..names.len().max(1))) else { return };
    let access = format!("{name}(");
    let then = format!("{name}_then");
    for line in lines.iter_mut().filter(|line| !line.contains(": ")) {
        let parts: Vec<&str> = line.split(&access).collect();
        let mut made = parts[0].to_string();
        for part in &parts[1..] {
            let is_word = made.ends_with(|c: char| c.is_alphanumeric() || c == '_');
            made = made + if is_word { name } else { &then } + "(" + part;
        }
        *line = made;
    }
    let operators = lines.iter().take_while(|line| line.starts_with("op ")).count();
    lines.insert(operators, format!("snapshot {then}, {name}"));
}

/// Carries out the loops twice.
fn repeat(lines: &mut Vec<String>) {
    let is_head = |line: &&String| line.starts_with("op ") || line.starts_with("snapshot ");
    let begin = lines.iter().take_while(is_head).count();
    let end = lines.iter().position(|line| line.contains(": ")).unwrap_or(lines.len());
    lines.insert(end.max(begin), "}".to_string());
    lines.insert(begin, "for round in 0 .. 2 {".to_string());
}

fn is_loop(line: &str) -> bool {
    line.trim_start().starts_with("forall ")
}

fn depth(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Lets some loops change places with those directly inside of them.
fn exchange(rng: &mut Rng, lines: &mut [String]) {
    for at in 1..lines.len() {
        let (outer, inner) = (&lines[at - 1], &lines[at]);
        if is_loop(outer) && is_loop(inner) && depth(inner) > depth(outer) && rng.bool() {
            let [above, below] = [outer, inner].map(|line| " ".repeat(depth(line)));
            let (first, second) = (outer.trim_start().to_string(), inner.trim_start().to_string());
            (lines[at - 1], lines[at]) = (above + &second, below + &first);
        }
    }
}

/// Gives some workspaces another order of their indices.
fn transpose(rng: &mut Rng, lines: &mut [String]) {
    let is_workspace = |line: &&String| line.contains(" workspace ") && line.contains(": ");
    let names: Vec<String> =
        lines.iter().filter(is_workspace).filter_map(|line| Some(line.split_once(": ")?.0.to_string())).collect();
    for name in names.into_iter().filter(|_| rng.bool()) {
        for line in lines.iter_mut() {
            *line = match line.strip_prefix(&format!("{name}: ")) {
                Some(rest) => format!("{name}: {}", sizes_turned(rest)),
                None => turned(line, &name),
            };
        }
    }
}

/// A line in which the indices of a tensor stand in the opposite order.
fn turned(line: &str, name: &str) -> String {
    let access = format!("{name}(");
    let (mut made, mut rest) = (String::new(), line);
    while let Some(at) = rest.find(&access) {
        let (before, behind) = (&rest[..at], &rest[at + access.len()..]);
        made += before;
        made += &access;
        let is_word = before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        rest = behind;
        if let Some(end) = behind.find(')').filter(|_| !is_word) {
            let mut indices: Vec<&str> = behind[..end].split(',').collect();
            indices.reverse();
            made += &indices.join(",");
            rest = &behind[end..];
        }
    }
    made + rest
}

fn is_sizes(word: &str) -> bool {
    word.split('x').all(|size| size.parse::<u64>().is_ok())
}

/// The rest of a line for a tensor with its sizes in the opposite order.
fn sizes_turned(rest: &str) -> String {
    let turned = |word: &str| word.split('x').rev().collect::<Vec<_>>().join("x");
    let words = rest.split(' ').map(|word| if is_sizes(word) { turned(word) } else { word.to_string() });
    words.collect::<Vec<_>>().join(" ")
}

/// The line of a tensor, which may be stored in any format, or as a workspace of any kind.
fn stored(rng: &mut Rng, name: &str, rest: &str, keeps_formats: bool) -> Option<String> {
    let same = Some(format!("{name}: {rest}"));
    let words: Vec<&str> = rest.split(' ').collect();
    let Some(role) = words.iter().position(|word| ["input", "result", "workspace"].contains(word)) else { return same };
    if words[role] == "workspace" {
        return same.filter(|_| !PLAIN.contains(&words[0]) || rng.bool());
    }
    let order = words.get(role + 1).filter(|word| is_sizes(word)).map_or(0, |sizes| sizes.split('x').count());
    // Padding cannot be told from entries without values.
    let is_other = role != 2
        || words[0] == "pattern"
        || rest.contains(" of ")
        || rest.contains(" structure ")
        || rest.contains("packed");
    if is_other || order == 0 || keeps_formats || rng.bool() {
        return same;
    }
    let format = layouts::format(rng, order, true, 20);
    Some(format!("{name}: {} {} {}", words[0], crate::instance::format_text(&format), words[role..].join(" ")))
}
