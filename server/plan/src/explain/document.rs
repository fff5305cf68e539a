//! A document under way: JSON, YAML or XML, indented like PostgreSQL's.
//!
//! ```text
//! [                          - Plan:                   <explain xmlns="…">
//!   {                            Node Type: "Limit"      <Query>
//!     "Plan": {                  Plans:                    <Plan>
//!       "Node Type": "Limit",      - Node Type: "Scan"       <Node-Type>Limit</Node-Type>
//! ```

use braid_sql::ast::ExplainFormat;

/// The namespace of the root element.
const NAMESPACE: &str = "http://www.postgresql.org/2009/explain";

/// Whether the parts of a group have names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    /// The parts have no names in JSON and YAML.
    List,
    /// Each part has a name.
    Object,
}

/// A group that is not finished.
struct Frame {
    group: Group,
    /// The name of the element in XML.
    tag: String,
    /// Whether something is in it.
    filled: bool,
}

/// The text and where it is.
pub(super) struct Document {
    text: String,
    format: ExplainFormat,
    open: Vec<Frame>,
}

impl Document {
    /// An empty document.
    pub(super) fn new(format: ExplainFormat) -> Document {
        Document { text: String::new(), format, open: Vec::new() }
    }

    /// The finished text.
    pub(super) fn into_text(self) -> String {
        self.text
    }

    fn is_yaml(&self) -> bool {
        self.format == ExplainFormat::Yaml
    }

    fn is_xml(&self) -> bool {
        self.format == ExplainFormat::Xml
    }

    /// Begins a group, which is a part of the open group.
    pub(super) fn open(&mut self, group: Group, name: &str) {
        let tag = tag_of(name);
        let outermost = self.open.is_empty();
        if !outermost {
            self.part(name);
        }
        match self.format {
            ExplainFormat::Xml if outermost => {
                self.text.push_str(&format!("<{tag} xmlns=\"{NAMESPACE}\">"));
            }
            ExplainFormat::Xml => self.text.push_str(&format!("<{tag}>")),
            ExplainFormat::Yaml => {}
            _ => self.text.push(if group == Group::List { '[' } else { '{' }),
        }
        self.open.push(Frame { group, tag, filled: false });
    }

    /// Ends the group that was opened last.
    pub(super) fn close(&mut self) {
        let Some(frame) = self.open.pop() else { return };
        if self.is_yaml() {
            return;
        }
        self.line();
        match (self.is_xml(), frame.group) {
            (true, _) => self.text.push_str(&format!("</{}>", frame.tag)),
            (false, Group::List) => self.text.push(']'),
            (false, Group::Object) => self.text.push('}'),
        }
    }

    fn line(&mut self) {
        // The list around a YAML document is not indented.
        let depth = self.open.len() - usize::from(self.is_yaml() && !self.open.is_empty());
        if !(self.is_yaml() && self.text.is_empty()) {
            self.text.push('\n');
        }
        self.text.push_str(&"  ".repeat(depth));
    }

    /// Begins a part of the open group: a new line, and in an object the part's name.
    fn part(&mut self, name: &str) {
        let Some(frame) = self.open.last_mut() else { return };
        let filled = std::mem::replace(&mut frame.filled, true);
        let named = frame.group == Group::Object;
        if filled && self.format == ExplainFormat::Json {
            self.text.push(',');
        }
        // The first key of an object in a YAML list stands beside the dash.
        if filled || !self.text.ends_with("- ") {
            self.line();
        }
        match (self.format, named) {
            (ExplainFormat::Xml, _) => {}
            (ExplainFormat::Yaml, false) => self.text.push_str("- "),
            (ExplainFormat::Yaml, true) => self.text.push_str(&format!("{name}: ")),
            (_, false) => {}
            (_, true) => {
                self.quoted(name);
                self.text.push_str(": ");
            }
        }
    }

    fn quoted(&mut self, text: &str) {
        let mut out = Vec::with_capacity(text.len() + 2);
        braid_types::json::quote(text, &mut out);
        self.text.push_str(&String::from_utf8_lossy(&out));
    }

    fn element(&mut self, name: &str, value: &str) {
        self.part(name);
        let tag = tag_of(name);
        self.text.push_str(&format!("<{tag}>{}</{tag}>", escaped(value)));
    }

    /// A member that is not text.
    pub(super) fn value(&mut self, name: &str, value: &str) {
        if self.is_xml() {
            return self.element(name, value);
        }
        self.part(name);
        self.text.push_str(value);
    }

    /// A member that is text.
    pub(super) fn string(&mut self, name: &str, value: &str) {
        if self.is_xml() {
            return self.element(name, value);
        }
        self.part(name);
        self.quoted(value);
    }

    /// A member that is a list of texts: on one line in JSON.
    pub(super) fn strings(&mut self, name: &str, values: &[String]) {
        if self.format != ExplainFormat::Json {
            self.open(Group::List, name);
            for value in values {
                self.string("Item", value);
            }
            return self.close();
        }
        self.part(name);
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

/// A name as the name of an element.
fn tag_of(name: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    name.chars().map(|c| if allowed(c) { c } else { '-' }).collect()
}

/// A text as the content of an element.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('\r', "&#x0d;")
}
