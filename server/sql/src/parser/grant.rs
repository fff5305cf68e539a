//! `GRANT` and `REVOKE`, of privileges on objects and of roles to members.

use sqlparser::ast::{Ident, ObjectName};
use sqlparser::tokenizer::Token;

use braid_types::{Error, Result, SqlState};

use super::Cursor;
use crate::ast::{
    DropBehavior, GrantObjects, GrantPrivileges, Grantee, Privilege, PrivilegeGrant, RoleGrant,
    Statement,
};

/// A name from the list before `ON` or `TO`: a privilege, or a role.
struct Granted {
    name: Ident,
    columns: Vec<Ident>,
}

impl Cursor<'_> {
    /// `GRANT …`.
    pub(crate) fn grant(&mut self) -> Result<Statement> {
        self.advance();
        let granted = self.granted()?;
        if let Some(list) = self.take_on(&granted)? {
            let objects = self.grant_objects()?;
            self.expect("to")?;
            let grantees = self.list(Self::grantee)?;
            let grant_option = self.take_all(&["with", "grant", "option"]);
            self.granted_by()?;
            return Ok(Statement::Grant(GrantPrivileges {
                privileges: list,
                objects,
                grantees,
                grant_option,
                behavior: DropBehavior::Restrict,
            }));
        }
        self.expect("to")?;
        let grantees = self.list(Self::grantee)?;
        let admin_option = self.take_all(&["with", "admin", "option"]);
        self.granted_by()?;
        let roles = granted.into_iter().map(|granted| granted.name).collect();
        Ok(Statement::GrantRole(RoleGrant { roles, grantees, admin_option }))
    }

    /// `REVOKE …`.
    pub(crate) fn revoke(&mut self) -> Result<Statement> {
        self.advance();
        let grant_option = self.take_all(&["grant", "option", "for"]);
        let admin_option = self.take_all(&["admin", "option", "for"]);
        let granted = self.granted()?;
        if let Some(list) = self.take_on(&granted)? {
            let objects = self.grant_objects()?;
            self.expect("from")?;
            let grantees = self.list(Self::grantee)?;
            self.granted_by()?;
            let behavior = self.drop_behavior();
            return Ok(Statement::Revoke(GrantPrivileges {
                privileges: list,
                objects,
                grantees,
                grant_option,
                behavior,
            }));
        }
        self.expect("from")?;
        let grantees = self.list(Self::grantee)?;
        self.granted_by()?;
        self.drop_behavior();
        let roles = granted.into_iter().map(|granted| granted.name).collect();
        Ok(Statement::RevokeRole(RoleGrant { roles, grantees, admin_option }))
    }

    /// The list behind `GRANT`; empty for `ALL [PRIVILEGES]`.
    fn granted(&mut self) -> Result<Vec<Granted>> {
        if self.take("all") {
            self.take("privileges");
            if *self.peek() == Token::LParen {
                return Err(self.unsupported("ALL PRIVILEGES on columns"));
            }
            return Ok(Vec::new());
        }
        self.list(|cursor| {
            let name = cursor.label()?;
            let columns =
                if *cursor.peek() == Token::LParen { cursor.columns()? } else { Vec::new() };
            Ok(Granted { name, columns })
        })
    }

    /// When `ON` is next, takes it and reads the list as privileges.
    fn take_on(&mut self, granted: &[Granted]) -> Result<Option<Vec<PrivilegeGrant>>> {
        if !self.take("on") {
            return if granted.is_empty() { Err(self.unexpected()) } else { Ok(None) };
        }
        let privileges = granted.iter().map(privilege).collect::<Result<_>>()?;
        Ok(Some(privileges))
    }

    fn grant_objects(&mut self) -> Result<GrantObjects> {
        if self.take("all") {
            let kind: fn(Vec<ObjectName>) -> GrantObjects = match self.take_one(&[
                "tables",
                "sequences",
                "functions",
                "routines",
                "procedures",
            ]) {
                Some(0) => GrantObjects::AllTablesInSchema,
                Some(1) => GrantObjects::AllSequencesInSchema,
                Some(_) => GrantObjects::AllFunctionsInSchema,
                None => return Err(self.unexpected()),
            };
            self.expect_all(&["in", "schema"])?;
            return Ok(kind(self.list(Self::object_name)?));
        }
        let more = matches!(self.peek_nth(1), Token::Word(_)) && !self.nth_is(1, "to");
        let kinds =
            ["table", "sequence", "database", "schema", "function", "procedure", "routine", "type"];
        // A table may be named `sequence`; then `TO` or `FROM` follows, and not a name.
        let kind = if more && !self.nth_is(1, "from") { self.take_one(&kinds) } else { None };
        Ok(match kind {
            None if more && matches!(self.peek_word(), Some("language" | "domain")) => {
                return Err(self.unsupported("GRANT on this kind of object"));
            }
            None | Some(0) => GrantObjects::Tables(self.list(Self::object_name)?),
            Some(1) => GrantObjects::Sequences(self.list(Self::object_name)?),
            Some(2) => GrantObjects::Databases(self.list(Self::object_name)?),
            Some(3) => GrantObjects::Schemas(self.list(Self::object_name)?),
            Some(7) => GrantObjects::Types(self.list(Self::object_name)?),
            Some(_) => GrantObjects::Functions(self.list(Self::function_signature)?),
        })
    }

    /// `name [(types)]`.
    fn function_signature(&mut self) -> Result<ObjectName> {
        let name = self.any_name()?;
        if self.take_symbol(&Token::LParen) && !self.take_symbol(&Token::RParen) {
            self.list(Self::data_type)?;
            self.expect_symbol(&Token::RParen)?;
        }
        Ok(name)
    }

    fn grantee(&mut self) -> Result<Grantee> {
        self.take("group");
        if self.take("public") {
            return Ok(Grantee::Public);
        }
        self.role_name().map(Grantee::User)
    }

    fn granted_by(&mut self) -> Result<()> {
        if self.take_all(&["granted", "by"]) {
            self.role_name()?;
        }
        Ok(())
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
