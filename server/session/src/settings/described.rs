//! How `pg_settings` shows the kind and the value of a setting.

use braid_system_views::SettingInfo;

use super::{Access, Kind, Setting, category, in_unit, real_text};

/// What `pg_settings` shows of a setting that has this value, and would have that one after RESET.
pub(crate) fn described(setting: &Setting, value: &str, reset: &str) -> SettingInfo {
    let (vartype, unit, min, max, values) = describe_kind(&setting.kind);
    let source = if value == reset { "default" } else { "session" };
    SettingInfo {
        name: setting.name.to_owned(),
        value: plain_number(&setting.kind, value),
        unit,
        category: category(setting.name).to_owned(),
        description: setting.description.to_owned(),
        context: match setting.access {
            Access::User | Access::Transaction | Access::Identity => "user",
            Access::Superuser => "superuser",
            Access::Fixed => "internal",
            Access::Start => "postmaster",
        }
        .to_owned(),
        vartype: vartype.to_owned(),
        source: source.to_owned(),
        min,
        max,
        values,
        boot: Some(plain_number(&setting.kind, setting.default)),
        reset: Some(plain_number(&setting.kind, reset)),
    }
}

/// A value as a plain number in the variable's unit; others as they are.
fn plain_number(kind: &Kind, value: &str) -> String {
    match kind {
        Kind::Int { unit: Some(unit), .. } => match in_unit(value, *unit) {
            Some(number) => number.to_string(),
            None => value.to_owned(),
        },
        _ => value.to_owned(),
    }
}

type KindFacts =
    (&'static str, Option<String>, Option<String>, Option<String>, Option<Vec<String>>);

fn describe_kind(kind: &Kind) -> KindFacts {
    match kind {
        Kind::Bool => ("bool", None, None, None, None),
        Kind::Int { min, max, unit } => (
            "integer",
            unit.map(|unit| unit.as_str().to_owned()),
            Some(min.to_string()),
            Some(max.to_string()),
            None,
        ),
        Kind::Real { min, max, unit } => (
            "real",
            unit.map(|unit| unit.as_str().to_owned()),
            Some(real_text(*min)),
            Some(real_text(*max)),
            None,
        ),
        Kind::Enum(words) => {
            let words = words.iter().map(|word| (*word).to_owned()).collect();
            ("enum", None, None, None, Some(words))
        }
        Kind::Text
        | Kind::Names
        | Kind::TimeZone
        | Kind::DateStyle
        | Kind::Encoding
        | Kind::Uuid
        | Kind::TraceParent => ("string", None, None, None, None),
    }
}
