//! A query printed as PostgreSQL's ruleutils print it, and the stored form of a view's query.
//!
//! A view is stored as SQL text in which ids stand for names, so that no renaming changes it:
//!
//! ```text
//!   SELECT "1"."2" AS "b" FROM "#"."16390" AS "1 as"("x") WHERE ("1"."3" > 5)
//!           │   └─ column 2 of that item       │       └─ the alias that the user wrote, if any
//!           └─ item 1 of FROM                  └─ the relation with id 16390
//! ```
//!
//! - A relation is `"#"."id"`; a name of one part is an entry of WITH.
//! - Items of FROM have numbers that are unique in the whole text. Columns are those of tables by
//!   number, those of other items by place. `"1"` alone is the whole row of item 1.
//! - Behind `"1 as"` the first name is the alias, the others are names of columns.
//! - `USING` has two names for each column: `item.column=left.column=right.column`, then its name.
//!   The first part is the merged column of a full join, else `0.0`.
//! - `ORDER BY`, `GROUP BY` and `DISTINCT ON` have numbers where they mean items of the select
//!   list. Every item has its name. Implicit casts are written out.
//!
//! An expression of a table's definition is stored in the same way: its table's row is item 1.
//! In the condition of a trigger the old row is item 1 and the new one item 2.
//!
//! [`stored_text`] prints that form, [`shown_text`] the same with today's names.
//! [`stored_expr_text`] and [`shown_expr_text`] do so with an expression. What is not here:
//! how a query gets into that form (`plan`), and what names there are (`catalog`).

mod calls;
mod entry;
mod expr;
mod extensions;
mod items;
mod parens;
mod printer;
mod query;
mod range;
mod stored_form;
mod syntax;

pub use entry::{
    RowNames, is_call, shown_condition_text, shown_expr_text, shown_text, stored_expr_text,
    stored_text,
};
pub use printer::{Layout, Names};
pub use range::{relation_id, using_columns};
pub use stored_form::{
    DELETED_BY_COLUMN, ItemColumn, PLACE_COLUMN, RELATION_MARK, TABLE_OID_COLUMN, TABLE_ROW,
    UsingColumn, VERSION_COLUMN, field_mark, label, listed_columns, split_field, split_label,
};
