//! The objects of a statement.

use std::sync::Arc;

use braid_catalog::{
    ColumnId, Composite, Database, Domain, Enum, Grant, Object, Relation, Routine, Schema,
    Sequence, Table, View,
};
use braid_sql::ast::{GrantObjects, ObjectName};
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::names::lookup::{content, last, parts, undefined, wrong_kind};
use crate::names::user_types::{UserType, find_domain, find_user_type};
use crate::statement::routine::find_to_grant;

/// An object whose grants change.
pub(crate) enum Target {
    Relation(Relation),
    Schema(Schema),
    Database(Database),
    Enum(Enum),
    Domain(Domain),
    Routine(Routine),
}

impl Target {
    pub(crate) fn object(&self) -> Object<'_> {
        match self {
            Target::Relation(relation) => Object::from(relation),
            Target::Schema(schema) => Object::Schema(schema),
            Target::Database(database) => Object::Database(database),
            Target::Enum(found) => Object::Enum(found),
            Target::Domain(found) => Object::Domain(found),
            Target::Routine(found) => Object::Routine(found),
        }
    }

    /// Puts the object with its changed grants into the draft. The other columns keep theirs.
    pub(super) fn put(
        &self,
        cx: &mut DdlContext<'_>,
        grants: Vec<Grant>,
        of_columns: &[(ColumnId, Vec<Grant>)],
    ) -> Result<()> {
        let draft = cx.draft()?;
        match self {
            Target::Relation(Relation::Table(table)) => {
                let mut table = Table { grants, ..Table::clone(table) };
                for (column, grants) in of_columns {
                    let mut columns = table.columns.iter_mut();
                    if let Some(changed) = columns.find(|known| known.id == *column) {
                        changed.grants.clone_from(grants);
                    }
                }
                draft.put(table);
            }
            Target::Relation(Relation::View(view)) => {
                let mut view = View { grants, ..View::clone(view) };
                let is_changed = |column| of_columns.iter().any(|(changed, _)| *changed == column);
                view.column_grants.retain(|(column, _)| !is_changed(*column));
                view.column_grants.extend(of_columns.iter().cloned());
                view.column_grants.retain(|(_, grants)| !grants.is_empty());
                view.column_grants.sort_by_key(|(column, _)| *column);
                draft.put(view);
            }
            Target::Relation(Relation::Sequence(sequence)) => {
                draft.put(Sequence { grants, ..Sequence::clone(sequence) });
            }
            Target::Relation(Relation::Composite(found)) => {
                draft.put(Composite { grants, ..Composite::clone(found) });
            }
            Target::Relation(Relation::Virtual(_) | Relation::Index(..)) => {}
            Target::Schema(schema) => draft.put(Schema { grants, ..schema.clone() }),
            Target::Database(database) => draft.put(Database { grants, ..database.clone() }),
            Target::Enum(found) => draft.put(Enum { grants, ..found.clone() }),
            Target::Domain(found) => draft.put(Domain { grants, ..found.clone() }),
            Target::Routine(found) => draft.put(Routine { grants, ..found.clone() }),
        }
        Ok(())
    }
}

fn relations(cx: &DdlContext<'_>, names: &[ObjectName], sequences: bool) -> Result<Vec<Target>> {
    let mut found = Vec::with_capacity(names.len());
    for name in names {
        match cx.find(name)? {
            Some(relation @ Relation::Sequence(_)) => found.push(Target::Relation(relation)),
            Some(other) if sequences => return Err(wrong_kind(other.name(), "sequence")),
            Some(found @ Relation::Composite(_)) => {
                let message = format!("\"{}\" is a composite type", found.name());
                return Err(Error::new(SqlState::WrongObjectType, message));
            }
            Some(index @ Relation::Index(..)) => {
                let message = format!("\"{}\" is an index", index.name());
                return Err(Error::new(SqlState::WrongObjectType, message));
            }
            Some(relation) => found.push(Target::Relation(relation)),
            None => return Err(undefined("relation", &parts(name))),
        }
    }
    Ok(found)
}

/// A schema whose objects are meant: 42501 for a user who may not look for names in it.
fn searched_schema(cx: &DdlContext<'_>, name: &ObjectName) -> Result<Arc<Schema>> {
    let name = last(name);
    let schema = cx.schema(&name)?;
    cx.catalog().names().check_usage(cx.path(), &name)?;
    Ok(schema)
}

fn in_schemas(cx: &DdlContext<'_>, names: &[ObjectName], sequences: bool) -> Result<Vec<Target>> {
    let mut found = Vec::new();
    for name in names {
        let schema = searched_schema(cx, name)?;
        let (tables, views, all_sequences) = content(&cx.catalog(), schema.id);
        if sequences {
            found
                .extend(all_sequences.into_iter().map(|s| Target::Relation(Relation::Sequence(s))));
        } else {
            found.extend(tables.into_iter().map(|t| Target::Relation(Relation::Table(t))));
            found.extend(views.into_iter().map(|v| Target::Relation(Relation::View(v))));
        }
    }
    Ok(found)
}

pub(super) fn targets(cx: &DdlContext<'_>, objects: &GrantObjects) -> Result<Vec<Target>> {
    match objects {
        GrantObjects::Tables(names) => relations(cx, names, false),
        GrantObjects::Sequences(names) => relations(cx, names, true),
        GrantObjects::AllTablesInSchema(names) => in_schemas(cx, names, false),
        GrantObjects::AllSequencesInSchema(names) => in_schemas(cx, names, true),
        GrantObjects::Schemas(names) => names
            .iter()
            .map(|name| Ok(Target::Schema(Schema::clone(&*cx.schema(&last(name))?))))
            .collect(),
        GrantObjects::Databases(names) => names
            .iter()
            .map(|name| {
                let name = last(name);
                let found = cx.catalog().names().database(&name).cloned();
                let found = found.ok_or_else(|| {
                    let message = format!("database \"{name}\" does not exist");
                    Error::new(SqlState::InvalidCatalogName, message)
                })?;
                Ok(Target::Database(Database::clone(&found)))
            })
            .collect(),
        GrantObjects::Types(names) => names
            .iter()
            .map(|name| match find_user_type(cx, name)? {
                (UserType::Enum(found), false) => Ok(Target::Enum(Enum::clone(&found))),
                (UserType::Composite(found), _) => Ok(Target::Relation(Relation::Composite(found))),
                (UserType::Domain(found), _) => Ok(Target::Domain(Domain::clone(&found))),
                _ => {
                    let message = "cannot set privileges of array types";
                    Err(Error::new(SqlState::InvalidGrantOperation, message)
                        .hint("Set the privileges of the element type instead."))
                }
            })
            .collect(),
        GrantObjects::Domains(names) => names
            .iter()
            .map(|name| Ok(Target::Domain(Domain::clone(&*find_domain(cx, name)?))))
            .collect(),
        GrantObjects::Functions(names) => {
            let found = names.iter().map(|name| find_to_grant(cx, name));
            let found = found.collect::<Result<Vec<_>>>()?.into_iter().flatten();
            Ok(found.map(|found| Target::Routine(Routine::clone(&found))).collect())
        }
        // They are not in the catalog.
        GrantObjects::LargeObjects(_) | GrantObjects::Languages(_) => Ok(Vec::new()),
        GrantObjects::AllFunctionsInSchema(names) => {
            let mut found = Vec::new();
            for name in names {
                let (schema, catalog) = (searched_schema(cx, name)?, cx.catalog());
                let routines = catalog.names().routines().in_schema(schema.id);
                found.extend(routines.map(|found| Target::Routine(Routine::clone(found))));
            }
            Ok(found)
        }
    }
}
