//! The routines of a catalog: by name, by id, and what they are called.

use std::sync::{Arc, LazyLock};

use braid_sql::quote_ident;
use braid_types::SqlType;
use braid_types::sql_type::row_name;

use crate::names::{NameKind, Names, qualified};
use crate::{
    Catalog, CatalogNames, Column, Id, Language, PG_CATALOG, ROOT, Routine, RoutineParameter,
    RoutineResult, RoutineVolatility, SearchPath, virtual_schema,
};

/// The functions for triggers that are built in, with their oids in PostgreSQL.
const TRIGGER_FUNCTIONS: [(Id, &str); 3] = [
    (1291, "suppress_redundant_updates_trigger"),
    (3752, "tsvector_update_trigger"),
    (3753, "tsvector_update_trigger_column"),
];

static BUILT_IN: LazyLock<Vec<Arc<Routine>>> = LazyLock::new(|| {
    let functions = TRIGGER_FUNCTIONS.iter();
    functions.map(|(id, name)| Arc::new(Routine::built_in_trigger(*id, name))).collect()
});

/// The function for triggers of that name that is built in.
pub fn built_in_trigger_function(name: &str) -> Option<&'static Arc<Routine>> {
    BUILT_IN.iter().find(|found| found.name == name)
}

impl Routine {
    fn built_in_trigger(id: Id, name: &str) -> Self {
        Self {
            id,
            database: 0,
            schema: virtual_schema(PG_CATALOG).unwrap_or(0),
            name: name.to_owned(),
            owner: ROOT,
            is_procedure: false,
            aggregate: None,
            parameters: Vec::new(),
            returns: RoutineResult::Trigger,
            result_domain: None,
            returns_set: false,
            language: Language::Internal,
            body: name.to_owned(),
            standard: None,
            uses: Vec::new(),
            volatility: RoutineVolatility::Volatile,
            strict: false,
            leakproof: false,
            parallel: 's',
            cost: None,
            rows: None,
            security_definer: false,
            settings: Vec::new(),
            is_of_call: false,
            grants: Vec::new(),
            comment: None,
        }
    }
}

/// The routines of a catalog.
#[derive(Clone, Copy)]
pub struct Routines<'c> {
    catalog: &'c Catalog,
}

impl<'c> Names<'c> {
    /// The functions and procedures of users.
    pub fn routines(self) -> Routines<'c> {
        Routines { catalog: self.catalog }
    }
}

impl<'c> Routines<'c> {
    /// A routine by id.
    pub fn get(self, id: Id) -> Option<&'c Arc<Routine>> {
        self.catalog.routines.get(id)
    }

    /// The function that triggers call, by id: one of a user, or one that is built in.
    pub fn of_trigger(self, id: Id) -> Option<&'c Arc<Routine>> {
        self.get(id).or_else(|| BUILT_IN.iter().find(|found| found.id == id))
    }

    /// Every routine, by id.
    pub fn iter(self) -> impl Iterator<Item = &'c Arc<Routine>> {
        self.catalog.routines.iter()
    }

    /// The routines of a database, by id.
    pub fn in_database(self, database: Id) -> impl Iterator<Item = &'c Arc<Routine>> {
        self.catalog.routines.in_database(database)
    }

    /// The routines of a schema, by id.
    pub fn in_schema(self, schema: Id) -> impl Iterator<Item = &'c Arc<Routine>> {
        self.iter().filter(move |found| found.schema == schema)
    }

    /// The routine of that name and these types in a schema.
    pub fn find<'t>(
        self,
        schema: Id,
        name: &str,
        types: impl Iterator<Item = &'t SqlType> + Clone,
    ) -> Option<&'c Arc<Routine>> {
        self.of_name(schema, name).find(|found| found.has_types(types.clone()))
    }

    /// The routines of that name in a schema, by id.
    fn of_name<'n>(
        self,
        schema: Id,
        name: &'n str,
    ) -> impl Iterator<Item = &'c Arc<Routine>> + use<'c, 'n>
    where
        'c: 'n,
    {
        let found = self.catalog.object_names.find((NameKind::Routine, schema), name);
        found.filter_map(move |id| self.get(id))
    }

    /// The routines that a name of one or two parts can mean, those of the schema that is
    /// searched first at the front. One with the types of an earlier one is hidden.
    pub fn named(self, path: &SearchPath, name: &[String]) -> Vec<&'c Arc<Routine>> {
        let (schema, name) = match name {
            [name] => (None, name),
            [schema, name] => (Some(schema.as_str()), name),
            [database, schema, name] if *database == path.database_name => {
                (Some(schema.as_str()), name)
            }
            _ => return Vec::new(),
        };
        if self.iter().next().is_none() {
            return Vec::new();
        }
        let names = self.catalog.names();
        let schemas: Vec<&str> = match schema {
            Some(schema) => vec![schema],
            // A temporary one is found only with its schema.
            None => path.names(true).filter(|schema| !names.is_temporary_schema(schema)).collect(),
        };
        let mut visible: Vec<&'c Arc<Routine>> = Vec::new();
        for written in schemas {
            let Some(schema) = names.schema(path.database, written) else { continue };
            let mut here = self.of_name(schema.id, name).peekable();
            // Most schemas do not have the name, so their privileges need not be known.
            if here.peek().is_none() || !names.may_search(path, written) {
                continue;
            }
            for found in here {
                if !visible.iter().any(|known| known.has_types(found.types())) {
                    visible.push(found);
                }
            }
        }
        visible
    }

    /// Whether the search path finds the routine by its name alone.
    pub fn is_visible(self, path: &SearchPath, routine: &Routine) -> bool {
        let named = self.named(path, std::slice::from_ref(&routine.name));
        named.iter().any(|found| found.id == routine.id)
    }

    /// A routine's name as a session has to write it; without a path always with its schema.
    pub fn text(self, path: Option<&SearchPath>, routine: &Routine) -> String {
        let is_built_in = routine.language == Language::Internal;
        match is_built_in || path.is_some_and(|path| self.is_visible(path, routine)) {
            true => quote_ident(&routine.name),
            false => qualified(&self.catalog.schema_name(routine.schema), &routine.name),
        }
    }

    /// The name with the types of the arguments, as `regprocedure` shows it.
    pub fn signature(self, path: Option<&SearchPath>, routine: &Routine, between: &str) -> String {
        let types = routine.inputs().map(|known| self.value_text(path, &known.ty, known.domain));
        let types: Vec<String> = types.collect();
        format!("{}({})", self.text(path, routine), types.join(between))
    }

    /// The name of a domain, or of the type where there is none.
    pub fn value_text(self, path: Option<&SearchPath>, ty: &SqlType, domain: Option<Id>) -> String {
        match domain.and_then(|id| self.catalog.domains().get(id)) {
            Some(domain) => self.catalog.domains().text(path, domain),
            None => self.type_text(path, ty),
        }
    }

    /// A type's name as a session has to write it, without modifiers.
    pub fn type_text(self, path: Option<&SearchPath>, ty: &SqlType) -> String {
        let brackets = if ty.is_array() { "[]" } else { "" };
        if let Some(name) = row_name(ty) {
            return format!("{}{brackets}", self.catalog.names().row_types().text(path, name));
        }
        let found = ty.inner_enum().and_then(|found| self.catalog.enums().get(found.oid));
        match found {
            Some(found) => {
                format!("{}{brackets}", self.catalog.enums().text(path, found))
            }
            None => {
                let prefix = path.and_then(|path| crate::type_schema(self.catalog, path, ty));
                let prefix = prefix.map(|schema| format!("{schema}.")).unwrap_or_default();
                format!("{prefix}{}", ty.plain_name())
            }
        }
    }
}

impl CatalogNames<'_> {
    /// The DEFAULT of a parameter as definitions show it.
    pub fn parameter_default(&self, routine: &Routine, place: usize) -> Option<String> {
        let parameter = routine.parameters.get(place)?;
        let row = parameter_row(routine, parameter);
        parameter.default.as_ref().map(|expr| self.expr(&row, expr, false))
    }
}

/// A table of one column that stands for a parameter in its DEFAULT, which reads no column.
fn parameter_row(routine: &Routine, parameter: &RoutineParameter) -> crate::Table {
    let name = parameter.name.clone().unwrap_or_default();
    let column = Column::plain(1, &name, parameter.ty.clone());
    crate::Table::of_column(
        column,
        (routine.database, routine.schema),
        &routine.name,
        routine.owner,
    )
}
