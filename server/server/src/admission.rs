//! Who may begin a session: places, authentication, the rights of roles.
//!
//! Rule: a place is given back when its session, or its failed start, ends.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use braid_auth::{ScramExchange, ScramSecret};
use braid_catalog::Object;
use braid_session::{Login, Session, SessionOptions};
use braid_types::{Error, Result, SqlState};

use crate::server::Server;

/// How a client proves who it is.
pub enum Authentication {
    /// It need not.
    Trust,
    /// By SCRAM-SHA-256.
    Scram(Box<ScramExchange>),
}

/// A place among `max_connections`, given back when dropped; or one beside them.
pub struct Permit(Option<Arc<Server>>);

impl Permit {
    /// For a session of a job: it takes no client's place.
    pub(crate) fn of_job() -> Permit {
        Permit(None)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(server) = &self.0 {
            server.admitted.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

impl Server {
    /// A place for one more session; 53300 if all are taken, 57P03 while the server ends.
    pub fn admit(self: &Arc<Self>) -> Result<Permit> {
        if self.is_ending() {
            let message = "the database system is shutting down";
            return Err(Error::new(SqlState::CannotConnectNow, message));
        }
        let before = self.admitted.fetch_add(1, Ordering::AcqRel);
        let permit = Permit(Some(self.clone()));
        if before < self.options.connections_max {
            return Ok(permit);
        }
        self.refused.fetch_add(1, Ordering::Relaxed);
        Err(Error::new(SqlState::TooManyConnections, "sorry, too many clients already")
            .detail(format!("max_connections is {}.", self.options.connections_max))
            .hint("Use a connection pool, or start the server with a larger --max-connections."))
    }

    /// How this client has to prove who it is; 28000 if it may not come in at all.
    pub async fn authentication(&self, options: &SessionOptions) -> Result<Authentication> {
        let catalog = self.engine.catalog_now().await?;
        let role = catalog.names().role(&options.user);
        let local = options.is_loopback() || self.options.insecure;
        let refused =
            |message: String| Err(Error::new(SqlState::InvalidAuthorizationSpecification, message));
        match role {
            Some(role) => match role.password.as_deref() {
                Some(text) => {
                    let exchange =
                        ScramExchange::new(&role.name, ScramSecret::parse(text), &self.seed);
                    Ok(Authentication::Scram(Box::new(exchange)))
                }
                None if local => Ok(Authentication::Trust),
                None => refused(format!(
                    "user \"{}\" has no password and may connect from the server's machine only",
                    options.user
                )),
            },
            None if local => refused(format!("role \"{}\" does not exist", options.user)),
            // Who is not on this machine does not learn which users exist.
            None => {
                let exchange = ScramExchange::new(&options.user, None, &self.seed);
                Ok(Authentication::Scram(Box::new(exchange)))
            }
        }
    }

    /// Begins a session for a client that has proved who it is; 28000, 3D000, 42501 or 53300 if
    /// the user or the database does not take it.
    pub async fn open_session(
        self: &Arc<Self>,
        options: SessionOptions,
        permit: Permit,
    ) -> Result<Session> {
        let catalog = self.engine.catalog_now().await?;
        let invalid =
            |message: String| Error::new(SqlState::InvalidAuthorizationSpecification, message);
        let role = catalog
            .names()
            .role(&options.user)
            .ok_or_else(|| invalid(format!("role \"{}\" does not exist", options.user)))?;
        if !role.login {
            return Err(invalid(format!("role \"{}\" is not permitted to log in", role.name)));
        }
        let database = catalog.names().database(&options.database).ok_or_else(|| {
            Error::new(
                SqlState::InvalidCatalogName,
                format!("database \"{}\" does not exist", options.database),
            )
        })?;
        if !catalog.privileges().has(role.id, Object::Database(database), "CONNECT") {
            return Err(Error::new(
                SqlState::InsufficientPrivilege,
                format!("permission denied for database \"{}\"", database.name),
            )
            .detail("User does not have CONNECT privilege."));
        }
        if database.refuses_connections {
            let name = &database.name;
            let message = format!("database \"{name}\" is not currently accepting connections");
            return Err(Error::new(SqlState::ObjectNotInPrerequisiteState, message));
        }
        let of_database = || self.engine.sessions.count_of_database(&database.name);
        if let Some(limit) = database.connection_limit
            && !role.superuser
            && usize::try_from(limit).is_ok_and(|limit| of_database() >= limit)
        {
            return Err(Error::new(
                SqlState::TooManyConnections,
                format!("too many connections for database \"{}\"", database.name),
            ));
        }
        let of_role = || self.engine.sessions.count_of_user(&role.name);
        if let Some(limit) = role.connection_limit
            && !role.superuser
            && usize::try_from(limit).is_ok_and(|limit| of_role() >= limit)
        {
            return Err(Error::new(
                SqlState::TooManyConnections,
                format!("too many connections for role \"{}\"", role.name),
            ));
        }
        let login = Login { catalog: &catalog, role, database };
        Session::open(&self.engine, options, login, Box::new(permit))
    }
}
