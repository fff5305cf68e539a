//! Statements that differ only in their literals share a parse and a plan.
//!
//! INSERTs of plain values share theirs also with those of another number of rows.
//!
//! ```text
//!   INSERT INTO t (a, b) VALUES (1, 'x'), (2, 'y') RETURNING NOTHING
//!   └────── head ───────────┘└─ rows of values ─┘ └──── tail ─────┘
//!   skeleton: head ($1, $2) tail              parameters: 1, 'x', 2, 'y'
//! ```
//!
//! [`Skeleton::of`] finds that form by looking at characters, without parsing. The skeleton is
//! parsed, planned and cached as any text; its one row is then made for each row there is
//! (`Values::repeats`). [`Literals::of`] does the like for simple forms of SELECT, UPDATE and
//! DELETE, whose parameters have the types of the literals.
//!
//! Rules: a value means what it would mean as a literal. Whatever is unusual (an expression, a
//! comment, a string with an escape), whatever cannot be read as the type it needs, and whatever
//! is planned better with its literals goes the ordinary way, which also finds the error and its
//! place.

use std::borrow::Cow;
use std::sync::Arc;

use braid_plan::Expr;
use braid_plan::eval::{EvalContext, eval};
use braid_types::{Datum, FormatSettings, Numeric, SqlType, text};

use crate::clock::now_micros;
use crate::session::Session;
use crate::statement::context::statement_environment;
use crate::statement::kinds::is_planned;
use crate::statement::plans::cache::CachedPlan;
use crate::statement::plans::planning::{catalog_ahead, plan_now, plan_statement};
use crate::statement::prepared::{Prepared, hint_types};
use crate::statement::skeleton::given::Given;
use crate::statement::skeleton::literals::Literals;
use crate::statement::skeleton::reader::{Reader, Value};
use crate::transaction::open::ensure_open;

/// More parameters than this are left to the ordinary way, which refuses them.
const PARAMETERS_MAX: usize = 65_535;
/// Bytes of a longer text, run once, that other sessions see.
const SHOWN_BYTES_MAX: usize = 64 << 10;

/// What the rows are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Literals,
    /// `$1`, `$2` and so on, each once and in order.
    Parameters,
}

/// An INSERT of plain values, taken apart.
struct Skeleton<'t> {
    text: &'t str,
    head: &'t str,
    tail: &'t str,
    kind: Kind,
    /// How many values a row has.
    width: usize,
    rows: usize,
}

impl<'t> Skeleton<'t> {
    /// The parts of a text, if it is of that form.
    fn of(text: &'t str) -> Option<Skeleton<'t>> {
        let mut reader = Reader { text, at: 0 };
        if !reader.word("insert") && !reader.word("upsert") {
            return None;
        }
        if !reader.word("into") {
            return None;
        }
        let head = reader.head()?;
        let (mut literals, mut parameters) = (0, 0);
        let mut count = |value: Value<'_>| {
            match value {
                Value::Parameter(n) => {
                    parameters += 1;
                    (n == parameters && n <= PARAMETERS_MAX).then_some(())?;
                }
                _ => literals += 1,
            }
            Some(())
        };
        let width = reader.row(&mut count)?;
        let mut rows = 1;
        while reader.symbol(b',') {
            if reader.row(&mut count)? != width {
                return None;
            }
            rows += 1;
        }
        let kind = match (literals, parameters) {
            (_, 0) => Kind::Literals,
            (0, _) => Kind::Parameters,
            _ => return None,
        };
        let tail = reader.tail(&["returning", "on"])?;
        Some(Skeleton { text, head, tail, kind, width, rows })
    }

    /// The text of one row with parameters.
    fn row_text(&self) -> String {
        let mut text = String::with_capacity(self.head.len() + self.tail.len() + 5 * self.width);
        text.push_str(self.head);
        for place in 1..=self.width {
            text.push_str(if place == 1 { " ($" } else { ", $" });
            text.push_str(&place.to_string());
        }
        text.push_str(") ");
        text.push_str(self.tail);
        text
    }

    /// The values as these types; `None` if one cannot be read.
    fn values(
        &self,
        types: &[SqlType],
        settings: &FormatSettings,
        now_micros: i64,
    ) -> Option<Vec<Datum>> {
        let mut values = Vec::with_capacity(self.rows * self.width);
        let mut reader = Reader { text: self.text, at: self.head.len() };
        for _ in 0..self.rows {
            let mut types = types.iter();
            reader.row(&mut |value| {
                values.push(datum(value, types.next()?, settings, now_micros)?);
                Some(())
            })?;
            reader.symbol(b',');
        }
        Some(values)
    }
}

/// Prepares a statement by its skeleton. `None` if that cannot be, for whatever reason: the
/// ordinary way finds it out.
pub(crate) async fn prepare_shared(
    session: &mut Session,
    name: &str,
    sql: &str,
    oids: &[u32],
) -> Option<Prepared> {
    let Some(skeleton) = Skeleton::of(sql) else {
        let literals = Literals::of(sql).filter(|_| oids.is_empty())?;
        let (mut prepared, plan) = prepare_literals(session, name, &literals).await?;
        prepared.text = Some(sql.into());
        let has_rows = !plan.columns.is_empty();
        prepared.columns = has_rows.then(|| plan.columns.clone());
        return Some(prepared);
    };
    let first = &oids[..oids.len().min(skeleton.width)];
    let of_each_row = match skeleton.kind {
        Kind::Literals => oids.is_empty(),
        Kind::Parameters => {
            let repeats = oids.iter().enumerate().all(|(i, oid)| *oid == first[i % first.len()]);
            let whole = oids.is_empty() || oids.len() == skeleton.rows * skeleton.width;
            skeleton.rows > 1 && whole && repeats
        }
    };
    if !of_each_row {
        return None;
    }
    let hints = hint_types(first).ok()?;
    let (mut prepared, plan) = prepare_skeleton(session, name, &skeleton, hints).await?;
    prepared.text = Some(sql.into());
    if skeleton.kind == Kind::Parameters {
        let types = plan.plan.params.iter().cloned().cycle();
        prepared.params = types.take(skeleton.rows * skeleton.width).collect();
    }
    prepared.columns = (!plan.columns.is_empty()).then(|| plan.columns.clone());
    Some(prepared)
}

/// A statement with literals that is a whole query, by its skeleton. `None` if it is something
/// else, or has something wrong with it.
pub(crate) async fn shared_query(session: &mut Session, sql: &str) -> Option<Prepared> {
    let (mut prepared, _) = match Skeleton::of(sql) {
        Some(skeleton) if skeleton.kind == Kind::Literals => {
            prepare_skeleton(session, "", &skeleton, Vec::new()).await?
        }
        Some(_) => return None,
        None => prepare_literals(session, "", &Literals::of(sql)?).await?,
    };
    let shown = shown(sql);
    prepared.text = Some(shown.into());
    if let Some(given) = &mut prepared.given {
        given.has_whole_text = shown.len() == sql.len();
    }
    Some(prepared)
}

async fn prepare_literals(
    session: &mut Session,
    name: &str,
    literals: &Literals<'_>,
) -> Option<(Prepared, Arc<CachedPlan>)> {
    if !session.active().share_plans {
        return None;
    }
    session.block.check().ok()?;
    let parsed = session.engine.plans.parse(&literals.text).ok()?;
    let mut prepared = Prepared::new(name, parsed, Some(0), literals.types());
    if !prepared.statement().is_some_and(is_planned) {
        return None;
    }
    let seq = ensure_open(session).txn.next_statement();
    let catalog = catalog_ahead(session, seq).await.ok()?;
    let env = statement_environment(session, &catalog);
    let plan = plan_statement(session, &prepared, &catalog, &env).ok()?;
    let types = plan.plan.params.clone();
    let casts = plan.casts_of_literals()?;
    let format = &env.active.format;
    let values: Option<Vec<Datum>> = literals
        .values
        .iter()
        .zip(&types)
        .map(|(value, ty)| datum(*value, ty, format, env.transaction_micros))
        .collect();
    let values = values.filter(|values| values.len() == types.len())?;
    let cx = EvalContext { env: &env, params: &values, outer: &[] };
    if !casts.iter().all(|cast| eval(cast, &[], &cx).is_ok()) {
        return None;
    }
    let (only, values) = (Some(plan.clone()), Some(Arc::new(values)));
    prepared.given = Some(Given { types, values, plan: only, has_whole_text: true });
    Some((prepared, plan))
}

async fn prepare_skeleton(
    session: &mut Session,
    name: &str,
    skeleton: &Skeleton<'_>,
    hints: Vec<SqlType>,
) -> Option<(Prepared, Arc<CachedPlan>)> {
    if !session.active().share_plans {
        return None;
    }
    session.block.check().ok()?;
    let parsed = session.engine.plans.parse(&skeleton.row_text()).ok()?;
    let mut prepared = Prepared::new(name, parsed, Some(0), hints);
    let plan = plan_now(session, &prepared).await.ok()?;
    let types = plan.plan.params.clone();
    let row = plan.plan.repeated_row().filter(|row| row.len() == skeleton.width)?;
    if types.len() != skeleton.width {
        return None;
    }
    let micros = session.open.as_ref().map_or_else(now_micros, |open| open.micros);
    let values = match skeleton.kind {
        Kind::Parameters => None,
        Kind::Literals => {
            // The columns' own types: what does not fit into them fails before it runs.
            let types: Vec<SqlType> = row.iter().map(Expr::ty).collect();
            let values = skeleton.values(&types, &session.derived().active.format, micros)?;
            Some(Arc::new(values))
        }
    };
    prepared.given = Some(Given { types, values, plan: None, has_whole_text: true });
    *prepared.plan.lock() = Some(plan.clone());
    Some((prepared, plan))
}

/// A literal as its column's type, if an INSERT would make the same of it.
fn datum(
    value: Value<'_>,
    ty: &SqlType,
    settings: &FormatSettings,
    now_micros: i64,
) -> Option<Datum> {
    let parse = |text: &str| text::parse(ty, text, settings, now_micros).ok();
    let is_text = matches!(ty, SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_));
    match (value, ty) {
        (Value::Null, _) => Some(Datum::Null),
        (Value::Bool(value), SqlType::Bool) => Some(Datum::Bool(value)),
        (Value::Integer(n), SqlType::Int8) => Some(Datum::Int(n)),
        (Value::Integer(n), SqlType::Int4) => i32::try_from(n).ok().map(|n| Datum::Int(n.into())),
        (Value::Integer(n), SqlType::Int2) => i16::try_from(n).ok().map(|n| Datum::Int(n.into())),
        (Value::Integer(n), ty) if ty.is_numeric() || is_text => parse(&n.to_string()),
        (Value::Numeric(digits), SqlType::Numeric(_)) => parse(digits),
        // The number's own form: without leading zeros, and zero has no sign.
        (Value::Numeric(digits), ty) if ty.is_float() || is_text => {
            parse(&Numeric::parse(digits).ok()?.to_string())
        }
        (Value::Text(string, has_quotes), ty) if may_be_text_of(ty) => {
            let string = match has_quotes {
                true => Cow::Owned(string.replace("''", "'")),
                false => Cow::Borrowed(string),
            };
            parse(&string)
        }
        _ => None,
    }
}

/// Whether a string is read without the catalog.
fn may_be_text_of(ty: &SqlType) -> bool {
    match ty {
        SqlType::Array(element) => may_be_text_of(element),
        ty => !ty.is_reg(),
    }
}

/// A text that is run once, as others see it.
fn shown(text: &str) -> &str {
    let mut end = text.len().min(SHOWN_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(text: &str) -> Option<(String, usize)> {
        Skeleton::of(text).map(|skeleton| (skeleton.row_text(), skeleton.rows))
    }

    #[test]
    fn statements_of_plain_values_share_a_skeleton() {
        let one = text_of("INSERT INTO t (a, b) VALUES (1, 'x')").unwrap();
        let many = "INSERT INTO t (a, b) VALUES (-2, 'it''s'), (NULL, 'y') ,(3,NULL) ; ";
        assert_eq!(text_of(many), Some((one.0.clone(), 3)));
        assert_eq!(one, ("INSERT INTO t (a, b) VALUES ($1, $2) ".to_owned(), 1));
        let tail = "upsert into \"T\" values (1.5, true)\n returning nothing;";
        let tail = text_of(tail).unwrap();
        assert_eq!(tail.0, "upsert into \"T\" values ($1, $2) returning nothing");
    }

    #[test]
    fn what_is_unusual_goes_the_ordinary_way() {
        for text in [
            "SELECT 1",
            "INSERT INTO t VALUES (1 + 1)",
            "INSERT INTO t VALUES (now())",
            "INSERT INTO t VALUES (1), (1, 2)",
            "INSERT INTO t VALUES (E'x')",
            "INSERT INTO t VALUES ('a\\b')",
            "INSERT INTO t VALUES ('a' 'b')",
            "INSERT INTO t VALUES ('a'\n'b')",
            "INSERT INTO t VALUES ('a'::text)",
            "INSERT INTO t VALUES (date '2024-01-01')",
            "INSERT INTO t VALUES ($$a$$)",
            "INSERT INTO t VALUES (DEFAULT)",
            "INSERT INTO t VALUES (1e5)",
            "INSERT INTO t VALUES (.5)",
            "INSERT INTO t VALUES (0x1f)",
            "INSERT INTO t VALUES (--1)",
            "INSERT INTO t VALUES (1) -- a comment",
            "INSERT INTO t VALUES (1); SELECT 1",
            "INSERT INTO t /* a */ VALUES (1)",
            "INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET b = 5 - $1",
            "INSERT INTO t VALUES (1) UNION ALL VALUES (2)",
            "INSERT INTO t SELECT 1",
            "INSERT INTO t (SELECT * FROM (VALUES (1)) v)",
            "INSERT INTO t VALUES ()",
            "INSERT INTO t VALUES (1",
            "INSERT INTO t VALUES ('x",
            "INSERT INTO t VALUES (-9223372036854775808)",
            "INSERT INTO t VALUES ($2, $1)",
            "INSERT INTO t VALUES ($1, $1)",
            "INSERT INTO t VALUES ($1, 2)",
            "INSERT INTO t VALUES ($0)",
        ] {
            assert!(text_of(text).is_none(), "{text}");
        }
    }

    #[test]
    fn values_are_read_as_their_columns_types() {
        let read = |text: &str, types: &[SqlType]| {
            Skeleton::of(text).unwrap().values(types, &FormatSettings::default(), 0)
        };
        let types = [SqlType::Int4, SqlType::Text, SqlType::Bool, SqlType::Float8];
        let values =
            read("INSERT INTO t VALUES (1, 'it''s', true, 2), (-7, 07.50, 'no', 1.5)", &types);
        let wanted = [
            [Datum::Int(1), Datum::text("it's"), Datum::Bool(true), Datum::Float(2.0)],
            [Datum::Int(-7), Datum::text("7.50"), Datum::Bool(false), Datum::Float(1.5)],
        ];
        assert_eq!(values.unwrap(), wanted.concat());
        for (value, ty) in [
            ("2147483648", SqlType::Int4),
            ("1.5", SqlType::Int4),
            ("true", SqlType::Text),
            ("1", SqlType::Date),
            ("1", SqlType::Oid),
            ("'x'", SqlType::Int4),
            ("'t'", SqlType::Regclass),
        ] {
            let text = format!("INSERT INTO t VALUES ({value})");
            assert!(read(&text, std::slice::from_ref(&ty)).is_none(), "{value}");
        }
    }
}
