//! Whether a part of a pattern prefers the longest or the shortest match: its first quantifier
//! says.

use regex_syntax::ast::{Ast, RepetitionKind, RepetitionRange};

/// Whether a pattern asks for the shortest match; `None` if nothing in it has a preference.
pub(super) fn prefers_shortest(ast: &Ast) -> Option<bool> {
    match ast {
        Ast::Repetition(repetition) if is_fixed(&repetition.op.kind) => {
            prefers_shortest(&repetition.ast)
        }
        Ast::Repetition(repetition) => Some(!repetition.greedy),
        Ast::Group(group) => prefers_shortest(&group.ast),
        Ast::Concat(concat) => concat.asts.iter().find_map(prefers_shortest),
        Ast::Alternation(_) => Some(false),
        _ => None,
    }
}

/// `{m}`.
pub(super) fn is_fixed(kind: &RepetitionKind) -> bool {
    matches!(kind, RepetitionKind::Range(RepetitionRange::Exactly(_)))
}
