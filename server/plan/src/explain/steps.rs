//! A plan before all rules, and after each rule that changed it: EXPLAIN (RULES).

use crate::context::PlanContext;
use crate::explain::{Describing, ExplainOptions, Summary, describe, text};
use crate::layout;
use crate::tree::node::Node;

/// What is shown of the way to a plan.
pub(crate) struct Steps<'a> {
    cx: &'a PlanContext<'a>,
    options: ExplainOptions,
    /// The plan shown last.
    last: Vec<String>,
    lines: Vec<String>,
}

impl<'a> Steps<'a> {
    /// Nothing yet.
    pub(crate) fn new(cx: &'a PlanContext<'a>, options: ExplainOptions) -> Self {
        let options = ExplainOptions { summary: false, ..options };
        Self { cx, options, last: Vec::new(), lines: Vec::new() }
    }

    /// Adds the plan that a rule leaves, under the rule's name, if it looks different now.
    pub(crate) fn add(&mut self, rule: &str, root: &Node) {
        let mut plan = root.clone();
        // A plan that reads a column which nothing gives fails behind the rules.
        if layout::assign_positions(&mut plan).is_err() {
            return;
        }
        let describing = Describing {
            catalog: self.cx.catalog,
            settings: self.cx.env.settings(),
            verbose: self.options.verbose,
            implicit_locks: false,
            workers: &|_| 1,
            spans: &|_| None,
        };
        let shown = text(&describe(&plan, &describing), &self.options, None, &Summary::default());
        if shown != self.last {
            self.lines.push(format!("{rule}:"));
            self.lines.extend(shown.iter().map(|line| format!("  {line}")));
            self.last = shown;
        }
    }

    /// All lines.
    pub(crate) fn into_lines(self) -> Vec<String> {
        self.lines
    }
}
