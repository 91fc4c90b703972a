//! taco's concrete notation, as its tests print it, read back as a schedule in our language.
//!
//! ```text
//! suchthat(forall(i0, forall(i1, forall(j, y(i) += A(i,j) * x(j))), CPUThread, NoRaces), split(i, i0, i1, 16))
//!   ->  split(i, i0, i1, 16), reorder(i0, i1, j), parallelize(i0, CPUThread, NoRaces)
//! ```
//!
//! Relations come first and in their order; then the order of the loops, as a `reorder` of all; then a `precompute` for
//! each workspace that has variables (the planner makes scalars by itself); then the tags of loops. `Temporary` stands
//! for a loop over copies of each thread (`w_CPUThread`).

use std::collections::BTreeMap;

/// A statement.
#[derive(Debug)]
enum Stmt {
    Assign { lhs: String, rhs: String },
    Forall { var: String, tags: Vec<String>, body: Box<Stmt> },
    Where { consumer: Box<Stmt>, producer: Box<Stmt> },
}

/// A workspace: its indices where it is filled and where it is read, and the value that fills it.
#[derive(Debug)]
struct Workspace {
    filled: Vec<String>,
    read: Vec<String>,
    value: String,
}

/// The commands that make a plain statement this one.
///
/// # Errors
/// The part that is not understood.
pub fn schedule(concrete: &str) -> Result<Vec<String>, String> {
    let (mut body, mut relations) = (concrete.trim().to_string(), Vec::new());
    if let Some(("suchthat", args)) = call(&body) {
        let [stmt, listed] = two(&args)?;
        relations = listed.split(" and ").map(|relation| relation.trim().to_string()).collect();
        body = stmt;
    }
    let mut commands = Vec::new();
    let mut last = Vec::new();
    if let Some(("assemble", args)) = call(&body) {
        let [_, compute] = two(&args)?;
        body = compute;
        last.push("insert");
    }
    let stmt = parse(&body)?;
    let mut workspaces = BTreeMap::new();
    let mut order = Vec::new();
    collect(&stmt, &mut workspaces, &mut order);
    let precomputes = precomputes(&stmt, &workspaces)?;
    let renamed: Vec<&String> =
        workspaces.values().flat_map(|made| made.filled.iter().filter(|var| !made.read.contains(var))).collect();
    let mut made_late = Vec::new();
    // A workspace over variables that are cut later is made first.
    let is_cut = |var: &String| {
        relations.iter().any(|relation| call(relation).is_some_and(|(_, args)| args.first() == Some(var)))
    };
    let (early, late): (Vec<_>, Vec<_>) = precomputes.into_iter().partition(|(read, _)| read.iter().any(is_cut));
    commands.extend(early.into_iter().map(|(_, command)| command));
    let mut pending = late.into_iter().map(|(_, command)| command);
    for relation in relations {
        match call(&relation) {
            Some(("precompute", _)) => commands.extend(pending.next()),
            Some((_, args)) => {
                if args.first().is_some_and(|parent| renamed.contains(&parent)) {
                    made_late.extend(args.iter().skip(1).cloned());
                }
                commands.push(relation);
            }
            None => return Err(format!("`{relation}` is no relation")),
        }
    }
    let mut loops: Vec<String> = Vec::new();
    for var in order {
        if !loops.contains(&var) && !renamed.contains(&&var) && !made_late.contains(&var) {
            loops.push(var);
        }
    }
    if loops.len() > 1 {
        commands.push(format!("reorder({})", loops.join(", ")));
    }
    commands.extend(pending);
    tags(&stmt, &mut commands);
    if let (Some(how), Some(result)) = (last.pop(), result(&stmt)) {
        commands.push(format!("assemble({result}, {how})"));
    }
    Ok(commands)
}

/// `name(a, b, ..)` as the name and the arguments.
fn call(text: &str) -> Option<(&str, Vec<String>)> {
    let text = text.trim();
    let (name, rest) = text.split_once('(')?;
    let inside = rest.strip_suffix(')')?;
    let mut args = vec![String::new()];
    let mut depth = 0;
    for c in inside.chars() {
        match c {
            '(' | '{' => depth += 1,
            ')' | '}' => depth -= 1,
            _ => {}
        }
        if depth < 0 {
            return None;
        }
        match (c, args.last_mut()) {
            (',', _) if depth == 0 => args.push(String::new()),
            (_, Some(last)) => last.push(c),
            (_, None) => {}
        }
    }
    Some((name.trim(), args.into_iter().map(|arg| arg.trim().to_string()).collect()))
}

fn two(args: &[String]) -> Result<[String; 2], String> {
    <[String; 2]>::try_from(args.to_vec()).map_err(|args| format!("{} parts, not two", args.len()))
}

fn parse(text: &str) -> Result<Stmt, String> {
    match call(text) {
        Some(("forall", args)) => {
            let [var, body, tags @ ..] = args.as_slice() else { return Err(format!("`{text}`")) };
            Ok(Stmt::Forall { var: var.clone(), tags: tags.to_vec(), body: Box::new(parse(body)?) })
        }
        Some(("where", args)) => {
            let [consumer, producer] = two(&args)?;
            Ok(Stmt::Where { consumer: Box::new(parse(&consumer)?), producer: Box::new(parse(&producer)?) })
        }
        _ => {
            let (lhs, rhs) = text.split_once('=').ok_or_else(|| format!("`{text}` is no statement"))?;
            let lhs = lhs.trim().trim_end_matches('+').trim().to_string();
            Ok(Stmt::Assign { lhs, rhs: rhs.trim().to_string() })
        }
    }
}

/// The workspaces, and the variables of all loops in the order in which they stand, producers first.
fn collect(stmt: &Stmt, workspaces: &mut BTreeMap<String, Workspace>, order: &mut Vec<String>) {
    match stmt {
        Stmt::Assign { .. } => {}
        Stmt::Forall { var, body, .. } => {
            order.push(var.clone());
            collect(body, workspaces, order);
        }
        Stmt::Where { consumer, producer } => {
            if let Some((lhs, value)) = assigned(producer) {
                let (name, filled) = call(lhs).unwrap_or((lhs, Vec::new()));
                let read = read(consumer, name).unwrap_or_else(|| filled.clone());
                workspaces.insert(name.to_string(), Workspace { filled, read, value: value.to_string() });
            }
            collect(producer, workspaces, order);
            collect(consumer, workspaces, order);
        }
    }
}

/// The target and the value of a producer's assignment: those of its innermost consumer.
fn assigned(stmt: &Stmt) -> Option<(&str, &str)> {
    match stmt {
        Stmt::Assign { lhs, rhs } => Some((lhs, rhs)),
        Stmt::Forall { body, .. } => assigned(body),
        Stmt::Where { consumer, .. } => assigned(consumer),
    }
}

/// The indices with which a workspace is read.
fn read(stmt: &Stmt, name: &str) -> Option<Vec<String>> {
    match stmt {
        Stmt::Assign { rhs, .. } => {
            let at = rhs.find(&format!("{name}("))?;
            let end = at + rhs[at..].find(')')? + 1;
            call(&rhs[at..end]).map(|(_, args)| args)
        }
        Stmt::Forall { body, .. } => read(body, name),
        Stmt::Where { consumer, producer } => read(consumer, name).or_else(|| read(producer, name)),
    }
}

/// A command for each workspace with variables, and those variables; the outermost first.
fn precomputes(stmt: &Stmt, workspaces: &BTreeMap<String, Workspace>) -> Result<Vec<(Vec<String>, String)>, String> {
    let mut made = Vec::new();
    let mut names = Vec::new();
    outermost_first(stmt, &mut names);
    for name in names {
        let Some(workspace) = workspaces.get(&name) else { return Err(format!("`{name}` is not filled")) };
        if workspace.filled.is_empty() || name.contains("CPUThread") {
            continue;
        }
        let mut value = workspace.value.clone();
        // Replaces other workspaces by their values.
        for (other, inner) in workspaces {
            let access = format!("{other}({})", inner.read.join(","));
            value = value.replace(&access, &inner.value);
        }
        for (filled, read) in workspace.filled.iter().zip(&workspace.read) {
            if filled != read {
                value = renamed(&value, filled, read);
            }
        }
        let (read, filled) = (workspace.read.join(", "), workspace.filled.join(", "));
        made.push((workspace.read.clone(), format!("precompute({value}, {{{read}}}, {{{filled}}})")));
    }
    Ok(made)
}

fn outermost_first(stmt: &Stmt, names: &mut Vec<String>) {
    match stmt {
        Stmt::Assign { .. } => {}
        Stmt::Forall { body, .. } => outermost_first(body, names),
        Stmt::Where { consumer, producer } => {
            if let Some((lhs, _)) = assigned(producer) {
                names.push(lhs.split('(').next().unwrap_or(lhs).to_string());
            }
            outermost_first(producer, names);
            outermost_first(consumer, names);
        }
    }
}

/// The text with one name replaced by another.
fn renamed(text: &str, from: &str, to: &str) -> String {
    let (mut out, mut word) = (String::new(), String::new());
    for c in text.chars().chain([' ']) {
        if c.is_alphanumeric() || c == '_' {
            word.push(c);
            continue;
        }
        out += if word == from { to } else { &word };
        word.clear();
        out.push(c);
    }
    out.trim_end().to_string()
}

/// The commands for the tags of loops.
fn tags(stmt: &Stmt, commands: &mut Vec<String>) {
    match stmt {
        Stmt::Assign { .. } => {}
        Stmt::Forall { var, tags: own, body } => {
            if let [unit, race] = own.as_slice()
                && unit != "CPUThreadGroupReduction"
            {
                commands.push(format!("parallelize({var}, {unit}, {race})"));
            }
            tags(body, commands);
        }
        Stmt::Where { consumer, producer } => {
            tags(producer, commands);
            tags(consumer, commands);
        }
    }
}

/// The name of the tensor that the whole statement assigns to.
fn result(stmt: &Stmt) -> Option<&str> {
    assigned(stmt).and_then(|(lhs, _)| lhs.split('(').next())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A failure is what a test is for.
mod tests {
    use super::*;

    #[test]
    fn statements_are_read_back() {
        for (concrete, expected) in [
            (
                "forall(i, forall(j, y(i) += A(i,j) * x(j)), CPUThread, NoRaces)",
                "reorder(i, j), parallelize(i, CPUThread, NoRaces)",
            ),
            (
                "suchthat(forall(f0, forall(f1, y(i) += A(i,j) * x(j))), fuse(i, j, f) and pos(f, p, A(i,j)) and split(p, f0, f1, 4))",
                "fuse(i, j, f), pos(f, p, A(i,j)), split(p, f0, f1, 4), reorder(f0, f1)",
            ),
            ("forall(i, where(r(i) = b(i) - tk, forall(k, tk += A(i,k) * x(k))))", "reorder(i, k)"),
            (
                "suchthat(where(forall(i, A(i) = w(i)), forall(i0, forall(i1, w(iw) = B(iw) + C(iw)))), precompute(i, iw) and split(iw, i0, i1, 8))",
                "precompute(B(i) + C(i), {i}, {iw}), split(iw, i0, i1, 8)",
            ),
            (
                "assemble(x, forall(i, where(forall(k, C(i,k) = w(k)), forall(j, forall(k, w(k) += A(i,j) * B(j,k))))))",
                "reorder(i, j, k), precompute(A(i,j) * B(j,k), {k}, {k}), assemble(C, insert)",
            ),
            (
                "suchthat(where(forall(i0, C += w_CPUThread(i0), CPUThreadGroupReduction, ParallelReduction), forall(i0, forall(i1, w_CPUThread(i0) += A(i)), CPUThread, Temporary)), split(i, i0, i1, 2))",
                "split(i, i0, i1, 2), reorder(i0, i1), parallelize(i0, CPUThread, Temporary)",
            ),
        ] {
            assert_eq!(schedule(concrete).unwrap().join(", "), expected);
        }
    }

    #[test]
    fn what_is_not_understood_is_said() {
        for text in ["forall(i)", "where(a = b)", "suchthat(a = b, nothing)"] {
            assert!(schedule(text).is_err(), "{text}");
        }
    }
}
