//! `GRANT` and `REVOKE`, of privileges on objects and of roles to members.

use sqlparser::ast::{Ident, ObjectName};
use sqlparser::tokenizer::Token;

use braid_types::{Error, Result, SqlState};

use crate::ast::{
    AlterDefaultPrivileges, DropBehavior, GrantObjects, GrantPrivileges, Grantee, ObjectKind,
    Privilege, PrivilegeGrant, RoleGrant, RoutineKind, Statement,
};
use crate::parser::Cursor;
use crate::parser::clauses::{parse_drop_behavior, redundant_options};
use crate::parser::names::{
    parse_columns, parse_ident, parse_label, parse_object_name, parse_object_number,
    parse_role_name,
};
use crate::parser::routine::parse_routine_name;
use crate::rewrite::words::position;

/// A name from the list before `ON` or `TO`: a privilege, or a role.
struct Granted {
    name: Ident,
    columns: Vec<Ident>,
}

/// `GRANT …`.
pub(crate) fn parse_grant(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    let granted = parse_granted(cursor)?;
    if let Some(list) = take_on(cursor, &granted)? {
        let objects = parse_grant_objects(cursor)?;
        cursor.expect("to")?;
        let grantees = cursor.list(parse_grantee)?;
        let grant_option = cursor.take_all(&["with", "grant", "option"]);
        let granted_by = parse_granted_by(cursor)?;
        return Ok(Statement::Grant(GrantPrivileges {
            privileges: list,
            objects,
            grantees,
            grant_option,
            granted_by,
            behavior: DropBehavior::Restrict,
        }));
    }
    cursor.expect("to")?;
    let grantees = cursor.list(parse_grantee)?;
    let admin_option = cursor.take_all(&["with", "admin", "option"]);
    let granted_by = parse_granted_by(cursor)?;
    let roles = granted.into_iter().map(|granted| granted.name).collect();
    let tag = "GRANT ROLE";
    Ok(Statement::GrantRole(RoleGrant { tag, roles, grantees, admin_option, granted_by }))
}

/// `REVOKE …`.
pub(crate) fn parse_revoke(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    let grant_option = cursor.take_all(&["grant", "option", "for"]);
    let admin_option = cursor.take_all(&["admin", "option", "for"]);
    let granted = parse_granted(cursor)?;
    if admin_option && cursor.is("on") {
        return Err(cursor.unexpected());
    }
    if let Some(list) = take_on(cursor, &granted)? {
        let objects = parse_grant_objects(cursor)?;
        cursor.expect("from")?;
        let grantees = cursor.list(parse_grantee)?;
        let granted_by = parse_granted_by(cursor)?;
        let behavior = parse_drop_behavior(cursor);
        return Ok(Statement::Revoke(GrantPrivileges {
            privileges: list,
            objects,
            grantees,
            grant_option,
            granted_by,
            behavior,
        }));
    }
    cursor.expect("from")?;
    let grantees = cursor.list(parse_grantee)?;
    let granted_by = parse_granted_by(cursor)?;
    parse_drop_behavior(cursor);
    let roles = granted.into_iter().map(|granted| granted.name).collect();
    let tag = "REVOKE ROLE";
    Ok(Statement::RevokeRole(RoleGrant { tag, roles, grantees, admin_option, granted_by }))
}

/// `ALTER DEFAULT PRIVILEGES`, at `DEFAULT`.
pub(crate) fn parse_default_privileges(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.expect_all(&["default", "privileges"])?;
    let (mut roles, mut schemas) = (Vec::new(), Vec::new());
    loop {
        let at = position(cursor.span());
        let names = if cursor.take_all(&["in", "schema"]) {
            (&mut schemas, cursor.list(parse_ident)?)
        } else if cursor.take("for") {
            if cursor.take_one(&["role", "user"]).is_none() {
                return Err(cursor.unexpected());
            }
            (&mut roles, cursor.list(parse_role_name)?)
        } else {
            break;
        };
        if !names.0.is_empty() {
            return Err(redundant_options(at));
        }
        *names.0 = names.1;
    }
    let revokes = cursor.take("revoke");
    if !revokes {
        cursor.expect("grant")?;
    }
    let only_option = revokes && cursor.take_all(&["grant", "option", "for"]);
    let granted = parse_granted(cursor)?;
    cursor.expect("on")?;
    let privileges = granted.iter().map(privilege).collect::<Result<_>>()?;
    let kind = parse_object_kind(cursor)?;
    cursor.expect(if revokes { "from" } else { "to" })?;
    let grantees = cursor.list(parse_grantee)?;
    let grant_option =
        if revokes { only_option } else { cursor.take_all(&["with", "grant", "option"]) };
    let behavior = if revokes { parse_drop_behavior(cursor) } else { DropBehavior::Restrict };
    Ok(Statement::AlterDefaultPrivileges(AlterDefaultPrivileges {
        roles,
        schemas,
        kind,
        revokes,
        privileges,
        grantees,
        grant_option,
        behavior,
    }))
}

fn parse_object_kind(cursor: &mut Cursor<'_>) -> Result<ObjectKind> {
    let words = ["tables", "sequences", "functions", "routines", "types", "schemas"];
    Ok(match cursor.take_one(&words) {
        Some(0) => ObjectKind::Tables,
        Some(1) => ObjectKind::Sequences,
        Some(2 | 3) => ObjectKind::Functions,
        Some(4) => ObjectKind::Types,
        Some(_) => ObjectKind::Schemas,
        None => return Err(cursor.unexpected()),
    })
}

/// The list behind `GRANT`; empty for `ALL [PRIVILEGES]`.
fn parse_granted(cursor: &mut Cursor<'_>) -> Result<Vec<Granted>> {
    if cursor.take("all") {
        cursor.take("privileges");
        if *cursor.peek() == Token::LParen {
            let columns = parse_columns(cursor)?;
            let of_columns = ["select", "insert", "update", "references"].into_iter();
            let granted = |name| Granted { name: Ident::new(name), columns: columns.clone() };
            return Ok(of_columns.map(granted).collect());
        }
        return Ok(Vec::new());
    }
    cursor.list(|cursor| {
        let name = parse_label(cursor)?;
        let columns =
            if *cursor.peek() == Token::LParen { parse_columns(cursor)? } else { Vec::new() };
        Ok(Granted { name, columns })
    })
}

/// When `ON` is next, takes it and reads the list as privileges.
fn take_on(cursor: &mut Cursor<'_>, granted: &[Granted]) -> Result<Option<Vec<PrivilegeGrant>>> {
    if !cursor.take("on") {
        return if granted.is_empty() { Err(cursor.unexpected()) } else { Ok(None) };
    }
    let privileges = granted.iter().map(privilege).collect::<Result<_>>()?;
    Ok(Some(privileges))
}

fn parse_grant_objects(cursor: &mut Cursor<'_>) -> Result<GrantObjects> {
    if cursor.take("all") {
        let kind: fn(Vec<ObjectName>) -> GrantObjects = match cursor.take_one(&[
            "tables",
            "sequences",
            "functions",
            "routines",
            "procedures",
        ]) {
            Some(0) => GrantObjects::AllTablesInSchema,
            Some(1) => GrantObjects::AllSequencesInSchema,
            Some(_) => GrantObjects::AllFunctionsInSchema,
            None => return Err(cursor.unexpected()),
        };
        cursor.expect_all(&["in", "schema"])?;
        return Ok(kind(cursor.list(parse_object_name)?));
    }
    if cursor.are(&["large", "object"]) {
        cursor.take_all(&["large", "object"]);
        return Ok(GrantObjects::LargeObjects(cursor.list(parse_object_number)?));
    }
    let more = matches!(cursor.peek_nth(1), Token::Word(_)) && !cursor.nth_is(1, "to");
    let kinds = [
        "table",
        "sequence",
        "database",
        "schema",
        "function",
        "procedure",
        "routine",
        "type",
        "domain",
    ];
    // A table may be named `sequence`; then `TO` or `FROM` follows, and not a name.
    let kind = if more && !cursor.nth_is(1, "from") { cursor.take_one(&kinds) } else { None };
    Ok(match kind {
        None if more && !cursor.nth_is(1, "from") && cursor.take("language") => {
            GrantObjects::Languages(cursor.list(parse_ident)?)
        }
        None | Some(0) => GrantObjects::Tables(cursor.list(parse_object_name)?),
        Some(1) => GrantObjects::Sequences(cursor.list(parse_object_name)?),
        Some(2) => GrantObjects::Databases(cursor.list(parse_object_name)?),
        Some(3) => GrantObjects::Schemas(cursor.list(parse_object_name)?),
        Some(7) => GrantObjects::Types(cursor.list(parse_object_name)?),
        Some(8) => GrantObjects::Domains(cursor.list(parse_object_name)?),
        Some(kind) => {
            let kind = match kind {
                4 => RoutineKind::Function,
                5 => RoutineKind::Procedure,
                _ => RoutineKind::Any,
            };
            GrantObjects::Functions(cursor.list(|cursor| parse_routine_name(cursor, kind))?)
        }
    })
}

pub(super) fn parse_grantee(cursor: &mut Cursor<'_>) -> Result<Grantee> {
    cursor.take("group");
    if cursor.take("public") {
        return Ok(Grantee::Public);
    }
    parse_role_name(cursor).map(Grantee::User)
}

fn parse_granted_by(cursor: &mut Cursor<'_>) -> Result<Option<Ident>> {
    match cursor.take_all(&["granted", "by"]) {
        true => parse_role_name(cursor).map(Some),
        false => Ok(None),
    }
}

/// The privilege of a name.
fn privilege(granted: &Granted) -> Result<PrivilegeGrant> {
    let privilege = match granted.name.value.as_str() {
        "select" => Privilege::Select,
        "insert" => Privilege::Insert,
        "update" => Privilege::Update,
        "delete" => Privilege::Delete,
        "truncate" => Privilege::Truncate,
        "references" => Privilege::References,
        "trigger" => Privilege::Trigger,
        "usage" => Privilege::Usage,
        "create" => Privilege::Create,
        "connect" => Privilege::Connect,
        "temporary" | "temp" => Privilege::Temporary,
        "execute" => Privilege::Execute,
        other => {
            return Err(Error::new(
                SqlState::SyntaxError,
                format!("unrecognized privilege type \"{other}\""),
            ));
        }
    };
    Ok(PrivilegeGrant { privilege, columns: granted.columns.clone() })
}
