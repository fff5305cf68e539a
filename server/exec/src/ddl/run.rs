//! From a statement to the file that carries it out.

use braid_sql::ast::{AlterIndexAction, Statement};
use braid_types::{Error, Result};

use super::{
    DdlContext, alter_table, analyze, comment, create_index, create_table, database, drop,
    drop_other, enums, grant, move_index, owned, relocate, rename, roles, schema, sequence,
    truncate, validate_rows, view,
};

/// Whether [`run`] carries out this statement.
pub fn is_ddl(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::CreateTable(_)
            | Statement::AlterTable(_)
            | Statement::Drop(_)
            | Statement::DropOther(_)
            | Statement::DropOwned(_)
            | Statement::ReassignOwned(_)
            | Statement::CreateIndex(_)
            | Statement::AlterIndex(_)
            | Statement::CreateView(_)
            | Statement::CreateType(_)
            | Statement::AlterType(_)
            | Statement::CreateSequence(_)
            | Statement::AlterSequence(_)
            | Statement::CreateSchema(_)
            | Statement::CreateDatabase(_)
            | Statement::CreateExtension(_)
            | Statement::AlterDatabase(_)
            | Statement::Rename(_)
            | Statement::Truncate(_)
            | Statement::Comment(_)
            | Statement::CreateUser(_)
            | Statement::AlterUser(_)
            | Statement::DropUser(_)
            | Statement::Grant(_)
            | Statement::Revoke(_)
            | Statement::GrantRole(_)
            | Statement::RevokeRole(_)
            | Statement::Analyze(_)
            | Statement::Vacuum { .. }
    )
}

/// Carries out a statement that defines objects; returns its command tag. If it fails, the draft
/// is as it was before. It ends when the statement is cancelled; do not drop it before.
pub async fn run(statement: &Statement, cx: &mut DdlContext<'_>) -> Result<String> {
    if let Statement::CreateIndex(create) = statement
        && cx.implicit
        && !cx.names_temporary(&create.table)
    {
        // What it has announced it has to take back, so it minds the cancellation itself.
        return create_index::run_alone(cx, create).await.map(|()| "CREATE INDEX".to_owned());
    }
    if let Statement::AlterTable(alter) = statement
        && cx.implicit
        && relocate::is_move(alter)
        && !cx.names_temporary(&alter.name)
    {
        return relocate::run(cx, alter).await.map(|()| "ALTER TABLE".to_owned());
    }
    if let Statement::AlterIndex(alter) = statement
        && cx.implicit
        && alter.action != AlterIndexAction::Options
        && !cx.names_temporary(&alter.name)
    {
        return move_index::run(cx, alter).await.map(|()| "ALTER INDEX".to_owned());
    }
    if let Statement::AlterTable(alter) = statement
        && cx.implicit
        && !cx.txn().is_read_only()
        && !cx.names_temporary(&alter.name)
        && validate_rows::is_alone(alter)
        && validate_rows::run(cx, alter).await?
    {
        return Ok("ALTER TABLE".to_owned());
    }
    let cancel = cx.exec.cancel.clone();
    tokio::select! {
        biased;
        result = run_in_transaction(statement, cx) => result,
        error = cancel.stopped() => Err(error),
    }
}

async fn run_in_transaction(statement: &Statement, cx: &mut DdlContext<'_>) -> Result<String> {
    if let Statement::Analyze(tables) = statement {
        return analyze::run(cx, tables).await.map(|()| "ANALYZE".to_owned());
    }
    if let Statement::Vacuum { analyze, tables } = statement {
        if *analyze {
            analyze::run(cx, tables).await?;
        } else {
            analyze::named(cx, tables)?;
        }
        return Ok("VACUUM".to_owned());
    }
    if cx.is_of_temporary(statement) {
        cx.open_temporary();
    } else {
        cx.open().await?;
    }
    let before = cx.draft.clone();
    let mut result = dispatch(statement, cx).await;
    if result.is_ok()
        && let (Some(before), Some(after)) = (&before, &*cx.draft)
        && let Err(error) = relocate::refuse_while_moving(before.catalog(), after.catalog())
    {
        result = Err(error);
    }
    if result.is_ok()
        && let Err(error) = cx.delete_scattered().await
    {
        result = Err(error);
    }
    if result.is_err() {
        *cx.draft = before;
    }
    result
}

async fn dispatch(statement: &Statement, cx: &mut DdlContext<'_>) -> Result<String> {
    let tag = match statement {
        Statement::CreateTable(create) => return create_table::run(cx, create).await,
        Statement::AlterTable(alter) => {
            alter_table::run(cx, alter).await?;
            "ALTER TABLE"
        }
        Statement::Drop(statement) => return drop::run(cx, statement).await,
        Statement::DropOther(statement) => {
            drop_other::run(cx, statement).await?;
            statement.tag
        }
        Statement::CreateIndex(create) => {
            create_index::run(cx, create).await?;
            "CREATE INDEX"
        }
        Statement::AlterIndex(alter) => move_index::in_transaction(&alter.action)?,
        Statement::CreateView(create) => {
            view::create(cx, create)?;
            "CREATE VIEW"
        }
        Statement::CreateType(create) => {
            enums::create(cx, create)?;
            "CREATE TYPE"
        }
        Statement::AlterType(alter) => {
            enums::alter(cx, alter)?;
            "ALTER TYPE"
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
            schema::create(cx, create)?;
            "CREATE SCHEMA"
        }
        Statement::CreateDatabase(create) => {
            database::create(cx, create)?;
            "CREATE DATABASE"
        }
        Statement::CreateExtension(create) => {
            database::create_extension(cx, create)?;
            "CREATE EXTENSION"
        }
        Statement::AlterDatabase(alter) => {
            database::set(cx, alter)?;
            alter.tag
        }
        Statement::Rename(statement) => return rename::run(cx, statement),
        Statement::Truncate(statement) => {
            truncate::run(cx, statement)?;
            "TRUNCATE TABLE"
        }
        Statement::Comment(statement) => {
            comment::run(cx, statement)?;
            "COMMENT"
        }
        other => return dispatch_rights(other, cx).await,
    };
    Ok(tag.to_owned())
}

/// Statements about roles, owners and privileges.
async fn dispatch_rights(statement: &Statement, cx: &mut DdlContext<'_>) -> Result<String> {
    let tag = match statement {
        Statement::CreateUser(create) => {
            roles::create(cx, create)?;
            "CREATE ROLE"
        }
        Statement::AlterUser(alter) => {
            roles::alter(cx, alter)?;
            "ALTER ROLE"
        }
        Statement::DropUser(statement) => {
            roles::drop(cx, statement)?;
            "DROP ROLE"
        }
        Statement::Grant(statement) => {
            grant::grant(cx, statement)?;
            "GRANT"
        }
        Statement::Revoke(statement) => {
            grant::revoke(cx, statement)?;
            "REVOKE"
        }
        Statement::GrantRole(statement) => {
            roles::grant(cx, statement)?;
            "GRANT ROLE"
        }
        Statement::RevokeRole(statement) => {
            roles::revoke(cx, statement)?;
            "REVOKE ROLE"
        }
        Statement::DropOwned(statement) => {
            owned::drop(cx, statement).await?;
            "DROP OWNED"
        }
        Statement::ReassignOwned(statement) => {
            owned::reassign(cx, statement)?;
            "REASSIGN OWNED"
        }
        other => return Err(Error::internal(format!("not a definition: {other:?}"))),
    };
    Ok(tag.to_owned())
}
