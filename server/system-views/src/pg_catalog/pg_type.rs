//! `pg_type`: built-in types, pseudo-types, enums, domains, composite types and other row types.
//! `pg_enum`.

use braid_builtins::{PSEUDO_TYPES, PseudoType, input_function, row_array_type, row_type};
use braid_types::geometry::Shape;
use braid_types::{Datum, EnumLabel, Result, Row, SqlType, sql_type};

use crate::cell::{acl_items, flag, int, letter, optional, text};
use crate::context::{RowsOf, VirtualContext};
use crate::pg_catalog::attributes::{alignment, by_value, collation, collation_oid};
use crate::row_builder::RowBuilder;
use braid_catalog::{Domain, Enum, Id, Object, ROOT, virtual_schema, virtual_tables};

pub(crate) fn rows_of(name: &str) -> Option<RowsOf> {
    Some(match name {
        "pg_type" => pg_type,
        "pg_enum" => pg_enum,
        _ => return None,
    })
}

/// The oid of `pg_catalog`.
const SYSTEM_SCHEMA: Id = 11;

/// The oid of `cstring`.
const CSTRING: u32 = 2275;

/// What a row of `pg_type` says.
struct TypeRow<'a> {
    oid: u32,
    name: &'a str,
    schema: Id,
    owner: Id,
    len: i16,
    by_value: bool,
    kind: char,
    category: char,
    preferred: bool,
    relation: Id,
    element: u32,
    array: u32,
    align: &'a str,
    storage: char,
    collation: u32,
    acl: Option<Vec<String>>,
    domain: Option<DomainPart>,
}

/// What only domains have.
struct DomainPart {
    not_null: bool,
    base: u32,
    typmod: i32,
    dimensions: i32,
    default: Option<String>,
}

impl<'a> TypeRow<'a> {
    fn built_in(ty: &SqlType, name: &'a str) -> Self {
        let pseudo = matches!(ty.innermost(), SqlType::Record(_))
            || matches!(ty, SqlType::Void | SqlType::Unknown);
        let element = match ty {
            SqlType::Name => SqlType::InternalChar.oid(),
            SqlType::Geometry(Shape::Point | Shape::Line) => SqlType::Float8.oid(),
            SqlType::Geometry(Shape::Segment | Shape::Corners) => {
                SqlType::Geometry(Shape::Point).oid()
            }
            ty => ty.element().map_or(0, SqlType::oid),
        };
        TypeRow {
            oid: ty.oid(),
            name,
            schema: SYSTEM_SCHEMA,
            owner: ROOT,
            len: sql_type::length(ty),
            by_value: by_value(ty),
            kind: match ty {
                SqlType::Range(_) => 'r',
                SqlType::Multirange(_) => 'm',
                _ if pseudo => 'p',
                _ => 'b',
            },
            category: if pseudo && ty.is_array() { 'P' } else { sql_type::category(ty) },
            preferred: sql_type::is_preferred(ty),
            relation: 0,
            element,
            array: if matches!(ty, SqlType::Array(_)) { 0 } else { sql_type::array_oid(ty) },
            align: alignment(ty),
            storage: sql_type::storage(ty),
            collation: collation(ty),
            acl: None,
            domain: None,
        }
    }

    fn pseudo(ty: &'a PseudoType) -> Self {
        let is_array = ty.name.starts_with('_');
        TypeRow {
            oid: ty.oid,
            name: ty.name,
            schema: SYSTEM_SCHEMA,
            owner: ROOT,
            len: ty.len,
            by_value: ty.len > 0,
            kind: if is_array { 'b' } else { 'p' },
            category: if is_array { 'A' } else { 'P' },
            preferred: false,
            relation: 0,
            element: if is_array { CSTRING } else { 0 },
            array: ty.array_oid,
            align: match ty.len {
                _ if is_array => "i",
                4 => "i",
                -2 => "c",
                _ => "d",
            },
            storage: if ty.len == -1 { 'x' } else { 'p' },
            collation: 0,
            acl: None,
            domain: None,
        }
    }

    /// The row type of a relation; its arrays' row is [`TypeRow::array_of_rows`].
    fn of_rows(relation: Id, name: &'a str, schema: Id, owner: Id) -> Self {
        TypeRow {
            oid: row_type(relation),
            name,
            schema,
            owner,
            len: -1,
            by_value: false,
            kind: 'c',
            category: 'C',
            preferred: false,
            relation,
            element: 0,
            array: row_array_type(relation),
            align: "d",
            storage: 'x',
            collation: 0,
            acl: None,
            domain: None,
        }
    }

    /// An enum; its arrays' row is [`TypeRow::array_of_enum`].
    fn of_enum(found: &'a Enum) -> Self {
        TypeRow {
            oid: found.id,
            name: &found.name,
            schema: found.schema,
            owner: found.owner,
            len: 4,
            by_value: true,
            kind: 'e',
            category: 'E',
            preferred: false,
            relation: 0,
            element: 0,
            array: found.array,
            align: "i",
            storage: 'p',
            collation: 0,
            acl: None,
            domain: None,
        }
    }

    fn array_of_enum(found: &'a Enum) -> Self {
        TypeRow {
            oid: found.array,
            name: &found.array_name,
            len: -1,
            by_value: false,
            kind: 'b',
            category: 'A',
            element: found.id,
            array: 0,
            storage: 'x',
            ..TypeRow::of_enum(found)
        }
    }

    /// A domain: as the type below it, but for its name and its constraints.
    fn of_domain(cx: &VirtualContext<'_>, found: &'a Domain, base: &SqlType) -> Self {
        let of_times = found.modifier.unwrap_or_else(|| base.typmod());
        let (typmod, dimensions) = match found.parent {
            Some(_) => (-1, 0),
            None => (of_times, i32::from(base.is_array()) + i32::from(found.more_dimensions)),
        };
        let lower = found.parent.unwrap_or_else(|| base.oid());
        let default = cx.names().domain_default(found);
        TypeRow {
            oid: found.id,
            schema: found.schema,
            owner: found.owner,
            kind: 'd',
            preferred: false,
            element: 0,
            array: found.array,
            collation: found.collation.as_deref().map_or_else(|| collation(base), collation_oid),
            domain: Some(DomainPart {
                not_null: found.not_null,
                base: lower,
                typmod,
                dimensions,
                default,
            }),
            ..TypeRow::built_in(base, &found.name)
        }
    }

    fn array_of_rows(of: &TypeRow<'_>, name: &'a str) -> Self {
        TypeRow {
            oid: of.array,
            name,
            kind: 'b',
            category: 'A',
            relation: 0,
            element: of.oid,
            array: 0,
            ..TypeRow::of_rows(of.relation, name, of.schema, of.owner)
        }
    }

    fn push(&self, builder: &mut RowBuilder) {
        let input = match self.kind {
            'c' => "record",
            'e' => "enum",
            'd' => "domain_",
            'r' => "range",
            'm' => "multirange",
            _ => self.name,
        };
        let domain = self.domain.as_ref();
        let default = optional(domain.and_then(|domain| domain.default.as_deref()));
        let is_array = self.category == 'A' && domain.is_none();
        let input = if is_array && self.element != 0 && !self.is_vector() { "_" } else { input };
        builder.push([
            int(self.oid),
            text(self.name),
            int(self.schema),
            int(self.owner),
            int(self.len),
            flag(self.by_value),
            letter(self.kind),
            letter(self.category),
            flag(self.preferred),
            flag(true),
            text(if is_boxes(self.oid) { ";" } else { "," }),
            int(self.relation),
            int(self.element),
            int(self.array),
            int(input_function(input)),
            text(self.align),
            letter(self.storage),
            flag(domain.is_some_and(|domain| domain.not_null)),
            int(domain.map_or(0, |domain| domain.base)),
            int(domain.map_or(-1, |domain| domain.typmod)),
            int(domain.map_or(0, |domain| domain.dimensions)),
            int(self.collation),
            default.clone(),
            default,
            acl_items(self.acl.clone()),
        ]);
    }

    fn is_vector(&self) -> bool {
        SqlType::from_oid(self.oid).is_some_and(|ty| ty.is_vector())
    }
}

/// Whether a type is that of boxes or of their arrays.
fn is_boxes(oid: u32) -> bool {
    SqlType::from_oid(oid).is_some_and(|ty| *ty.innermost() == SqlType::Geometry(Shape::Corners))
}

/// The domains, each with the type of its arrays.
fn push_domains(builder: &mut RowBuilder, cx: &VirtualContext<'_>) {
    for found in cx.catalog.domains().in_database(cx.path.database) {
        let acl = cx.catalog.privileges().acl(Object::Domain(found));
        let base = cx.catalog.domains().base(found);
        let row = TypeRow { acl, ..TypeRow::of_domain(cx, found, &base) };
        if found.array != 0 {
            let name = format!("_{}", found.name);
            TypeRow {
                oid: found.array,
                name: &name,
                schema: found.schema,
                owner: found.owner,
                element: found.id,
                array: 0,
                ..TypeRow::built_in(&base.clone().array(), &name)
            }
            .push(builder);
        }
        row.push(builder);
    }
}

fn pg_type(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
        "pg_type",
        &[
            "oid",
            "typname",
            "typnamespace",
            "typowner",
            "typlen",
            "typbyval",
            "typtype",
            "typcategory",
            "typispreferred",
            "typisdefined",
            "typdelim",
            "typrelid",
            "typelem",
            "typarray",
            "typinput",
            "typalign",
            "typstorage",
            "typnotnull",
            "typbasetype",
            "typtypmod",
            "typndims",
            "typcollation",
            "typdefaultbin",
            "typdefault",
            "typacl",
        ],
    );
    for ty in sql_type::all() {
        TypeRow::built_in(&ty, ty.short_name()).push(&mut builder);
    }
    for ty in PSEUDO_TYPES {
        TypeRow::pseudo(ty).push(&mut builder);
    }
    for found in cx.catalog.enums().in_database(cx.path.database) {
        let acl = cx.catalog.privileges().acl(Object::Enum(found));
        TypeRow { acl, ..TypeRow::of_enum(found) }.push(&mut builder);
        TypeRow::array_of_enum(found).push(&mut builder);
    }
    push_domains(&mut builder, cx);
    let mut add = |relation: Id, name: &str, schema: Id, owner: Id, acl: Option<Vec<String>>| {
        let row = TypeRow { acl, ..TypeRow::of_rows(relation, name, schema, owner) };
        TypeRow::array_of_rows(&row, &format!("_{name}")).push(&mut builder);
        row.push(&mut builder);
    };
    for table in cx.catalog.tables().in_database(cx.path.database) {
        add(table.id, &table.name, table.schema, table.owner, None);
    }
    for found in cx.catalog.names().composites().in_database(cx.path.database) {
        let acl = cx.catalog.privileges().acl(Object::Composite(found));
        add(found.id, &found.name, found.schema, found.owner, acl);
    }
    for view in cx.catalog.views().in_database(cx.path.database) {
        add(view.id, &view.name, view.schema, view.owner, None);
    }
    for table in virtual_tables() {
        let schema = virtual_schema(table.schema).unwrap_or_default();
        add(table.oid, table.name, schema, ROOT, None);
    }
    builder.rows()
}

fn pg_enum(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = ["oid", "enumtypid", "enumsortorder", "enumlabel"];
    let mut builder = RowBuilder::new("pg_enum", &columns);
    for found in cx.catalog.enums().in_database(cx.path.database) {
        let ty = cx.catalog.enums().type_of(found.id);
        for label in ty.iter().filter_map(SqlType::as_enum).flat_map(|ty| &ty.labels) {
            let order = Datum::Float(EnumLabel::sort_order(label));
            builder.push([int(label.oid), int(found.id), order, text(&label.name)]);
        }
    }
    builder.rows()
}
