//! A document under way: JSON or YAML, indented like PostgreSQL's.
//!
//! ```text
//! [                          - Plan:
//!   {                            Node Type: "Limit"
//!     "Plan": {                  Plans:
//!       "Node Type": "Limit",      - Node Type: "Scan on t"
//! ```

/// The text and where it is.
pub(super) struct Document {
    text: String,
    yaml: bool,
    /// For each open bracket whether something is in it.
    open: Vec<bool>,
}

impl Document {
    /// An empty document.
    pub(super) fn new(yaml: bool) -> Document {
        Document { text: String::new(), yaml, open: Vec::new() }
    }

    /// The finished text.
    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// Begins a list or an object.
    pub(super) fn open(&mut self, bracket: char) {
        if !self.yaml {
            self.text.push(bracket);
        }
        self.open.push(false);
    }

    /// Ends it.
    pub(super) fn close(&mut self, bracket: char) {
        self.open.pop();
        if !self.yaml {
            self.line();
            self.text.push(bracket);
        }
    }

    fn line(&mut self) {
        // The list around a YAML document is not indented.
        let depth = self.open.len() - usize::from(self.yaml && !self.open.is_empty());
        if !(self.yaml && self.text.is_empty()) {
            self.text.push('\n');
        }
        self.text.push_str(&"  ".repeat(depth));
    }

    /// Begins an element of a list.
    pub(super) fn item(&mut self) {
        self.separate();
        if self.yaml {
            self.text.push_str("- ");
        }
    }

    fn separate(&mut self) {
        let filled = self.open.last_mut().is_some_and(|filled| std::mem::replace(filled, true));
        if filled && !self.yaml {
            self.text.push(',');
        }
        // The first key of an object in a YAML list stands beside the dash.
        if filled || !self.text.ends_with("- ") {
            self.line();
        }
    }

    fn quoted(&mut self, text: &str) {
        let mut out = Vec::with_capacity(text.len() + 2);
        braid_types::json::quote(text, &mut out);
        self.text.push_str(&String::from_utf8_lossy(&out));
    }

    /// Begins a member of an object.
    pub(super) fn key(&mut self, name: &str) {
        self.separate();
        if self.yaml {
            self.text.push_str(name);
        } else {
            self.quoted(name);
        }
        self.text.push_str(": ");
    }

    /// A member that is not text.
    pub(super) fn value(&mut self, name: &str, value: &str) {
        self.key(name);
        self.text.push_str(value);
    }

    /// A member that is text.
    pub(super) fn string(&mut self, name: &str, value: &str) {
        self.key(name);
        self.quoted(value);
    }

    /// A member that is a list of texts: on one line in JSON.
    pub(super) fn strings(&mut self, name: &str, values: &[String]) {
        self.key(name);
        if self.yaml {
            self.open('[');
            for value in values {
                self.item();
                self.quoted(value);
            }
            return self.close(']');
        }
        self.text.push('[');
        for (place, value) in values.iter().enumerate() {
            if place > 0 {
                self.text.push_str(", ");
            }
            self.quoted(value);
        }
        self.text.push(']');
    }
}
