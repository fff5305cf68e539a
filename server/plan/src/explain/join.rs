//! Joins in words.

use crate::tree::node::{Join, JoinKind, JoinMethod, Node};

use super::deparse::{Name, Rows, name_of, show_condition, show_expr};
use super::describe::{Described, Describer, describe_input, gives_right, plain_operator};

/// Describes a join.
pub(crate) fn describe_join<'a>(
    describer: &mut Describer<'a>,
    node: &'a Node,
    join: &'a Join,
    outer: &[Name],
) -> Described {
    let mut operator = plain_operator(describer, node, title(join));
    let left = describe_input(describer, &mut operator, &join.left, outer);
    let right = if join.lateral {
        let rows = Rows { input: &left, outer };
        let handed: Vec<Name> = join.outer.iter().map(|e| name_of(describer, e, rows)).collect();
        describe_input(describer, &mut operator, &join.right, &handed)
    } else {
        describe_input(describer, &mut operator, &join.right, outer)
    };
    if let (JoinMethod::Lookup, Some(right)) = (&join.method, operator.inputs.last_mut()) {
        right.inlined = true;
    }
    if matches!(join.method, JoinMethod::Interleaved) {
        operator.inputs.iter_mut().for_each(|input| input.inlined = true);
        // What is read is said at the top.
        if let Some(right) = operator.inputs.last_mut() {
            right.lines.retain(|(name, _)| *name != "Spans");
        }
    }
    if let JoinMethod::Hash { left: left_keys, right: right_keys, builds_left } = &join.method {
        let mut pairs = Vec::with_capacity(left_keys.len());
        for (a, b) in left_keys.iter().zip(right_keys) {
            let a = show_expr(describer, a, Rows { input: &left, outer });
            let b = show_expr(describer, b, Rows { input: &right, outer });
            pairs.push(format!("({a} = {b})"));
        }
        let condition = match &pairs[..] {
            [one] => one.clone(),
            all => format!("({})", all.join(" AND ")),
        };
        operator.line("Hash Cond", condition);
        if *builds_left {
            operator.line("Build Side", "left".to_owned());
        }
        let workers = join.parallel_build.as_ref().map_or(1, describer.cx.workers);
        if workers > 1 {
            operator.line("Build Workers Planned", workers.to_string());
        }
    }
    let mut both = left;
    let width = both.len();
    both.extend(right);
    if !join.on.is_empty() {
        let condition = show_condition(describer, &join.on, Rows { input: &both, outer });
        operator.line("Join Filter", condition);
    }
    if !gives_right(join.kind) {
        both.truncate(width);
    }
    (operator, both)
}

fn title(join: &Join) -> String {
    let kind = match join.kind {
        JoinKind::Inner => "",
        JoinKind::Left => " Left",
        JoinKind::Right => " Right",
        JoinKind::Full => " Full",
        JoinKind::Semi => " Semi",
        JoinKind::Anti => " Anti",
    };
    match (&join.method, join.kind) {
        (JoinMethod::Loop, JoinKind::Inner) => "Nested Loop".to_owned(),
        (JoinMethod::Loop, _) => format!("Nested Loop{kind} Join"),
        (JoinMethod::Hash { .. }, _) => format!("Hash{kind} Join"),
        (JoinMethod::Lookup, _) => format!("Lookup{kind} Join"),
        (JoinMethod::Interleaved, _) => format!("Interleaved{kind} Join"),
    }
}
