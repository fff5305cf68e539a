//! CREATE, DROP, ALTER and COMMENT ON COLLATION.
//!
//! A collation stands in the descriptor of its schema. What uses it has its id, so that a new name
//! changes nothing else. Its order never changes.

use std::collections::BTreeSet;

use braid_catalog::{Collations, ExtendedStatistics, Id, Object, OwnCollation, Schema, Table};
use braid_plan::collation_named;
use braid_sql::ast::{
    CollationSource, CreateCollation, DropBehavior, Expr, Ident, ObjectName, RenameKind, Value,
};
use braid_sql::{fold, offset_of};
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::names::lookup::parts;
use crate::statement::types::drop_type::{collation_dependents, drop_dependents, report};

pub(crate) fn create(cx: &mut DdlContext<'_>, create: &CreateCollation) -> Result<()> {
    let (schema, name) = cx.target(&create.name)?;
    if schema.collations.iter().any(|found| found.name == name) {
        let message = format!("collation \"{name}\" already exists");
        if create.if_not_exists {
            cx.notice(SqlState::DuplicateObject, format!("{message}, skipping"));
            return Ok(());
        }
        return Err(Error::new(SqlState::DuplicateObject, message));
    }
    let (locale, deterministic) = match &create.source {
        CollationSource::Options(options) => from_options(options)?,
        CollationSource::Existing(existing) => copied(cx, existing)?,
    };
    if let Some(locale) = &locale {
        braid_builtins::check_locale(locale)?;
    }
    let id = cx.draft()?.allocate_id(0);
    let owner = cx.user();
    let made = OwnCollation { id, name, owner, locale, deterministic, comment: None };
    let mut schema = Schema::clone(&schema);
    schema.collations.push(made);
    cx.draft()?.put(schema);
    Ok(())
}

/// Locale and determinism of an existing collation.
fn copied(cx: &DdlContext<'_>, name: &ObjectName) -> Result<(Option<String>, bool)> {
    let found = collation_named(&cx.catalog(), cx.path(), name)?;
    if found.is_default() {
        return Err(invalid("collation \"default\" cannot be copied"));
    }
    Ok(match &found.icu {
        Some(icu) => (Some(icu.locale.clone()), icu.is_deterministic),
        None => (None, true),
    })
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::InvalidObjectDefinition, message)
}

/// The options of a collation as they were written.
#[derive(Default)]
struct Written {
    provider: Option<String>,
    locale: Option<String>,
    collate: Option<String>,
    ctype: Option<String>,
    deterministic: Option<bool>,
}

fn from_options(options: &[(Ident, Option<Expr>)]) -> Result<(Option<String>, bool)> {
    let mut written = Written::default();
    for (name, value) in options {
        take_option(&mut written, name, value.as_ref())?;
    }
    let deterministic = written.deterministic.unwrap_or(true);
    if written.locale.is_some() && (written.collate.is_some() || written.ctype.is_some()) {
        return Err(
            redundant().detail("LOCALE cannot be specified together with LC_COLLATE or LC_CTYPE.")
        );
    }
    match written.provider.as_deref() {
        Some("icu") => {
            let Some(locale) = written.locale else {
                return Err(invalid("parameter \"locale\" must be specified"));
            };
            Ok((Some(locale), deterministic))
        }
        None | Some("libc") => {
            let collate = written.collate.or_else(|| written.locale.clone());
            let ctype = written.ctype.or(written.locale);
            for (name, value) in [("lc_collate", &collate), ("lc_ctype", &ctype)] {
                if value.is_none() {
                    return Err(invalid(format!("parameter \"{name}\" must be specified")));
                }
            }
            if !deterministic {
                let message = "nondeterministic collations not supported with this provider";
                return Err(Error::new(SqlState::FeatureNotSupported, message));
            }
            let is_c =
                |name: &String| matches!(name.as_str(), "C" | "POSIX" | "C.UTF-8" | "C.utf8");
            match [&collate, &ctype].into_iter().flatten().all(is_c) {
                true => Ok((None, true)),
                false => Err(Error::unsupported("a collation of the operating system")
                    .hint("Use a collation of ICU: provider = icu.")),
            }
        }
        Some(other) => Err(invalid(format!("unrecognized collation provider: {other}"))),
    }
}

fn redundant() -> Error {
    Error::new(SqlState::SyntaxError, "conflicting or redundant options")
}

fn take_option(written: &mut Written, option: &Ident, value: Option<&Expr>) -> Result<()> {
    let name = &fold(option);
    let at = offset_of(option.span);
    let text = value.map(option_text).transpose()?;
    let needed = || {
        let message = format!("{name} requires a parameter");
        Error::new(SqlState::SyntaxError, message)
    };
    let place = match name.as_str() {
        "provider" => &mut written.provider,
        "locale" => &mut written.locale,
        "lc_collate" => &mut written.collate,
        "lc_ctype" => &mut written.ctype,
        // A version is what another server has noted.
        "version" => return Ok(()),
        "deterministic" => {
            let value = match text.as_deref().map(str::to_lowercase).as_deref() {
                None | Some("true" | "on" | "1") => true,
                Some("false" | "off" | "0") => false,
                Some(_) => {
                    let message = format!("{name} requires a Boolean value");
                    return Err(Error::new(SqlState::SyntaxError, message));
                }
            };
            return match written.deterministic.replace(value) {
                None => Ok(()),
                Some(_) => Err(redundant().position(at)),
            };
        }
        _ => {
            let message = format!("collation attribute \"{name}\" not recognized");
            return Err(Error::new(SqlState::SyntaxError, message).position(at));
        }
    };
    match place.replace(text.ok_or_else(needed)?) {
        None => Ok(()),
        Some(_) => Err(redundant().position(at)),
    }
}

fn option_text(value: &Expr) -> Result<String> {
    match value {
        Expr::Identifier(ident) => Ok(fold(ident)),
        Expr::Value(value) => Ok(match &value.value {
            Value::SingleQuotedString(text) | Value::Number(text, _) => text.clone(),
            other => other.to_string(),
        }),
        other => Err(Error::unsupported(format!("the value {other} of a collation's option"))),
    }
}

/// A collation of users with its schema, which the statement changes. 42501 unless the user owns
/// it, `None` if there is none of that name.
fn own(cx: &DdlContext<'_>, name: &ObjectName) -> Result<Option<(Schema, OwnCollation)>> {
    let catalog = cx.catalog();
    let Some(found) = Collations::of(&catalog).resolve(cx.path(), &parts(name))? else {
        return Ok(None);
    };
    if !catalog.privileges().acts_as(cx.user(), found.owner) {
        let message = format!("must be owner of collation {}", found.name);
        return Err(Error::new(SqlState::InsufficientPrivilege, message));
    }
    let schema = Collations::of(&catalog).get(found.id).map(|(schema, _)| schema.clone());
    Ok(schema.map(|schema| (schema, found.clone())))
}

fn changed(
    cx: &mut DdlContext<'_>,
    name: &ObjectName,
    change: impl FnOnce(&mut OwnCollation),
) -> Result<()> {
    let Some((mut schema, found)) = own(cx, name)? else {
        // Either there is none, or it is built in.
        let built_in = collation_named(&cx.catalog(), cx.path(), name)?;
        let message = format!("must be owner of collation {}", built_in.name);
        return Err(Error::new(SqlState::InsufficientPrivilege, message));
    };
    if let Some(one) = schema.collations.iter_mut().find(|one| one.id == found.id) {
        change(one);
    }
    cx.draft()?.put(schema);
    Ok(())
}

pub(crate) fn rename(cx: &mut DdlContext<'_>, name: &ObjectName, kind: &RenameKind) -> Result<()> {
    match kind {
        RenameKind::To(new) => {
            let new = fold(new);
            if let Some((schema, _)) = own(cx, name)?
                && schema.collations.iter().any(|found| found.name == new)
            {
                return Err(duplicate(&new, &schema.name));
            }
            changed(cx, name, |found| found.name = new)
        }
        RenameKind::OwnerTo(role) => {
            let owner = cx.role(role)?;
            changed(cx, name, |found| found.owner = owner)
        }
        RenameKind::SetSchema(to) => move_to(cx, name, &fold(to)),
        _ => Err(Error::unsupported("this form of ALTER COLLATION")),
    }
}

fn duplicate(name: &str, schema: &str) -> Error {
    let message =
        format!("collation \"{name}\" for encoding \"UTF8\" already exists in schema \"{schema}\"");
    Error::new(SqlState::DuplicateObject, message)
}

fn move_to(cx: &mut DdlContext<'_>, name: &ObjectName, to: &str) -> Result<()> {
    let mut target = Schema::clone(&*cx.schema(to)?);
    cx.catalog().privileges().check(cx.user(), Object::Schema(&target), "CREATE")?;
    let Some((mut from, found)) = own(cx, name)? else {
        return changed(cx, name, |_| {});
    };
    if from.id == target.id {
        return Ok(());
    }
    if target.collations.iter().any(|other| other.name == found.name) {
        return Err(duplicate(&found.name, to));
    }
    from.collations.retain(|other| other.id != found.id);
    target.collations.push(found);
    cx.draft()?.put(from);
    cx.draft()?.put(target);
    Ok(())
}

pub(crate) fn comment(
    cx: &mut DdlContext<'_>,
    name: &ObjectName,
    text: Option<String>,
) -> Result<()> {
    changed(cx, name, |found| found.comment = text)
}

/// Drops a collation of users. False if there is none of that name.
pub(crate) async fn drop_collation(
    cx: &mut DdlContext<'_>,
    name: &ObjectName,
    behavior: DropBehavior,
) -> Result<bool> {
    let Some((mut schema, found)) = own(cx, name)? else { return Ok(false) };
    let what = format!("collation {}", found.name);
    if behavior == DropBehavior::Cascade {
        let used = collation_dependents(cx, &found, &BTreeSet::new());
        let texts = used.cascades();
        drop_dependents(cx, used).await?;
        report(cx, &texts);
    }
    refuse_used(cx, &found, (&what, "it"), &[])?;
    schema.collations.retain(|other| other.id != found.id);
    cx.draft()?.put(schema);
    Ok(true)
}

/// 2BP01 for a collation that something uses, unless that goes as well. `what` is to be dropped,
/// and is named again by a pronoun.
pub(crate) fn refuse_used(
    cx: &DdlContext<'_>,
    found: &OwnCollation,
    (what, pronoun): (&str, &str),
    doomed: &[Id],
) -> Result<()> {
    let users = users(cx, found, doomed)?;
    if users.is_empty() {
        return Ok(());
    }
    let on = format!("collation {}", found.name);
    let lines: Vec<String> = users.iter().map(|user| format!("{user} depends on {on}")).collect();
    let message = format!("cannot drop {what} because other objects depend on {pronoun}");
    Err(Error::new(SqlState::DependentObjectsStillExist, message)
        .detail(lines.join("\n"))
        .hint("CASCADE drops columns and views. Drop the other objects before."))
}

/// What uses a collation. Every descriptor names it in its stored form.
fn users(cx: &DdlContext<'_>, found: &OwnCollation, doomed: &[Id]) -> Result<Vec<String>> {
    let stays = |id: Id| !doomed.contains(&id);
    let catalog = cx.catalog();
    let stored = found.stored();
    let names = |text: String| {
        text.contains(&format!("{stored}\"")) || text.contains(&format!("{stored}\\"))
    };
    let mut users = Vec::new();
    for table in catalog.tables().iter() {
        if stays(table.id) && names(text_of(&**table)?) {
            users.extend(table_users(table, &stored));
        }
    }
    for view in catalog.views().iter() {
        if stays(view.id) && names(text_of(&**view)?) {
            users.push(format!("view {}", view.name));
        }
    }
    for domain in catalog.domains().iter() {
        if stays(domain.id) && names(text_of(&**domain)?) {
            users.push(format!("type {}", domain.name));
        }
    }
    for composite in catalog.names().composites().iter() {
        if stays(composite.id) && names(text_of(&**composite)?) {
            users.push(format!("composite type {}", composite.name));
        }
    }
    for routine in catalog.names().routines().iter() {
        if stays(routine.id) && names(text_of(&**routine)?) {
            users.push(format!("function {}", routine.name));
        }
    }
    Ok(users)
}

fn text_of<T: serde::Serialize>(descriptor: &T) -> Result<String> {
    serde_json::to_string(descriptor).map_err(|error| Error::internal(error.to_string()))
}

/// The columns and statistics objects of a table with a collation, or the table if only other
/// expressions name it.
fn table_users(table: &Table, stored: &str) -> Vec<String> {
    let columns = table.visible_columns();
    let own = columns.filter(|column| column.collation.as_deref() == Some(stored));
    let own = own.map(|column| format!("column {} of table {}", column.name, table.name));
    let mark = format!("{stored}\"");
    let names =
        |object: &&ExtendedStatistics| object.exprs.iter().any(|expr| expr.sql().contains(&mark));
    let statistics = table.statistics.iter().filter(names);
    let statistics = statistics.map(|object| format!("statistics object {}", object.name));
    let lines: Vec<String> = own.chain(statistics).collect();
    if lines.is_empty() { vec![format!("table {}", table.name)] } else { lines }
}
