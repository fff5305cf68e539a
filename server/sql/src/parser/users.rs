//! Users, which PostgreSQL also calls roles.

use sqlparser::ast::Ident;

use braid_types::{Error, Result, SqlState};

use super::Cursor;
use crate::ast::{
    AlterDatabase, AlterUser, CreateUser, DropBehavior, DropUser, OwnedBy, Set, SetScope, SetValue,
    SettingChange, Statement, UserOption,
};

impl Cursor<'_> {
    /// The name of a user, also `current_user` and the like.
    pub(crate) fn role_name(&mut self) -> Result<Ident> {
        if matches!(self.peek_word(), Some("current_user" | "session_user" | "current_role")) {
            return self.label();
        }
        self.ident()
    }

    /// `CREATE USER`, at that word.
    pub(crate) fn create_user(&mut self) -> Result<Statement> {
        let is_user = self.is("user");
        self.advance();
        let if_not_exists = self.if_not_exists();
        let name = self.ident()?;
        let options = self.user_options()?;
        Ok(Statement::CreateUser(CreateUser { name, is_user, if_not_exists, options }))
    }

    fn user_options(&mut self) -> Result<Vec<UserOption>> {
        self.take("with");
        let mut options = Vec::new();
        while let Some(option) = self.user_option()? {
            options.push(option);
        }
        Ok(options)
    }

    fn user_option(&mut self) -> Result<Option<UserOption>> {
        if let Some(word) = self.peek_word() {
            let (name, on) = match word.strip_prefix("no") {
                Some(name) => (name, false),
                None => (word, true),
            };
            let switch: Option<fn(bool) -> UserOption> = match name {
                "login" => Some(UserOption::Login),
                "superuser" => Some(UserOption::Superuser),
                "createdb" => Some(UserOption::CreateDb),
                "createrole" | "createuser" => Some(UserOption::CreateRole),
                "inherit" => Some(UserOption::Inherit),
                "replication" => Some(UserOption::Replication),
                "bypassrls" => Some(UserOption::BypassRls),
                _ => None,
            };
            if let Some(switch) = switch {
                self.advance();
                return Ok(Some(switch(on)));
            }
        }
        let option = if self.is("unencrypted") {
            return Err(Error::new(
                SqlState::FeatureNotSupported,
                "UNENCRYPTED PASSWORD is no longer supported",
            )
            .hint("Remove UNENCRYPTED to store the password in encrypted form instead.")
            .position(crate::offset_of(self.span())));
        } else if self.take("password") || self.take_all(&["encrypted", "password"]) {
            let password = if self.take("null") { None } else { Some(self.string()?) };
            UserOption::Password(password)
        } else if self.take_all(&["connection", "limit"]) {
            UserOption::ConnectionLimit(self.integer()?)
        } else if self.take_all(&["valid", "until"]) {
            UserOption::ValidUntil(self.string()?)
        } else if self.take_all(&["in", "role"]) || self.take_all(&["in", "group"]) {
            UserOption::InRole(self.list(Self::role_name)?)
        } else if self.take("role") || self.take("user") {
            UserOption::Role(self.list(Self::role_name)?)
        } else if self.take("admin") {
            UserOption::Admin(self.list(Self::role_name)?)
        } else if self.take("sysid") {
            self.integer()?;
            return self.user_option();
        } else {
            return Ok(None);
        };
        Ok(Some(option))
    }

    /// `ALTER USER`, at that word.
    pub(crate) fn alter_user(&mut self) -> Result<Statement> {
        self.advance();
        let if_exists = self.if_exists();
        if self.take("all") {
            if self.take_all(&["in", "database"]) {
                let database = self.ident()?;
                return self.stored_setting("ALTER ROLE", database, None);
            }
            return Err(self.unsupported("ALTER ROLE ALL"));
        }
        let name = self.role_name()?;
        if self.take_all(&["in", "database"]) {
            let database = self.ident()?;
            return self.stored_setting("ALTER ROLE", database, Some(name));
        }
        let mut user = AlterUser {
            name,
            if_exists,
            options: Vec::new(),
            rename_to: None,
            set: None,
            reset: None,
        };
        if self.take_all(&["rename", "to"]) {
            user.rename_to = Some(self.ident()?);
        } else if self.take("set") {
            user.set = Some(self.stored_variable()?);
        } else if self.take("reset") {
            user.reset = Some(self.reset_target()?);
        } else {
            user.options = self.user_options()?;
        }
        Ok(Statement::AlterUser(user))
    }

    /// `SET …` or `RESET …` for later sessions in a database.
    pub(crate) fn stored_setting(
        &mut self,
        tag: &'static str,
        database: Ident,
        role: Option<Ident>,
    ) -> Result<Statement> {
        let change = if self.take("set") {
            SettingChange::Set(self.stored_variable()?)
        } else {
            self.expect("reset")?;
            SettingChange::Reset(self.reset_target()?)
        };
        let alter = AlterDatabase { tag, database, role, change };
        Ok(Statement::AlterDatabase(Box::new(alter)))
    }

    /// A variable of `SET`, also `TIME ZONE`.
    fn stored_variable(&mut self) -> Result<Set> {
        let span = self.span();
        if !self.take_all(&["time", "zone"]) {
            return self.set_variable(SetScope::Session);
        }
        let value = SetValue::Values(vec![self.setting_value()?]);
        Ok(Set { scope: SetScope::Session, name: "timezone".to_owned(), value, span })
    }

    /// `DROP OWNED BY …`, at `OWNED`.
    pub(crate) fn drop_owned(&mut self) -> Result<Statement> {
        self.expect_all(&["owned", "by"])?;
        let roles = self.list(Self::role_name)?;
        let behavior = self.drop_behavior();
        Ok(Statement::DropOwned(OwnedBy { roles, to: None, behavior }))
    }

    /// `REASSIGN OWNED BY … TO …`.
    pub(crate) fn reassign_owned(&mut self) -> Result<Statement> {
        self.expect_all(&["reassign", "owned", "by"])?;
        let roles = self.list(Self::role_name)?;
        self.expect("to")?;
        let to = Some(self.role_name()?);
        Ok(Statement::ReassignOwned(OwnedBy { roles, to, behavior: DropBehavior::Restrict }))
    }

    /// `DROP USER`, at that word.
    pub(crate) fn drop_user(&mut self) -> Result<Statement> {
        self.advance();
        let if_exists = self.if_exists();
        let names = self.list(Self::role_name)?;
        Ok(Statement::DropUser(DropUser { names, if_exists }))
    }
}
