//! Settings of databases and roles as the catalog stores them.

use braid_sql::ast::{Set, SetValue};
use braid_sql::quote_ident;

/// A variable's name as `SHOW ALL` prints it; it comes in lower case.
pub(crate) fn shown_name(name: &str) -> String {
    match name {
        "timezone" => "TimeZone",
        "datestyle" => "DateStyle",
        "intervalstyle" => "IntervalStyle",
        other => other,
    }
    .to_owned()
}

/// The value of SET as it is kept for later sessions; `None` for DEFAULT.
pub(crate) fn stored_value(set: &Set) -> Option<String> {
    match &set.value {
        SetValue::Default => None,
        SetValue::Values(values) if set.name == "search_path" => {
            let names: Vec<String> = match values.as_slice() {
                [one] if one.contains([',', '"']) => return Some(one.clone()),
                many => many.iter().map(|name| quote_ident(name)).collect(),
            };
            Some(names.join(", "))
        }
        SetValue::Values(values) => Some(values.join(", ")),
    }
}
