//! What was measured, as tables for people and as JSON for machines.

use crate::load::Outcome;
use crate::machine::{Machine, Others};
use serde::Serialize;
use std::fmt::Write;

#[derive(Debug, Serialize)]
pub struct Report {
    pub machine: Machine,
    pub effort: &'static str,
    pub sections: Vec<Section>,
    pub errors: u64,
    pub mismatches: u64,
    /// Over the whole run.
    pub others: Others,
}

#[derive(Debug, Default, Serialize)]
pub struct Section {
    pub name: &'static str,
    pub title: String,
    pub columns: Vec<&'static str>,
    pub rows: Vec<Row>,
    pub checks: Vec<Check>,
    pub notes: Vec<String>,
    pub errors: u64,
    pub mismatches: u64,
    pub others: Others,
    /// Why there are no numbers, or not all.
    pub failure: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct Row {
    pub label: String,
    /// One per column; absent where there is nothing to measure.
    pub values: Vec<Option<f64>>,
}

/// A measured value beside what it should be. Reported, never enforced: a busy machine must fail nobody's build.
#[derive(Debug, Serialize)]
pub struct Check {
    pub what: String,
    pub value: f64,
    pub unit: &'static str,
    pub bound: Bound,
    pub target: f64,
    pub is_met: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    AtMost,
    AtLeast,
}

impl Bound {
    fn holds(self, value: f64, target: f64) -> bool {
        match self {
            Bound::AtMost => value <= target,
            Bound::AtLeast => value >= target,
        }
    }

    fn sign(self) -> &'static str {
        match self {
            Bound::AtMost => "≤",
            Bound::AtLeast => "≥",
        }
    }
}

impl Section {
    pub fn new(name: &'static str, title: impl Into<String>, columns: &[&'static str]) -> Self {
        Self { name, title: title.into(), columns: columns.to_vec(), ..Self::default() }
    }

    pub fn row(&mut self, label: impl Into<String>, values: impl IntoIterator<Item = Option<f64>>) {
        self.rows.push(Row { label: label.into(), values: values.into_iter().collect() });
    }

    pub fn at_most(&mut self, what: impl Into<String>, (value, unit): (f64, &'static str), target: f64) {
        self.check(Bound::AtMost, what.into(), (value, unit), target);
    }

    pub fn at_least(&mut self, what: impl Into<String>, (value, unit): (f64, &'static str), target: f64) {
        self.check(Bound::AtLeast, what.into(), (value, unit), target);
    }

    fn check(&mut self, bound: Bound, what: String, (value, unit): (f64, &'static str), target: f64) {
        let is_met = bound.holds(value, target);
        self.checks.push(Check { what, value, unit, bound, target, is_met });
    }

    pub fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// Adds up what went wrong in a run, and shows its first problem.
    pub fn account(&mut self, label: &str, outcome: &Outcome) {
        self.errors += outcome.errors;
        self.mismatches += outcome.mismatches;
        if let Some(problem) = &outcome.first_problem {
            let (errors, mismatches) = (outcome.errors, outcome.mismatches);
            self.note(format!("{label}: {errors} errors, {mismatches} mismatches; the first: {problem}"));
        }
    }
}

impl Report {
    pub fn is_clean(&self) -> bool {
        self.errors == 0 && self.mismatches == 0 && self.sections.iter().all(|s| s.failure.is_none())
    }

    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for section in &self.sections {
            section.write(&mut text);
        }
        let checks = || self.sections.iter().flat_map(|section| &section.checks);
        let met = checks().filter(|check| check.is_met).count();
        let Others { seconds, cores } = self.others;
        // Writing to a string cannot fail.
        let _ = writeln!(text, "targets met: {met} of {}", checks().count());
        let _ = writeln!(text, "errors: {}, mismatched replies: {}", self.errors, self.mismatches);
        let _ = writeln!(text, "CPU used by others while measuring: {cores:.2} cores over {seconds:.0} s");
        text
    }
}

impl Section {
    fn write(&self, text: &mut String) {
        let _ = writeln!(text, "\n{}: {}", self.name, self.title);
        let widest = self.rows.iter().map(|row| row.label.chars().count());
        let widest =
            widest.chain(self.checks.iter().map(|check| check.what.chars().count())).max().unwrap_or(0);
        if !self.columns.is_empty() {
            let _ = write!(text, "  {:widest$}", "");
            for column in &self.columns {
                let _ = write!(text, "{column:>12}");
            }
            text.push('\n');
        }
        for row in &self.rows {
            let _ = write!(text, "  {:widest$}", row.label);
            for value in &row.values {
                let _ = write!(text, "{:>12}", cell(*value));
            }
            text.push('\n');
        }
        for check in &self.checks {
            let mark = if check.is_met { "pass" } else { "FAIL" };
            let value = format!("{} {}", number(check.value), check.unit);
            let target = format!("{} {}", check.bound.sign(), number(check.target));
            let _ = writeln!(text, "  {:widest$}{value:>12}   target {target:<8} {mark}", check.what);
        }
        for note in &self.notes {
            let _ = writeln!(text, "  - {note}");
        }
        if let Some(failure) = &self.failure {
            let _ = writeln!(text, "  NOT MEASURED: {failure}");
        }
        let _ = writeln!(
            text,
            "  (CPU of others: {:.2} cores over {:.1} s)",
            self.others.cores, self.others.seconds
        );
    }
}

fn cell(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), number)
}

/// As many digits as the noise of a measurement leaves meaning in.
fn number(value: f64) -> String {
    match value.abs() {
        size if size.is_nan() => "-".to_owned(),
        size if size >= 1000.0 || value.fract() == 0.0 => format!("{value:.0}"),
        size if size >= 20.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bound: Bound, value: f64, target: f64, is_met: bool) {
        let mut section = Section::new("x", "x", &[]);
        section.check(bound, "x".into(), (value, ""), target);
        assert_eq!(section.checks[0].is_met, is_met, "{value} {bound:?} {target}");
    }

    #[test]
    fn targets_are_met_at_the_limit_and_never_by_nothing() {
        check(Bound::AtMost, 1.3, 1.3, true);
        check(Bound::AtMost, 1.31, 1.3, false);
        check(Bound::AtLeast, 0.7, 0.7, true);
        check(Bound::AtLeast, 0.69, 0.7, false);
        check(Bound::AtMost, 0.0, 0.0, true);
        check(Bound::AtMost, f64::NAN, 1.3, false);
        check(Bound::AtLeast, f64::NAN, 0.7, false);
    }

    #[test]
    fn a_section_reads_as_a_table() {
        let mut section = Section::new("speed", "how fast", &["p50 µs", "ratio"]);
        section.row("direct", [Some(120.25), None]);
        section.at_most("portolan / hop", (1.2, "×"), 1.3);
        let mut text = String::new();
        section.write(&mut text);
        let expected = "\nspeed: how fast\n                      p50 µs       ratio\n  direct               120.2           -\n  portolan / hop      1.20 ×   target ≤ 1.30   pass\n  (CPU of others: 0.00 cores over 0.0 s)\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn one_mismatch_is_not_clean() {
        let machine = Machine { cores: 1, model: String::new(), load_before: String::new() };
        let others = Others::default();
        let mut report =
            Report { machine, effort: "quick", sections: Vec::new(), errors: 0, mismatches: 0, others };
        assert!(report.is_clean());
        report.mismatches = 1;
        assert!(!report.is_clean());
    }
}
