//! Other systems' tests on every engine, where their files are at hand; a table of what ran and what is missing.

mod engines;

use lacunar_testing::conformance::{ConformanceCase, Summary, Translation, comet, file, taco};
use lacunar_testing::runner::{arguments, verify};
use libtest_mimic::{Failed, Trial};

/// Makes cases of a file's text.
type Translator = fn(&str) -> Vec<ConformanceCase>;

fn main() {
    let arguments = arguments();
    let suites: [(&str, Translator); 2] = [("taco", taco::cases), ("comet", comet::cases)];
    let (mut trials, mut tables) = (Vec::new(), Vec::new());
    for (name, translate) in suites {
        let Some(path) = file(&format!("{name}.jsonl")) else {
            eprintln!(
                "SKIPPED: the cases of {name} are not beside the repository (../shared/conformance/{name}.jsonl)"
            );
            continue;
        };
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let cases = translate(&text);
        tables.push(format!("{name}: {} cases\n{}", cases.len(), Summary::of(&cases)));
        trials.extend(cases.into_iter().filter_map(|case| trial(name, case)));
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    let listing = arguments.list;
    if !listing {
        tables.iter().for_each(|table| println!("{table}"));
        println!("passed {}, failed {}", conclusion.num_passed, conclusion.num_failed);
    }
    conclusion.exit();
}

/// The trial of a case that can run, or could not be translated.
fn trial(suite: &str, case: ConformanceCase) -> Option<Trial> {
    let name = format!("{suite}/{}", case.id);
    match case.translation {
        Ok(Translation::Missing(_)) => None,
        Ok(Translation::Run(runnable)) => Some(Trial::test(name, move || {
            verify(&runnable.instance, &engines::all(), runnable.reference).map_err(Failed::from)
        })),
        Err(fault) => Some(Trial::test(name, move || Err(Failed::from(fault)))),
    }
}
