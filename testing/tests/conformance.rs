//! Other systems' tests on every engine, where their files are at hand; a table of the cases that ran and of the missing features.

mod engines;

use std::process::ExitCode;
use std::sync::Arc;

use lacunar_testing::conformance::{ConformanceCase, Summary, Translation, comet, file, taco};
use lacunar_testing::instance::Instance;
use lacunar_testing::runner::Reference;
use lacunar_testing::suite::{Suite, arguments, batches};
use libtest_mimic::{Failed, Trial};

/// Makes cases of a file's text.
type Translator = fn(&str) -> Vec<ConformanceCase>;

fn main() -> ExitCode {
    let (arguments, suite) = (arguments(), engines::suite("conformance"));
    let suites: [(&str, Translator); 2] = [("taco", taco::cases), ("comet", comet::cases)];
    let (mut trials, mut tables, mut instances) = (Vec::new(), Vec::new(), Vec::new());
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
        instances.extend(cases.iter().filter_map(enumerable));
        trials.extend(cases.into_iter().filter_map(|case| trial(name, case, &suite)));
    }
    trials.extend(batches(&suite, move |_| Ok(instances.clone())));
    if !arguments.list {
        tables.iter().for_each(|table| println!("{table}"));
    }
    suite.conclude(&arguments, trials)
}

/// The instance of a case that the oracle can enumerate.
fn enumerable(case: &ConformanceCase) -> Option<Instance> {
    match &case.translation {
        Ok(Translation::Run(runnable)) if runnable.reference == Reference::Oracle => Some(runnable.instance.clone()),
        _ => None,
    }
}

/// The trial of a case that can run, or could not be translated.
fn trial(system: &str, case: ConformanceCase, suite: &Arc<Suite>) -> Option<Trial> {
    let (name, suite) = (format!("{system}/{}", case.id), suite.clone());
    match case.translation {
        Ok(Translation::Missing(_)) => None,
        Ok(Translation::Run(runnable)) => {
            Some(Trial::test(name, move || suite.verify(&runnable.instance, runnable.reference).map_err(Failed::from)))
        }
        Err(fault) => Some(Trial::test(name, move || Err(Failed::from(fault)))),
    }
}
