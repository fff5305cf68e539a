//! From a statement to the file that carries it out, in the transaction of its context.

use std::sync::Arc;

use braid_catalog::SearchPath;
use braid_sql::ast::{
    AlterIndexAction, AlterTypeAction, Comment, CommentTarget, CreateSchema, GrantObjects,
    Statement, TypeDefinition,
};
use braid_types::{Error, Result};

use crate::context::DdlContext;
use crate::names::in_use::refuse_in_use;
use crate::names::temporary::is_of_temporary;
use crate::online::move_index;
use crate::partitions::attach::attach_index;
use crate::roles::{default_privileges, grant, membership, owned, role};
use crate::rows::delete::delete_scattered;
use crate::statement::drop;
use crate::statement::extension;
use crate::statement::index::{create_index, reindex};
use crate::statement::object::{
    collation, comment, create_schema, database, large_object, materialized, rename, sequence,
    statistics, view,
};
use crate::statement::policy;
use crate::statement::routine;
use crate::statement::table::{alter_table, analyze, create_table, truncate};
use crate::statement::trigger;
use crate::statement::types::{alter_domain, composites, domains, enums};
use crate::table::descriptor::not_in_block;
use crate::table::moving::refuse_while_moving;

/// Carries out a statement in the transaction of its context, which somebody else commits.
pub(crate) async fn run_in_transaction(
    statement: &Statement,
    cx: &mut DdlContext<'_>,
) -> Result<String> {
    if let Statement::Analyze(tables) = statement {
        return analyze::run(cx, tables).await.map(|()| "ANALYZE".to_owned());
    }
    if let Statement::SetSizes(sizes) = statement {
        return analyze::set_sizes(cx, sizes).await;
    }
    if let Statement::Vacuum { analyze, tables } = statement {
        if !cx.implicit {
            return Err(not_in_block("VACUUM"));
        }
        if *analyze {
            analyze::run(cx, tables).await?;
        } else {
            analyze::named(cx, tables)?;
        }
        return Ok("VACUUM".to_owned());
    }
    if let Statement::Reindex(statement) = statement {
        reindex::run(cx, statement)?;
        return Ok("REINDEX".to_owned());
    }
    if is_of_temporary(cx, statement) {
        cx.open_temporary();
    } else {
        cx.open().await?;
    }
    let before = cx.draft.clone();
    let mut result = dispatch(statement, cx).await;
    if result.is_ok()
        && let (Some(before), Some(after)) = (&before, &*cx.draft)
        && let Err(error) = refuse_while_moving(before.catalog(), after.catalog())
            .and_then(|()| refuse_in_use(cx, statement, before.catalog(), after.catalog()))
    {
        result = Err(error);
    }
    if result.is_ok()
        && let Err(error) = delete_scattered(cx).await
    {
        result = Err(error);
    }
    if result.is_err() {
        *cx.draft = before;
    }
    result
}

/// CREATE SCHEMA with the objects that it creates inside.
async fn schema_with_elements(cx: &mut DdlContext<'_>, create: &CreateSchema) -> Result<()> {
    let name = create_schema::create(cx, create)?;
    let elements = create_schema::in_order(cx, create, &name)?;
    if elements.is_empty() {
        return Ok(());
    }
    // Unqualified names mean the new schema first.
    let old = cx.path();
    let schemas = std::iter::once(name).chain(old.schemas.iter().cloned()).collect();
    let path = Arc::new(SearchPath { schemas, ..old.clone() });
    let mut exec = cx.exec.renumbered(cx.seq(), cx.exec.cancel.clone());
    exec.path = path;
    let (mut draft, mut notices) = (cx.draft.take(), Vec::new());
    let mut inner = cx.in_own(&exec, &mut draft, &mut notices);
    let mut result = Ok(());
    for element in elements {
        result = Box::pin(dispatch(element, &mut inner)).await.map(drop);
        if result.is_err() {
            break;
        }
    }
    let scattered = std::mem::take(&mut inner.scattered);
    cx.scattered.extend(scattered);
    *cx.draft = draft;
    cx.notices.append(&mut notices);
    result
}

async fn dispatch(statement: &Statement, cx: &mut DdlContext<'_>) -> Result<String> {
    let tag = match statement {
        Statement::CreateTable(create) => return create_table::run(cx, create).await,
        Statement::AlterTable(alter) => {
            alter_table::run(cx, alter).await?;
            "ALTER TABLE"
        }
        Statement::Drop(statement) => return drop::run::run(cx, statement).await,
        Statement::DropOther(statement) => {
            drop::other::run(cx, statement).await?;
            statement.tag
        }
        Statement::CreateIndex(create) => {
            create_index::run(cx, create).await?;
            "CREATE INDEX"
        }
        Statement::AlterIndex(alter) => {
            if let AlterIndexAction::Attach(index) = &alter.action {
                attach_index(cx, &alter.name, index)?;
            }
            move_index::in_transaction(cx, alter)?;
            "ALTER INDEX"
        }
        Statement::CreateView(create) if create.materialized => {
            return materialized::create(cx, create).await;
        }
        Statement::RefreshView(statement) => {
            materialized::refresh(cx, statement).await?;
            "REFRESH MATERIALIZED VIEW"
        }
        Statement::CreateView(create) => {
            view::create(cx, create)?;
            "CREATE VIEW"
        }
        Statement::AlterView(alter) => {
            view::alter(cx, alter)?;
            "ALTER VIEW"
        }
        Statement::CreateSequence(create) => {
            sequence::create(cx, create)?;
            "CREATE SEQUENCE"
        }
        Statement::AlterSequence(alter) => {
            sequence::alter(cx, alter).await?;
            "ALTER SEQUENCE"
        }
        Statement::CreateSchema(create) => {
            schema_with_elements(cx, create).await?;
            "CREATE SCHEMA"
        }
        Statement::AlterLargeObject { object, owner } => {
            large_object::set_owner(cx, *object, owner).await?;
            "ALTER LARGE OBJECT"
        }
        Statement::Rename(statement) => return rename::run(cx, statement),
        Statement::Truncate(statement) => {
            truncate::run(cx, statement).await?;
            "TRUNCATE TABLE"
        }
        Statement::Comment(statement) => {
            comment_on(cx, statement).await?;
            "COMMENT"
        }
        other => return dispatch_types(other, cx).await,
    };
    Ok(tag.to_owned())
}

/// COMMENT ON, of objects in the catalog and of large ones.
async fn comment_on(cx: &mut DdlContext<'_>, statement: &Comment) -> Result<()> {
    match &statement.target {
        CommentTarget::LargeObject(object) => {
            large_object::comment(cx, *object, statement.text.clone()).await
        }
        _ => comment::run(cx, statement),
    }
}

/// Statements about types, routines, triggers and policies of users.
async fn dispatch_types(statement: &Statement, cx: &mut DdlContext<'_>) -> Result<String> {
    let tag = match statement {
        Statement::CreateDatabase(create) => {
            database::create(cx, create)?;
            "CREATE DATABASE"
        }
        Statement::Extension(statement) => extension::run(cx, statement)?,
        Statement::AlterDatabase(alter) => {
            database::set(cx, alter)?;
            alter.tag
        }
        Statement::CreateType(create) => {
            match &create.definition {
                TypeDefinition::Enum(labels) => enums::create(cx, &create.name, labels)?,
                TypeDefinition::Composite(list) => composites::create(cx, &create.name, list)?,
            }
            "CREATE TYPE"
        }
        Statement::AlterType(alter) => {
            match &alter.action {
                AlterTypeAction::Attributes(list) => composites::alter(cx, &alter.name, list)?,
                _ => enums::alter(cx, alter)?,
            }
            "ALTER TYPE"
        }
        Statement::CreateCollation(create) => {
            collation::create(cx, create)?;
            "CREATE COLLATION"
        }
        Statement::CreateStatistics(create) => {
            statistics::create(cx, create)?;
            "CREATE STATISTICS"
        }
        Statement::AlterStatistics(alter) => {
            statistics::set_target(cx, alter)?;
            "ALTER STATISTICS"
        }
        Statement::CreateDomain(create) => {
            domains::create(cx, create)?;
            "CREATE DOMAIN"
        }
        Statement::AlterDomain(alter) => {
            alter_domain::run(cx, alter).await?;
            "ALTER DOMAIN"
        }
        Statement::CreateRoutine(create) => return routine::create(cx, create),
        Statement::CreateAggregate(create) => {
            routine::create_aggregate(cx, create)?;
            "CREATE AGGREGATE"
        }
        Statement::AlterRoutine(alter) => return routine::alter(cx, alter),
        Statement::CreateTrigger(create) => {
            trigger::create(cx, create)?;
            "CREATE TRIGGER"
        }
        Statement::CreatePolicy(create) => {
            policy::create(cx, create)?;
            "CREATE POLICY"
        }
        Statement::AlterPolicy(alter) => {
            policy::alter(cx, alter)?;
            "ALTER POLICY"
        }
        other => return dispatch_rights(other, cx).await,
    };
    Ok(tag.to_owned())
}

/// Statements about roles, owners and privileges.
async fn dispatch_rights(statement: &Statement, cx: &mut DdlContext<'_>) -> Result<String> {
    let tag = match statement {
        Statement::CreateUser(create) => {
            role::create(cx, create)?;
            "CREATE ROLE"
        }
        Statement::AlterUser(alter) => {
            role::alter(cx, alter)?;
            "ALTER ROLE"
        }
        Statement::DropUser(statement) => {
            role::drop(cx, statement)?;
            "DROP ROLE"
        }
        Statement::Grant(statement) => {
            match &statement.objects {
                GrantObjects::LargeObjects(objects) => {
                    large_object::grant(cx, statement, objects, false).await?;
                }
                GrantObjects::Languages(names) => extension::grant(cx, statement, names, false)?,
                _ => grant::grant(cx, statement)?,
            }
            "GRANT"
        }
        Statement::Revoke(statement) => {
            match &statement.objects {
                GrantObjects::LargeObjects(objects) => {
                    large_object::grant(cx, statement, objects, true).await?;
                }
                GrantObjects::Languages(names) => extension::grant(cx, statement, names, true)?,
                _ => grant::revoke(cx, statement)?,
            }
            "REVOKE"
        }
        Statement::GrantRole(statement) => {
            membership::grant(cx, statement)?;
            statement.tag
        }
        Statement::RevokeRole(statement) => {
            membership::revoke(cx, statement)?;
            statement.tag
        }
        Statement::AlterDefaultPrivileges(alter) => {
            default_privileges::alter(cx, alter)?;
            "ALTER DEFAULT PRIVILEGES"
        }
        Statement::DropOwned(statement) => {
            owned::drop(cx, statement).await?;
            "DROP OWNED"
        }
        Statement::ReassignOwned(statement) => {
            owned::reassign(cx, statement).await?;
            "REASSIGN OWNED"
        }
        other => return Err(Error::internal(format!("not a definition: {other:?}"))),
    };
    Ok(tag.to_owned())
}
