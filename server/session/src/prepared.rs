//! Prepared statements: a statement of a text, what its parameters and columns are.

use std::sync::Arc;

use braid_plan::PlanContext;
use braid_sql::ast::{Query, ShowTarget, Statement};
use braid_types::{Error, Result, SqlState, SqlType};
use parking_lot::Mutex;

use crate::client::ResultColumn;
use crate::clock::now_micros;
use crate::explain::explained_execute;
use crate::plan_cache::{CachedPlan, ParsedText};
use crate::session::Session;
use crate::show;
use crate::skeleton::Given;

/// A statement ready to be bound.
pub(crate) struct Prepared {
    /// Its name; empty for the unnamed one.
    pub name: String,
    /// The text, which may hold other statements as well.
    pub parsed: Arc<ParsedText>,
    /// Which of them it is; `None` for an empty text.
    pub index: Option<usize>,
    /// Its text, where `parsed` is only its skeleton.
    pub text: Option<Arc<str>>,
    /// What it has instead of the skeleton's parameters.
    pub given: Option<Given>,
    /// Parameter types as far as the client said.
    pub hints: Vec<SqlType>,
    /// Parameter types.
    pub params: Vec<SqlType>,
    /// The columns promised to the client; `None` if it returns no rows.
    pub columns: Option<Arc<[ResultColumn]>>,
    /// By PREPARE, else by the protocol.
    pub from_sql: bool,
    /// When it was prepared.
    pub time: i64,
    /// The plan that was used last.
    pub plan: Mutex<Option<Arc<CachedPlan>>>,
}

impl Prepared {
    pub(crate) fn new(
        name: &str,
        parsed: Arc<ParsedText>,
        index: Option<usize>,
        hints: Vec<SqlType>,
    ) -> Prepared {
        Prepared {
            name: name.to_owned(),
            parsed,
            index,
            text: None,
            given: None,
            hints,
            params: Vec::new(),
            columns: None,
            from_sql: false,
            time: now_micros(),
            plan: Mutex::new(None),
        }
    }

    /// The statement; `None` for an empty text.
    pub(crate) fn statement(&self) -> Option<&Statement> {
        self.parsed.statements.get(self.index?).map(|parsed| &parsed.statement)
    }

    /// The whole text that it came in.
    pub(crate) fn whole_text(&self) -> &Arc<str> {
        self.text.as_ref().unwrap_or(&self.parsed.text)
    }

    /// The highest parameter that occurs.
    pub(crate) fn parameters(&self) -> usize {
        let parsed = self.index.and_then(|index| self.parsed.statements.get(index));
        parsed.map_or(0, |parsed| parsed.parameters)
    }

    /// The statement's own text.
    pub(crate) fn text(&self) -> &str {
        if let Some(text) = &self.text {
            let is_around = |c: char| c.is_ascii_whitespace() || c == ';';
            return text.trim_ascii_start().trim_end_matches(is_around);
        }
        let range = self.index.and_then(|index| self.parsed.statements.get(index));
        range.and_then(|parsed| self.parsed.text.get(parsed.text.clone())).unwrap_or_default()
    }

    /// 42P02: a statement that is given no values has a parameter.
    pub(crate) fn no_parameter(&self) -> Error {
        let number = self.parameters();
        let error =
            Error::new(SqlState::UndefinedParameter, format!("there is no parameter ${number}"));
        if self.text.is_some() {
            return error;
        }
        let statement = self.index.and_then(|index| self.parsed.statements.get(index));
        let before = statement.and_then(|parsed| self.parsed.text.get(..parsed.text.start));
        let after = before.map_or(0, |text| text.chars().count()) as u32 + 1;
        error.position(braid_sql::find_parameter(&self.parsed.text, after, number))
    }
}

/// Whether a statement may be carried out again by a new attempt of its transaction: all that it
/// does belongs to the transaction.
pub(crate) fn is_repeatable(statement: &Statement) -> bool {
    let is_notification = matches!(
        statement,
        Statement::Listen(_) | Statement::Unlisten(_) | Statement::Notify { .. }
    );
    is_planned(statement) || is_notification
}

/// Whether the planner takes this statement.
pub(crate) fn is_planned(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Query(_)
            | Statement::QueryWithChanges { .. }
            | Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::Explain(_)
    )
}

/// The query of DECLARE CURSOR and CREATE TABLE AS, which may have parameters.
fn query_inside(statement: &Statement) -> Option<&Query> {
    match statement {
        Statement::DeclareCursor(declare) => Some(&declare.query),
        Statement::CreateTable(create) => create.as_query.as_deref(),
        _ => None,
    }
}

/// Whether a failed block takes this statement.
pub(crate) fn ends_failure(statement: &Statement) -> bool {
    matches!(statement, Statement::Commit { .. } | Statement::Rollback { .. })
}

/// Whether a block takes this statement in whatever state it is.
pub(crate) fn runs_in_any_block(statement: &Statement) -> bool {
    ends_failure(statement) || matches!(statement, Statement::Show(ShowTarget::TransactionStatus))
}

/// Types by oid, as Parse gives them; 42704 for one that does not exist.
pub(crate) fn hint_types(oids: &[u32]) -> Result<Vec<SqlType>> {
    let type_of = |oid: &u32| match *oid {
        // 705 is `unknown`.
        0 | 705 => Ok(SqlType::Unknown),
        oid => SqlType::from_oid(oid).ok_or_else(|| {
            Error::new(SqlState::UndefinedObject, format!("type with OID {oid} does not exist"))
        }),
    };
    oids.iter().map(type_of).collect()
}

/// 26000: there is no such prepared statement.
pub(crate) fn unknown_statement(name: &str) -> Error {
    let message = match name {
        "" => "unnamed prepared statement does not exist".to_owned(),
        name => format!("prepared statement \"{name}\" does not exist"),
    };
    Error::new(SqlState::InvalidSqlStatementName, message).routine("FetchPreparedStatement")
}

impl Session {
    /// Parse: prepares a statement.
    pub(crate) async fn prepare_text(
        &mut self,
        name: &str,
        sql: &str,
        oids: &[u32],
    ) -> Result<Arc<Prepared>> {
        if !name.is_empty() && self.prepared.contains_key(name) {
            return Err(duplicate(name));
        }
        if let Some(prepared) = self.prepare_shared(name, sql, oids).await {
            return Ok(Arc::new(prepared));
        }
        let parsed = self.server.plans.parse(sql)?;
        if parsed.statements.len() > 1 {
            return Err(Error::new(
                SqlState::SyntaxError,
                "cannot insert multiple commands into a prepared statement",
            ));
        }
        let index = (!parsed.statements.is_empty()).then_some(0);
        let hints = self.types_by_oid(oids).await?;
        let prepared = Prepared::new(name, parsed, index, hints);
        self.describe_new(prepared).await.map(Arc::new)
    }

    /// Types by oid, those of users included; 42704 for one that does not exist.
    async fn types_by_oid(&mut self, oids: &[u32]) -> Result<Vec<SqlType>> {
        match hint_types(oids) {
            Err(error) if error.state() == SqlState::UndefinedObject => {}
            known => return known,
        }
        let seq = self.ensure_open().txn.next_statement();
        let catalog = self.catalog_at(seq).await?;
        let type_of = |oid: &u32| match catalog.enum_type(*oid) {
            Some(ty) => Ok(vec![ty]),
            None => hint_types(&[*oid]),
        };
        let types = oids.iter().map(type_of).collect::<Result<Vec<_>>>()?;
        Ok(types.concat())
    }

    /// The types of a statement's parameters, with the labels that their enums have now.
    pub(crate) async fn current_params(&mut self, prepared: &Prepared) -> Result<Vec<SqlType>> {
        let mut types = prepared.params.clone();
        if types.iter().any(|ty| ty.inner_enum().is_some()) {
            let seq = self.ensure_open().txn.next_statement();
            let catalog = self.catalog_at(seq).await?;
            types.iter_mut().for_each(|ty| catalog.refresh_type(ty));
        }
        Ok(types)
    }

    /// Finds out a new statement's parameters and columns.
    pub(crate) async fn describe_new(&mut self, mut prepared: Prepared) -> Result<Prepared> {
        let Some(statement) = prepared.statement().cloned() else { return Ok(prepared) };
        if !runs_in_any_block(&statement) {
            self.check_block()?;
        }
        if let Some(rewritten) = show_query(&statement) {
            prepared.parsed = self.server.plans.parse(&rewritten)?;
            prepared.index = Some(0);
        }
        if let Some((explain, _)) = explained_execute(Some(&statement)) {
            prepared.params = prepared.hints.clone();
            prepared.columns = Some(crate::explain::columns(explain)?);
            return Ok(prepared);
        }
        if prepared.statement().is_some_and(is_planned) {
            let plan = self.plan_now(&prepared).await?;
            prepared.params = plan.plan.params.clone();
            prepared.columns = (!plan.columns.is_empty() || returns_rows(&statement))
                .then(|| plan.columns.clone());
            *prepared.plan.lock() = Some(plan);
            return Ok(prepared);
        }
        prepared.params = match query_inside(&statement) {
            Some(query) if prepared.parameters() > 0 => {
                self.parameters_of(&prepared, query).await?
            }
            _ => prepared.hints.clone(),
        };
        prepared.columns = match &statement {
            Statement::Show(target) => Some(show::columns(target)),
            Statement::CheckTable(_) => Some(crate::check_table::columns()),
            Statement::Execute(execute) => {
                let name = braid_sql::fold(&execute.name);
                let target = self.prepared.get(&name).ok_or_else(|| unknown_statement(&name))?;
                target.columns.clone()
            }
            Statement::Fetch(fetch) if !fetch.is_move => {
                let name = braid_sql::fold(&fetch.name);
                self.portals.get(&name).and_then(|portal| portal.columns().cloned())
            }
            _ => None,
        };
        let holds_others = matches!(statement, Statement::Prepare(_));
        if prepared.parameters() > prepared.params.len() && !holds_others {
            return Err(prepared.no_parameter());
        }
        Ok(prepared)
    }

    /// The types of the parameters of a query that is part of a statement.
    async fn parameters_of(&mut self, prepared: &Prepared, query: &Query) -> Result<Vec<SqlType>> {
        let seq = self.ensure_open().txn.next_statement();
        let catalog = self.catalog_ahead(seq).await?;
        let env = self.environment(&catalog);
        let path = &env.lookup.path;
        let cx = PlanContext {
            catalog: &catalog,
            path,
            env: &env,
            text: &prepared.parsed.text,
            param_types: &prepared.hints,
        };
        let query = Statement::Query(Box::new(query.clone()));
        Ok(braid_plan::plan(&query, &cx)?.params)
    }

    /// Keeps a prepared statement by its name.
    pub(crate) fn keep_prepared(&mut self, prepared: Arc<Prepared>) {
        self.prepared.insert(prepared.name.clone(), prepared);
        self.note_prepared();
    }

    /// Tells the catalog views which prepared statements there are.
    pub(crate) fn note_prepared(&self) {
        let mut list: Vec<_> = self
            .prepared
            .values()
            .filter(|prepared| !prepared.name.is_empty())
            .map(|prepared| braid_catalog::PreparedInfo {
                name: prepared.name.clone(),
                statement: prepared.text().to_owned(),
                prepare_time: prepared.time,
                parameter_types: prepared.params.iter().map(SqlType::oid).collect(),
                from_sql: prepared.from_sql,
            })
            .collect();
        list.sort_by(|a, b| a.name.cmp(&b.name));
        self.shared.state.lock().prepared = list;
    }
}

/// 42P05: the name is taken.
pub(crate) fn duplicate(name: &str) -> Error {
    Error::new(
        SqlState::DuplicatePreparedStatement,
        format!("prepared statement \"{name}\" already exists"),
    )
}

/// Whether a statement answers with rows, even if they have no columns.
pub(crate) fn returns_rows(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Query(_)
            | Statement::QueryWithChanges { .. }
            | Statement::Explain(_)
            | Statement::Show(_)
            | Statement::CheckTable(_)
    )
}

/// The query that a SHOW of objects stands for.
fn show_query(statement: &Statement) -> Option<String> {
    match statement {
        Statement::Show(ShowTarget::All | ShowTarget::Variable(_)) => None,
        Statement::Show(target) => show::query(target),
        _ => None,
    }
}
