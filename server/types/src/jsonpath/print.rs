//! The canonical text of a path.

use super::{Expr, Head, JsonPath, LEVEL_MAX, Predicate, Prefix, Step};
use crate::json::quote;

impl JsonPath {
    /// The text that reads as the same path.
    pub fn print(&self) -> String {
        let mut out = Vec::new();
        if !self.is_lax {
            out.extend_from_slice(b"strict ");
        }
        expr(&self.expr, true, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }
}

/// How strongly an operator binds; what binds less is put in parentheses.
fn priority_of_head(head: &Head) -> u8 {
    match head {
        Head::Arithmetic(operator, _) => match operator.symbol() {
            "+" | "-" => 3,
            _ => 4,
        },
        Head::Unary(..) => 5,
        Head::Predicate(predicate) => priority_of_predicate(predicate),
        _ => 6,
    }
}

fn priority_of_predicate(predicate: &Predicate) -> u8 {
    match predicate {
        Predicate::Or(_) => 0,
        Predicate::And(_) => 1,
        Predicate::Compare(..) | Predicate::StartsWith(..) => 2,
        _ => 6,
    }
}

/// Prints between parentheses if asked to.
fn wrapped(wrap: bool, out: &mut Vec<u8>, print: impl FnOnce(&mut Vec<u8>)) {
    if wrap {
        out.push(b'(');
    }
    print(out);
    if wrap {
        out.push(b')');
    }
}

/// An operand of an operator of that priority.
fn operand(value: &Expr, priority: u8, out: &mut Vec<u8>) {
    expr(value, priority_of_head(&value.head) <= priority, out);
}

fn variable(name: &str, out: &mut Vec<u8>) {
    out.push(b'$');
    quote(name, out);
}

/// An expression. What has steps behind it always gets its parentheses.
fn expr(value: &Expr, wrap: bool, out: &mut Vec<u8>) {
    let has_steps = !value.steps.is_empty();
    let wrap = wrap || has_steps;
    let priority = priority_of_head(&value.head);
    match &value.head {
        Head::Null => out.extend_from_slice(b"null"),
        Head::Bool(true) => out.extend_from_slice(b"true"),
        Head::Bool(false) => out.extend_from_slice(b"false"),
        Head::Number(number) => wrapped(has_steps, out, |out| number.write_text(out)),
        Head::String(text) => quote(text, out),
        Head::Variable(name) => variable(name, out),
        Head::Root => out.push(b'$'),
        Head::Current => out.push(b'@'),
        Head::Last => out.extend_from_slice(b"last"),
        Head::Unary(sign, inner) => wrapped(wrap, out, |out| {
            out.extend_from_slice(sign.symbol().as_bytes());
            operand(inner, priority, out);
        }),
        Head::Arithmetic(operator, both) => wrapped(wrap, out, |out| {
            operand(&both.0, priority, out);
            out.extend_from_slice(format!(" {} ", operator.symbol()).as_bytes());
            operand(&both.1, priority, out);
        }),
        Head::Predicate(inner) => {
            // These have no parentheses of their own, and a step would not apply to them.
            let bare = matches!(
                **inner,
                Predicate::Not(_) | Predicate::IsUnknown(_) | Predicate::Exists(_)
            );
            wrapped(bare && has_steps, out, |out| predicate(inner, wrap, out));
        }
    }
    value.steps.iter().for_each(|one| step(one, out));
}

fn predicate(value: &Predicate, wrap: bool, out: &mut Vec<u8>) {
    let priority = priority_of_predicate(value);
    let logic = |both: &(Predicate, Predicate), operator: &[u8], out: &mut Vec<u8>| {
        wrapped(wrap, out, |out| {
            predicate(&both.0, priority_of_predicate(&both.0) <= priority, out);
            out.extend_from_slice(operator);
            predicate(&both.1, priority_of_predicate(&both.1) <= priority, out);
        });
    };
    match value {
        Predicate::And(both) => logic(both, b" && ", out),
        Predicate::Or(both) => logic(both, b" || ", out),
        Predicate::Not(inner) => {
            out.push(b'!');
            wrapped(true, out, |out| predicate(inner, false, out));
        }
        Predicate::IsUnknown(inner) => {
            wrapped(true, out, |out| predicate(inner, false, out));
            out.extend_from_slice(b" is unknown");
        }
        Predicate::Compare(comparison, both) => wrapped(wrap, out, |out| {
            operand(&both.0, priority, out);
            out.extend_from_slice(format!(" {} ", comparison.symbol()).as_bytes());
            operand(&both.1, priority, out);
        }),
        Predicate::StartsWith(whole, prefix) => wrapped(wrap, out, |out| {
            operand(whole, priority, out);
            out.extend_from_slice(b" starts with ");
            match prefix {
                Prefix::String(text) => quote(text, out),
                Prefix::Variable(name) => variable(name, out),
            }
        }),
        Predicate::LikeRegex(whole, like) => wrapped(wrap, out, |out| {
            operand(whole, priority, out);
            out.extend_from_slice(b" like_regex ");
            quote(&like.pattern, out);
            let flags = like.flags();
            if !flags.is_empty() {
                out.extend_from_slice(format!(" flag \"{flags}\"").as_bytes());
            }
        }),
        Predicate::Exists(inner) => {
            out.extend_from_slice(b"exists ");
            wrapped(true, out, |out| expr(inner, false, out));
        }
    }
}

fn levels(first: u32, last: u32) -> String {
    let level = |level: u32| match level {
        LEVEL_MAX => "last".to_owned(),
        level => level.to_string(),
    };
    if first == 0 && last == LEVEL_MAX {
        ".**".to_owned()
    } else if first == last {
        format!(".**{{{}}}", level(first))
    } else {
        format!(".**{{{} to {}}}", level(first), level(last))
    }
}

fn step(value: &Step, out: &mut Vec<u8>) {
    match value {
        Step::Key(name) => {
            out.push(b'.');
            quote(name, out);
        }
        Step::AnyKey => out.extend_from_slice(b".*"),
        Step::AnyElement => out.extend_from_slice(b"[*]"),
        Step::Elements(subscripts) => {
            for (place, subscript) in subscripts.iter().enumerate() {
                out.push(if place == 0 { b'[' } else { b',' });
                expr(&subscript.from, false, out);
                if let Some(to) = &subscript.to {
                    out.extend_from_slice(b" to ");
                    expr(to, false, out);
                }
            }
            out.push(b']');
        }
        Step::Any { first, last } => out.extend_from_slice(levels(*first, *last).as_bytes()),
        Step::Filter(inner) => {
            out.push(b'?');
            wrapped(true, out, |out| predicate(inner, false, out));
        }
        Step::Method(method) => {
            out.extend_from_slice(format!(".{}()", method.name()).as_bytes());
        }
        Step::Datetime(template) => {
            out.extend_from_slice(b".datetime");
            wrapped(true, out, |out| {
                if let Some(template) = template {
                    quote(template, out);
                }
            });
        }
    }
}
