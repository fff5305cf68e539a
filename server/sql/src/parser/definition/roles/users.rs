//! Users, which PostgreSQL also calls roles.

use sqlparser::ast::Ident;

use braid_types::{Error, Result, SqlState};

use crate::ast::{
    AlterDatabase, AlterUser, CreateUser, DropBehavior, DropUser, Grantee, OwnedBy, RoleGrant,
    SettingChange, Statement, UserOption,
};
use crate::lex::keywords;
use crate::parser::Cursor;
use crate::parser::clauses::{parse_drop_behavior, redundant_options};
use crate::parser::names::{
    parse_ident, parse_integer, parse_role_name, parse_string, take_if_exists, take_if_not_exists,
};
use crate::parser::session::set::{parse_reset_target, parse_stored_variable};

/// `CREATE USER`, at that word.
pub(crate) fn parse_create_user(cursor: &mut Cursor<'_>) -> Result<Statement> {
    let is_user = cursor.is("user");
    cursor.advance();
    let if_not_exists = take_if_not_exists(cursor);
    let name = parse_ident(cursor)?;
    let options = parse_user_options(cursor, true)?;
    Ok(Statement::CreateUser(CreateUser { name, is_user, if_not_exists, options }))
}

fn parse_user_options(cursor: &mut Cursor<'_>, creates: bool) -> Result<Vec<UserOption>> {
    // Members are changed by GRANT.
    let of_create = ["in", "role", "user", "admin", "sysid"];
    cursor.take("with");
    let mut options: Vec<UserOption> = Vec::new();
    let mut place = crate::offset_of(cursor.span());
    loop {
        if !creates && of_create.iter().any(|word| cursor.is(word)) {
            cursor.take("in");
            return Err(cursor.unexpected());
        }
        let Some(option) = parse_user_option(cursor)? else { break };
        let kind = std::mem::discriminant(&option);
        if options.iter().any(|known| std::mem::discriminant(known) == kind) {
            return Err(redundant_options(place));
        }
        options.push(option);
        place = crate::offset_of(cursor.span());
    }
    match cursor.peek_word() {
        Some(word) if keywords::lookup(word).is_none() => {
            let message = format!("unrecognized role option \"{word}\"");
            Err(Error::new(SqlState::SyntaxError, message).position(place))
        }
        _ => Ok(options),
    }
}

fn parse_user_option(cursor: &mut Cursor<'_>) -> Result<Option<UserOption>> {
    if let Some(word) = cursor.peek_word() {
        let (name, on) = match word.strip_prefix("no") {
            Some(name) => (name, false),
            None => (word, true),
        };
        let switch: Option<fn(bool) -> UserOption> = match name {
            "login" => Some(UserOption::Login),
            "superuser" => Some(UserOption::Superuser),
            "createdb" => Some(UserOption::CreateDb),
            "createrole" => Some(UserOption::CreateRole),
            "inherit" => Some(UserOption::Inherit),
            "replication" => Some(UserOption::Replication),
            "bypassrls" => Some(UserOption::BypassRls),
            _ => None,
        };
        if let Some(switch) = switch {
            cursor.advance();
            return Ok(Some(switch(on)));
        }
    }
    let option = if cursor.is("unencrypted") {
        return Err(Error::new(
            SqlState::FeatureNotSupported,
            "UNENCRYPTED PASSWORD is no longer supported",
        )
        .hint("Remove UNENCRYPTED to store the password in encrypted form instead.")
        .position(crate::offset_of(cursor.span())));
    } else if cursor.is("password") || cursor.are(&["encrypted", "password"]) {
        let is_encrypted = cursor.take("encrypted");
        cursor.advance();
        let password =
            if !is_encrypted && cursor.take("null") { None } else { Some(parse_string(cursor)?) };
        UserOption::Password(password)
    } else if cursor.take_all(&["connection", "limit"]) {
        UserOption::ConnectionLimit(parse_integer(cursor)?)
    } else if cursor.take_all(&["valid", "until"]) {
        UserOption::ValidUntil(parse_string(cursor)?)
    } else if cursor.take_all(&["in", "role"]) || cursor.take_all(&["in", "group"]) {
        UserOption::InRole(cursor.list(parse_role_name)?)
    } else if cursor.take("role") || cursor.take("user") {
        UserOption::Role(cursor.list(parse_role_name)?)
    } else if cursor.take("admin") {
        UserOption::Admin(cursor.list(parse_role_name)?)
    } else if cursor.take("sysid") {
        parse_integer(cursor)?;
        return parse_user_option(cursor);
    } else {
        return Ok(None);
    };
    Ok(Some(option))
}

/// `ALTER USER`, at that word.
pub(crate) fn parse_alter_user(cursor: &mut Cursor<'_>) -> Result<Statement> {
    let is_group = cursor.is("group");
    cursor.advance();
    let if_exists = take_if_exists(cursor);
    let everyone = cursor.take("all");
    if everyone && cursor.take_all(&["in", "database"]) {
        let database = parse_ident(cursor)?;
        return parse_stored_setting(cursor, "ALTER ROLE", database, None);
    }
    let name = if everyone { Ident::new("all") } else { parse_role_name(cursor)? };
    if cursor.take_all(&["in", "database"]) {
        let database = parse_ident(cursor)?;
        return parse_stored_setting(cursor, "ALTER ROLE", database, Some(name));
    }
    if is_group && !everyone && (cursor.is("add") || cursor.is("drop")) {
        return parse_alter_group(cursor, name);
    }
    let mut user = AlterUser {
        name,
        everyone,
        if_exists,
        options: Vec::new(),
        rename_to: None,
        set: None,
        reset: None,
    };
    if !everyone && cursor.take_all(&["rename", "to"]) {
        user.rename_to = Some(parse_ident(cursor)?);
    } else if cursor.take("set") {
        user.set = Some(parse_stored_variable(cursor)?);
    } else if cursor.take("reset") {
        user.reset = Some(parse_reset_target(cursor)?);
    } else if everyone {
        return Err(cursor.unexpected());
    } else {
        user.options = parse_user_options(cursor, false)?;
    }
    Ok(Statement::AlterUser(user))
}

/// `ADD USER …` or `DROP USER …` of `ALTER GROUP`: the members of a role.
fn parse_alter_group(cursor: &mut Cursor<'_>, group: Ident) -> Result<Statement> {
    let adds = cursor.take_one(&["add", "drop"]) == Some(0);
    cursor.expect("user")?;
    let grantees = cursor.list(|cursor| parse_role_name(cursor).map(Grantee::User))?;
    let (tag, roles) = ("ALTER ROLE", vec![group]);
    let grant = RoleGrant { tag, roles, grantees, admin_option: false, granted_by: None };
    Ok(if adds { Statement::GrantRole(grant) } else { Statement::RevokeRole(grant) })
}

/// `SET …` or `RESET …` for later sessions in a database.
pub(crate) fn parse_stored_setting(
    cursor: &mut Cursor<'_>,
    tag: &'static str,
    database: Ident,
    role: Option<Ident>,
) -> Result<Statement> {
    let change = if cursor.take("set") {
        SettingChange::Set(parse_stored_variable(cursor)?)
    } else {
        cursor.expect("reset")?;
        SettingChange::Reset(parse_reset_target(cursor)?)
    };
    let alter = AlterDatabase { tag, database, role, change };
    Ok(Statement::AlterDatabase(Box::new(alter)))
}

/// `DROP OWNED BY …`, at `OWNED`.
pub(crate) fn parse_drop_owned(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.expect_all(&["owned", "by"])?;
    let roles = cursor.list(parse_role_name)?;
    let behavior = parse_drop_behavior(cursor);
    Ok(Statement::DropOwned(OwnedBy { roles, to: None, behavior }))
}

/// `REASSIGN OWNED BY … TO …`.
pub(crate) fn parse_reassign_owned(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.expect_all(&["reassign", "owned", "by"])?;
    let roles = cursor.list(parse_role_name)?;
    cursor.expect("to")?;
    let to = Some(parse_role_name(cursor)?);
    Ok(Statement::ReassignOwned(OwnedBy { roles, to, behavior: DropBehavior::Restrict }))
}

/// `DROP USER`, at that word.
pub(crate) fn parse_drop_user(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    let if_exists = take_if_exists(cursor);
    let names = cursor.list(parse_role_name)?;
    Ok(Statement::DropUser(DropUser { names, if_exists }))
}
