//! Operators as text, as JSON, as YAML and as XML, in PostgreSQL's forms.
//!
//! `rows`, `time` and `round_trips` count all starts of an operator (`loops`) together, and what
//! its inputs did meanwhile; PostgreSQL shows the average of a start.

use super::describe::Operator;
use super::document::{Document, Group};
use super::options::ExplainOptions;

/// What an operator did in a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Actual {
    /// Rows given.
    pub rows: u64,
    /// How often it was started.
    pub loops: u64,
    /// Round trips to the store, inputs included.
    pub round_trips: u64,
    /// Time, inputs included.
    pub micros: u64,
    /// What it has written to disk.
    pub disk: Option<DiskUse>,
}

/// What an operator has written to disk because memory was used up.
#[derive(Clone, Copy, Debug)]
pub struct DiskUse {
    /// It sorts; others process batches one by one.
    pub sorts: bool,
    /// How many batches there were.
    pub batches: u64,
    /// The size of its file.
    pub bytes: u64,
}

impl DiskUse {
    /// The size as PostgreSQL shows it.
    fn kilobytes(&self) -> u64 {
        self.bytes.div_ceil(1024)
    }

    fn text(&self) -> String {
        match self.sorts {
            true => format!("Sort Method: external merge  Disk: {}kB", self.kilobytes()),
            false => format!("Batches: {}  Disk Usage: {}kB", self.batches, self.kilobytes()),
        }
    }

    fn document(&self, document: &mut Document) {
        if self.sorts {
            document.string("Sort Method", "external merge");
            document.value("Sort Space Used", &self.kilobytes().to_string());
            document.string("Sort Space Type", "Disk");
        } else {
            document.value("Batches", &self.batches.to_string());
            document.value("Disk Usage", &self.kilobytes().to_string());
        }
    }
}

/// What operators did, by the address of their nodes; `None` for one that was never started.
pub type Measured<'a> = &'a dyn Fn(usize) -> Option<Actual>;

/// What the statement took as a whole.
#[derive(Clone, Copy, Debug, Default)]
pub struct Summary {
    /// Time of planning.
    pub planning_micros: u64,
    /// Time and round trips of the run, if there was one.
    pub execution: Option<(u64, u64)>,
}

fn millis(micros: u64) -> String {
    format!("{}.{:03}", micros / 1000, micros % 1000)
}

/// The lines of a plan.
pub fn text(
    root: &Operator,
    options: &ExplainOptions,
    measured: Option<Measured<'_>>,
    summary: &Summary,
) -> Vec<String> {
    let mut lines = Vec::new();
    operator_text(root, options, measured, 0, &mut lines);
    if options.summary {
        lines.push(format!("Planning Time: {} ms", millis(summary.planning_micros)));
        if let Some((micros, round_trips)) = summary.execution {
            lines.push(format!("Execution Time: {} ms", millis(micros)));
            lines.push(format!("Round Trips: {round_trips}"));
        }
    }
    lines
}

/// `depth` counts steps of two blanks, as PostgreSQL does.
fn operator_text(
    operator: &Operator,
    options: &ExplainOptions,
    measured: Option<Measured<'_>>,
    mut depth: usize,
    lines: &mut Vec<String>,
) {
    if let Some(label) = &operator.label {
        lines.push(format!("{}{label}", "  ".repeat(depth)));
        depth += 1;
    }
    let mut head = "  ".repeat(depth);
    if depth > 0 {
        head.push_str("->  ");
        depth += 2;
    }
    head.push_str(&operator.title);
    if options.costs {
        head.push_str(&format!("  (rows={:.0})", operator.rows));
    }
    if let Some(measured) = measured
        && operator.node != 0
    {
        let gap = if options.costs { " " } else { "  " };
        match measured(operator.node) {
            None if operator.inlined => {}
            None => head.push_str(&format!("{gap}(never executed)")),
            Some(actual) => {
                head.push_str(gap);
                head.push_str(&format!("(actual rows={} loops={}", actual.rows, actual.loops));
                if options.timing {
                    head.push_str(&format!(" time={} ms", millis(actual.micros)));
                }
                head.push_str(&format!(" round_trips={})", actual.round_trips));
            }
        }
    }
    lines.push(head);
    depth += 1;
    for (name, values) in &operator.lines {
        lines.push(format!("{}{name}: {}", "  ".repeat(depth), values.join(", ")));
    }
    let actual = measured.and_then(|measured| measured(operator.node));
    if let Some(disk) = actual.and_then(|actual| actual.disk) {
        lines.push(format!("{}{}", "  ".repeat(depth), disk.text()));
    }
    for input in &operator.inputs {
        operator_text(input, options, measured, depth, lines);
    }
}

/// A plan as a document: JSON, YAML or XML.
pub fn document(
    root: &Operator,
    options: &ExplainOptions,
    measured: Option<Measured<'_>>,
    summary: &Summary,
) -> String {
    let mut document = Document::new(options.format);
    document.open(Group::List, "explain");
    document.open(Group::Object, "Query");
    operator_document(root, options, measured, &mut document);
    if options.summary {
        document.value("Planning Time", &millis(summary.planning_micros));
        if let Some((micros, round_trips)) = summary.execution {
            document.value("Execution Time", &millis(micros));
            document.value("Round Trips", &round_trips.to_string());
        }
    }
    document.close();
    document.close();
    document.into_text()
}

fn operator_document(
    operator: &Operator,
    options: &ExplainOptions,
    measured: Option<Measured<'_>>,
    document: &mut Document,
) {
    document.open(Group::Object, "Plan");
    document.string("Node Type", &operator.title);
    if let Some(label) = &operator.label {
        document.string("Subplan Name", label);
    }
    if options.costs {
        document.value("Plan Rows", &format!("{:.0}", operator.rows));
    }
    if let Some(measured) = measured
        && operator.node != 0
    {
        let actual = measured(operator.node).unwrap_or_default();
        document.value("Actual Rows", &actual.rows.to_string());
        document.value("Actual Loops", &actual.loops.to_string());
        if options.timing {
            document.value("Actual Total Time", &millis(actual.micros));
        }
        document.value("Round Trips", &actual.round_trips.to_string());
    }
    for (place, (name, values)) in operator.lines.iter().enumerate() {
        // Grouping sets repeat a name, which a JSON object must not.
        let earlier = operator.lines[..place].iter().filter(|(known, _)| known == name).count();
        let name = match earlier {
            0 => (*name).to_owned(),
            earlier => format!("{name} {}", earlier + 1),
        };
        match &values[..] {
            [one] => document.string(&name, one),
            values => document.strings(&name, values),
        }
    }
    let actual = measured.and_then(|measured| measured(operator.node));
    if let Some(disk) = actual.and_then(|actual| actual.disk) {
        disk.document(document);
    }
    if !operator.inputs.is_empty() {
        document.open(Group::List, "Plans");
        for input in &operator.inputs {
            operator_document(input, options, measured, document);
        }
        document.close();
    }
    document.close();
}
