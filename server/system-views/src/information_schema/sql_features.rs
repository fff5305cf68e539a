//! `information_schema.sql_features`: which features of the SQL standard there are.
//!
//! The list has the features that programs ask for, not all of the standard. A feature counts as
//! supported if all of it works.

use braid_types::{Result, Row};

use crate::cell::{text, yes_no};
use crate::context::{RowsOf, VirtualContext};
use crate::row_builder::RowBuilder;

pub(crate) fn rows_of(name: &str) -> Option<RowsOf> {
    (name == "sql_features").then_some(sql_features as RowsOf)
}

/// Number, name, and whether it is supported.
const FEATURES: &[(&str, &str, bool)] = &[
    ("B021", "Direct SQL", true),
    ("E011", "Numeric data types", true),
    ("E021", "Character data types", true),
    ("E031", "Identifiers", true),
    ("E051", "Basic query specification", true),
    ("E061", "Basic predicates and search conditions", true),
    ("E071", "Basic query expressions", true),
    ("E081", "Basic privileges", false),
    ("E091", "Set functions", true),
    ("E101", "Basic data manipulation", true),
    ("E111", "Single row SELECT statement", true),
    ("E121", "Basic cursor support", false),
    ("E131", "Null value support (nulls in lieu of values)", true),
    ("E141", "Basic integrity constraints", true),
    ("E151", "Transaction support", true),
    ("E152", "Basic SET TRANSACTION statement", true),
    ("E153", "Updatable queries with subqueries", true),
    ("E161", "SQL comments using leading double minus", true),
    ("E171", "SQLSTATE support", true),
    ("F021", "Basic information schema", true),
    ("F031", "Basic schema manipulation", true),
    ("F041", "Basic joined table", true),
    ("F051", "Basic date and time", true),
    ("F052", "Intervals and datetime arithmetic", true),
    ("F081", "UNION and EXCEPT in views", true),
    ("F111", "Isolation levels other than SERIALIZABLE", true),
    ("F131", "Grouped operations", true),
    ("F171", "Multiple schemas per user", true),
    ("F191", "Referential delete actions", true),
    ("F201", "CAST function", true),
    ("F221", "Explicit defaults", true),
    ("F222", "INSERT statement: DEFAULT VALUES clause", true),
    ("F261", "CASE expression", true),
    ("F271", "Compound character literals", true),
    ("F302", "INTERSECT table operator", true),
    ("F304", "EXCEPT ALL table operator", true),
    ("F311", "Schema definition statement", true),
    ("F312", "MERGE statement", false),
    ("F321", "User authorization", true),
    ("F381", "Extended schema manipulation", true),
    ("F391", "Long identifiers", true),
    ("F401", "Extended joined table", true),
    ("F411", "Time zone specification", true),
    ("F442", "Mixed column references in set functions", true),
    ("F461", "Named character sets", false),
    ("F471", "Scalar subquery values", true),
    ("F481", "Expanded NULL predicate", true),
    ("F521", "Assertions", false),
    ("F531", "Temporary tables", true),
    ("F561", "Full value expressions", true),
    ("F571", "Truth value tests", true),
    ("F591", "Derived tables", true),
    ("F661", "Simple tables", true),
    ("F690", "Collation support", false),
    ("F701", "Referential update actions", true),
    ("F721", "Deferrable constraints", true),
    ("F731", "INSERT column privileges", false),
    ("F751", "View CHECK enhancements", false),
    ("F781", "Self-referencing operations", true),
    ("F850", "Top-level ORDER BY in query expression", true),
    ("F860", "dynamic FETCH FIRST row count", true),
    ("F861", "Top-level OFFSET in query expression", true),
    ("S071", "SQL paths in function and type name resolution", true),
    ("S091", "Basic array support", false),
    ("T031", "BOOLEAN data type", true),
    ("T071", "BIGINT data type", true),
    ("T121", "WITH (excluding RECURSIVE) in query expression", true),
    ("T131", "Recursive query", true),
    ("T141", "SIMILAR predicate", true),
    ("T151", "DISTINCT predicate", true),
    ("T171", "LIKE clause in table definition", true),
    ("T172", "AS subquery clause in table definition", true),
    ("T174", "Identity columns", true),
    ("T176", "Sequence generator support", true),
    ("T191", "Referential action RESTRICT", true),
    ("T201", "Comparable data types for referential constraints", true),
    ("T211", "Basic trigger capability", false),
    ("T271", "Savepoints", true),
    ("T321", "Basic SQL-invoked routines", false),
    ("T331", "Basic roles", true),
    ("T431", "Extended grouping capabilities", true),
    ("T441", "ABS and MOD functions", true),
    ("T461", "Symmetric BETWEEN predicate", true),
    ("T491", "LATERAL derived table", true),
    ("T501", "Enhanced EXISTS predicate", true),
    ("T611", "Elementary OLAP operations", true),
    ("T621", "Enhanced numeric functions", true),
    ("T631", "IN predicate with one list element", true),
];

fn sql_features(_: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns =
        ["feature_id", "feature_name", "sub_feature_id", "sub_feature_name", "is_supported"];
    let mut builder = RowBuilder::new("information_schema.sql_features", &columns);
    for (id, name, is_supported) in FEATURES {
        builder.push([text(id), text(name), text(""), text(""), yes_no(*is_supported)]);
    }
    builder.rows()
}
