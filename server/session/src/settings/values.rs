//! A session's values, and how transactions and savepoints undo them.

use std::collections::BTreeMap;
use std::sync::Arc;

use braid_cluster::Token;
use braid_types::text::parse_uuid;
use braid_types::{Error, Result, SqlState};

use super::formats::{canonical, date_style};
use super::{Access, Active, Kind, Setting, find, settings};
use crate::observe::traceparent::TraceParent;

/// See [`Settings::commit_token`].
const COMMIT_TOKEN: &str = "commit_token";
/// See [`Settings::traceparent`].
const TRACEPARENT: &str = "traceparent";

type Values = Arc<BTreeMap<String, String>>;

/// The values of a session. Keys are lower-case names; a variable at its default has none.
#[derive(Clone)]
pub struct Settings {
    /// What start-up options said: where `RESET` goes back to.
    start: Values,
    /// What holds when the transaction rolls back.
    before: Values,
    /// What holds when the transaction commits.
    after: Values,
    /// What holds now: `after` and `SET LOCAL`.
    now: Values,
    active: Arc<Active>,
    /// `traceparent`, apart from the other parsed values: it changes with each transaction.
    traceparent: Option<TraceParent>,
    /// Counts changes, so that others notice them cheaply.
    changes: u64,
    /// The one variable of [`Access::Transaction`], apart from the others: it changes with each
    /// transaction, and nothing is derived from it.
    commit_token: Option<String>,
    /// A new attempt has begun: it may have a commit token of its own.
    new_attempt: bool,
}

/// A place to roll back to.
#[derive(Clone)]
pub struct SettingsMark {
    after: Values,
    now: Values,
}

impl Settings {
    /// The values of a session that starts with these options.
    pub fn new(start: BTreeMap<String, String>) -> Settings {
        let active = Arc::new(Active::parse(&start));
        let traceparent = traceparent_of(&start);
        let start = Arc::new(start);
        let (before, after, now) = (start.clone(), start.clone(), start.clone());
        Settings {
            start,
            before,
            after,
            now,
            active,
            traceparent,
            changes: 0,
            commit_token: None,
            new_attempt: false,
        }
    }

    /// Parsed values.
    pub fn active(&self) -> &Arc<Active> {
        &self.active
    }

    /// The token of the transaction, if it has one.
    pub fn commit_token(&self) -> Option<Token> {
        parse_uuid(self.commit_token.as_ref()?).ok()
    }

    /// `traceparent`, if it is set.
    pub(crate) fn traceparent(&self) -> Option<TraceParent> {
        self.traceparent
    }

    /// How often values have changed, but for `commit_token` and `traceparent`.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// The value of a variable now; `None` if there is none of that name.
    pub fn get(&self, name: &str) -> Option<String> {
        let lower = name.to_ascii_lowercase();
        let value = match lower.as_str() {
            COMMIT_TOKEN => self.commit_token.as_ref(),
            name => self.now.get(name),
        };
        match value {
            Some(value) => Some(value.clone()),
            None => find(&lower).map(|setting| setting.default.to_owned()),
        }
    }

    /// The value of a variable now; 42704 if there is none of that name.
    pub fn show(&self, name: &str) -> Result<String> {
        self.get(name).ok_or_else(|| unrecognized(name))
    }

    /// Checks a value that is to be kept for later sessions.
    pub fn check_stored(&self, name: &str, values: &[String]) -> Result<()> {
        check_value(name, values)?;
        match find(name).map(|setting| setting.access) {
            Some(Access::Superuser) if !self.is_superuser() => Err(denied(name)),
            _ => Ok(()),
        }
    }

    /// Sets a variable; returns its canonical value.
    pub fn set(&mut self, name: &str, values: &[String], local: bool) -> Result<String> {
        if let Some(setting) = find(name)
            && setting.access == Access::Transaction
            && local
        {
            let value = check_once(self, setting, values)?;
            self.commit_token = Some(value.clone());
            self.new_attempt = false;
            return Ok(value);
        }
        let value = match find(name) {
            // `SET datestyle = 'SQL'` keeps the order of day and month.
            Some(setting) if matches!(setting.kind, Kind::DateStyle) => {
                let format = self.active();
                date_style(setting, values, (format.format.date_style, format.format.date_order))?
            }
            _ => check_value(name, values)?,
        };
        self.check_access(name)?;
        self.put(name, Some(value.clone()), local);
        Ok(value)
    }

    /// 42501 if the current user may not change the variable. A user or role is taken by
    /// [`Settings::set_identity`] only.
    fn check_access(&self, name: &str) -> Result<()> {
        match find(name).map(|setting| setting.access) {
            Some(Access::Superuser) if !self.is_superuser() => Err(denied(name)),
            Some(Access::Identity) => Err(denied(name)),
            _ => Ok(()),
        }
    }

    /// Whether the user whose privileges count is a superuser.
    pub fn is_superuser(&self) -> bool {
        self.now.get("is_superuser").is_some_and(|value| value == "on")
    }

    /// Sets `role` or `session_authorization` to a user whom the caller has found to be allowed,
    /// or, without one, back to the start of the session.
    pub fn set_identity(&mut self, name: &str, user: Option<String>, local: bool) {
        let user = user.or_else(|| self.start.get(name).cloned());
        self.put(name, user, local);
    }

    /// Notes whether the user whose privileges count is a superuser.
    pub fn note_superuser(&mut self, superuser: bool, local: bool) {
        self.put("is_superuser", Some(if superuser { "on" } else { "off" }.to_owned()), local);
    }

    fn put(&mut self, name: &str, value: Option<String>, local: bool) {
        let name = name.to_ascii_lowercase();
        let change = |values: &mut Values| {
            let values = Arc::make_mut(values);
            match &value {
                Some(value) => values.insert(name.clone(), value.clone()),
                None => values.remove(&name),
            };
        };
        if !local {
            change(&mut self.after);
        }
        let old = self.now.clone();
        change(&mut self.now);
        self.changed(&old);
    }

    /// Parses the values again, which were `old`.
    fn changed(&mut self, old: &Values) {
        self.traceparent = traceparent_of(&self.now);
        let others = |values: &Values| -> usize {
            values.len() - usize::from(values.contains_key(TRACEPARENT))
        };
        let is_same = others(old) == others(&self.now)
            && old.iter().all(|(name, value)| {
                name == TRACEPARENT || self.now.get(name).is_some_and(|now| now == value)
            });
        if !is_same {
            self.active = Arc::new(Active::parse(&self.now));
            self.changes += 1;
        }
    }

    /// What RESET makes a variable.
    pub fn reset_value(&self, setting: &Setting) -> String {
        let start = self.start.get(&setting.name.to_ascii_lowercase());
        start.map_or_else(|| setting.default.to_owned(), Clone::clone)
    }

    /// Puts a variable back to its value at the start of the session.
    pub fn reset(&mut self, name: &str, local: bool) -> Result<()> {
        match find(name) {
            Some(Setting { access: Access::User, .. }) => {}
            Some(Setting { access: Access::Superuser | Access::Identity, .. }) => {
                self.check_access(name)?;
            }
            Some(_) => {
                check_value(name, &[])?;
            }
            None if !is_custom(name) => return Err(unrecognized(name)),
            None => {}
        }
        let start = self.start.get(&name.to_ascii_lowercase()).cloned();
        // A custom variable keeps existing, with an empty value.
        let value = start.or_else(|| find(name).is_none().then(String::new));
        self.put(name, value, local);
        Ok(())
    }

    /// Puts every variable back, but those of the transaction and the user.
    pub fn reset_all(&mut self) {
        let kept = ["session_authorization", "role", "is_superuser"];
        let mut values = (*self.start).clone();
        for name in kept {
            match self.now.get(name) {
                Some(value) => values.insert(name.to_owned(), value.clone()),
                None => values.remove(name),
            };
        }
        self.after = Arc::new(values);
        self.end();
    }

    /// The transaction has committed: `SET LOCAL` ends.
    pub fn commit(&mut self) {
        self.commit_token = None;
        self.new_attempt = false;
        if Arc::ptr_eq(&self.now, &self.before) && Arc::ptr_eq(&self.after, &self.before) {
            return;
        }
        self.before = self.after.clone();
        self.end();
    }

    /// The transaction has failed: its changes end.
    pub fn rollback(&mut self) {
        self.commit_token = None;
        self.new_attempt = false;
        if Arc::ptr_eq(&self.now, &self.before) && Arc::ptr_eq(&self.after, &self.before) {
            return;
        }
        self.after = self.before.clone();
        self.end();
    }

    fn end(&mut self) {
        let old = std::mem::replace(&mut self.now, self.after.clone());
        self.changed(&old);
    }

    /// A place to come back to.
    pub fn mark(&self) -> SettingsMark {
        SettingsMark { after: self.after.clone(), now: self.now.clone() }
    }

    /// Goes back to a mark.
    ///
    /// What belongs to the whole transaction stays: its client relies on it.
    pub fn rollback_to(&mut self, mark: &SettingsMark) {
        if Arc::ptr_eq(&self.now, &mark.now) && Arc::ptr_eq(&self.after, &mark.after) {
            return;
        }
        self.after = mark.after.clone();
        let old = std::mem::replace(&mut self.now, mark.now.clone());
        self.changed(&old);
    }

    /// Goes back to the mark of the restart savepoint: the attempt is over, so the next one may
    /// take another commit token, or keep it.
    pub fn restart(&mut self, mark: &SettingsMark) {
        self.rollback_to(mark);
        self.new_attempt = true;
    }

    /// Name, value and description of every variable, for `SHOW ALL`.
    pub fn all(&self) -> Vec<(String, String, String)> {
        let known = settings().iter().map(|setting| {
            let value = self.get(setting.name).unwrap_or_default();
            (setting.name.to_owned(), value, setting.description.to_owned())
        });
        let mut rows: Vec<_> = known.collect();
        let custom = self.now.iter().filter(|(name, _)| find(name).is_none());
        rows.extend(custom.map(|(name, value)| (name.clone(), value.clone(), String::new())));
        rows
    }
}

/// Checks a value: its canonical text, or why it is refused.
pub fn check_value(name: &str, values: &[String]) -> Result<String> {
    let Some(setting) = find(name) else {
        if !is_custom(name) {
            return Err(unrecognized(name));
        }
        return Ok(values.join(", "));
    };
    match setting.access {
        Access::User | Access::Superuser | Access::Identity => canonical(setting, values),
        Access::Fixed => Err(Error::new(
            SqlState::CantChangeRuntimeParam,
            format!("parameter \"{}\" cannot be changed", setting.name),
        )),
        Access::Start => Err(Error::new(
            SqlState::CantChangeRuntimeParam,
            format!(
                "parameter \"{}\" cannot be changed without restarting the server",
                setting.name
            ),
        )),
        Access::Transaction => Err(Error::new(
            SqlState::CantChangeRuntimeParam,
            format!("parameter \"{}\" can only be set with SET LOCAL", setting.name),
        )),
    }
}

/// A value that the transaction keeps; 22023 if it has another one already.
fn check_once(settings: &Settings, setting: &Setting, values: &[String]) -> Result<String> {
    let value = canonical(setting, values)?;
    match &settings.commit_token {
        Some(old) if *old != value && !settings.new_attempt => Err(Error::new(
            SqlState::InvalidParameterValue,
            format!("parameter \"{}\" is already set in this transaction", setting.name),
        )),
        _ => Ok(value),
    }
}

fn traceparent_of(values: &BTreeMap<String, String>) -> Option<TraceParent> {
    TraceParent::parse(values.get(TRACEPARENT)?)
}

/// A name with a dot belongs to an extension, or to the user.
fn is_custom(name: &str) -> bool {
    let mut parts = name.split('.');
    let plain = |part: &str| {
        part.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$')
    };
    name.contains('.') && parts.all(plain)
}

/// What values would be with others in their places.
pub(crate) fn active_with(settings: &Settings, others: &[(String, String)]) -> Result<Active> {
    let mut values = BTreeMap::clone(&settings.now);
    for (name, value) in others {
        let lower = name.to_ascii_lowercase();
        values.insert(lower, check_value(name, std::slice::from_ref(value))?);
    }
    Ok(Active::parse(&values))
}

pub(crate) fn denied(name: &str) -> Error {
    let message = format!("permission denied to set parameter \"{name}\"");
    Error::new(SqlState::InsufficientPrivilege, message)
}

fn unrecognized(name: &str) -> Error {
    Error::new(
        SqlState::UndefinedObject,
        format!("unrecognized configuration parameter \"{name}\""),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(settings: &mut Settings, value: &str, local: bool) {
        settings.set("application_name", &[value.to_owned()], local).unwrap();
    }

    fn now(settings: &Settings) -> String {
        settings.show("Application_Name").unwrap()
    }

    #[test]
    fn rollback_undoes_set_and_commit_ends_set_local() {
        let mut settings = Settings::new(BTreeMap::new());
        set(&mut settings, "a", false);
        settings.commit();
        set(&mut settings, "b", false);
        settings.rollback();
        assert_eq!(now(&settings), "a");
        set(&mut settings, "c", false);
        set(&mut settings, "d", true);
        assert_eq!(now(&settings), "d");
        settings.commit();
        assert_eq!(now(&settings), "c");
    }

    #[test]
    fn a_savepoint_brings_both_levels_back() {
        let mut settings = Settings::new(BTreeMap::new());
        set(&mut settings, "a", true);
        let mark = settings.mark();
        set(&mut settings, "b", false);
        settings.rollback_to(&mark);
        assert_eq!(now(&settings), "a");
        settings.commit();
        assert_eq!(now(&settings), "");
    }

    #[test]
    fn a_trace_lasts_as_any_setting_and_nothing_else_is_derived_from_it() {
        let mut settings = Settings::new(BTreeMap::new());
        let set = |settings: &mut Settings, digit: &str, local| {
            let value = format!("00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333{digit}-01");
            settings.set("traceparent", &[value], local).unwrap();
        };
        let parent = |settings: &Settings| settings.traceparent().map(|trace| trace.parent_id & 15);
        set(&mut settings, "1", false);
        settings.commit();
        set(&mut settings, "2", true);
        let mark = settings.mark();
        set(&mut settings, "3", true);
        assert_eq!(parent(&settings), Some(3));
        settings.rollback_to(&mark);
        assert_eq!(parent(&settings), Some(2));
        settings.rollback();
        assert_eq!((parent(&settings), settings.changes()), (Some(1), 0));
        let wrong = settings.set("TraceParent", &["00-1-2-3".to_owned()], true).unwrap_err();
        assert_eq!(wrong.state().code(), "22023");
        assert!(wrong.fields().hint.is_some());
        settings.set("application_name", &["a".to_owned()], true).unwrap();
        settings.reset("traceparent", false).unwrap();
        assert_eq!((parent(&settings), settings.changes()), (None, 1));
        settings.rollback();
        assert_eq!((parent(&settings), settings.changes()), (Some(1), 2));
    }

    #[test]
    fn a_commit_token_stays_until_the_end_of_its_transaction() {
        let mut settings = Settings::new(BTreeMap::new());
        let token = |settings: &mut Settings, digit: &str, local| {
            let value = format!("00000000-0000-7000-8000-00000000000{digit}");
            settings.set("commit_token", &[value], local).map_err(|error| error.state().code())
        };
        assert_eq!(token(&mut settings, "1", false), Err("55P02"));
        let mark = settings.mark();
        assert!(token(&mut settings, "1", true).is_ok());
        assert!(token(&mut settings, "1", true).is_ok());
        assert_eq!(token(&mut settings, "2", true), Err("22023"));
        assert_eq!(token(&mut settings, "x", true), Err("22P02"));
        assert!(settings.reset("commit_token", true).is_err());
        settings.rollback_to(&mark);
        settings.reset_all();
        assert!(settings.commit_token().is_some());
        settings.restart(&mark);
        assert!(settings.commit_token().is_some());
        assert!(token(&mut settings, "3", true).is_ok());
        assert_eq!(token(&mut settings, "2", true), Err("22023"));
        settings.commit();
        assert_eq!(settings.commit_token(), None);
        assert!(token(&mut settings, "2", true).is_ok());
        settings.rollback();
        assert_eq!(settings.commit_token(), None);
    }

    #[test]
    fn reset_goes_back_to_the_start() {
        let start = BTreeMap::from([("application_name".to_owned(), "psql".to_owned())]);
        let mut settings = Settings::new(start);
        set(&mut settings, "x", false);
        settings.reset("application_name", false).unwrap();
        assert_eq!(now(&settings), "psql");
        assert_eq!(settings.show("nope").unwrap_err().state().code(), "42704");
        assert_eq!(settings.reset("server_version", false).unwrap_err().state().code(), "55P02");
        settings.set("my.var", &["1".to_owned()], false).unwrap();
        assert_eq!(settings.show("my.var").unwrap(), "1");
    }
}
