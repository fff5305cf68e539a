//! Types by name and names of types, as `regtype` and `format_type` have them.
//!
//! Here: the grammar of a type's name, pseudo-types, row types. Not here: types in statements
//! (`plan` binds what the parser found).
//!
//! ```text
//!   int[]   varchar(20)   timestamp (3) with time zone   pg_catalog."varchar"   "MyTable"
//! ```

use braid_types::sql_type::relation_of_row_type;
pub use braid_types::sql_type::{row_array_type_oid as row_array_type, row_type_oid as row_type};
use braid_types::{Error, Result, SqlState, SqlType, sql_type};

use super::pseudo_types::PseudoType;
use crate::Lookup;
use crate::strings::split_identifier;

/// How the type of a number prints; `None` if there is none.
pub(crate) fn type_name(oid: u32, lookup: &dyn Lookup) -> Option<String> {
    if let Some(ty) = SqlType::from_oid(oid) {
        return Some(with_schema(&ty, ty.plain_name().to_owned(), lookup));
    }
    if let Some((_, name)) = lookup.type_by_oid(oid) {
        return Some(name);
    }
    if let Some(name) = lookup.domain_name(oid) {
        return Some(name);
    }
    if let Some(ty) = PseudoType::by_oid(oid) {
        return Some(ty.display.to_owned());
    }
    let (relation, is_array) = relation_of_row_type(oid)?;
    let name = lookup.relation_name(relation).filter(|_| lookup.has_row_type(relation))?;
    Some(if is_array { format!("{name}[]") } else { name })
}

/// The name of a built-in type, behind the schema of its extension where it needs one.
pub(crate) fn with_schema(ty: &SqlType, name: String, lookup: &dyn Lookup) -> String {
    match lookup.type_schema(ty) {
        Some(schema) => format!("{schema}.{name}"),
        None => name,
    }
}

/// Whether an unqualified name finds the type; `None` if there is none.
pub(crate) fn type_is_visible(oid: u32, lookup: &dyn Lookup) -> Option<bool> {
    let name = type_name(oid, lookup)?;
    if let Some((relation, _)) = relation_of_row_type(oid) {
        return Some(lookup.relation_is_visible(relation));
    }
    if let Some(ty) = SqlType::from_oid(oid) {
        return Some(lookup.type_schema(&ty).is_none());
    }
    if PseudoType::by_oid(oid).is_some() {
        return Some(true);
    }
    // The name of a type of users is qualified where it has to be.
    let element = name.strip_suffix("[]").unwrap_or(&name);
    Some(split_identifier(element).is_some_and(|parts| parts.len() == 1))
}

/// A part of a type's name.
#[derive(Debug, PartialEq)]
enum Token<'a> {
    /// Without quotes, in lower case.
    Word(String),
    /// As it stands between quotes.
    Quoted(String),
    /// What stands in parentheses.
    Modifier(&'a str),
    Dot,
    /// `[]` or `[3]`.
    Bounds,
}

fn syntax_error(text: &str, near: &str) -> Error {
    let error = Error::new(SqlState::SyntaxError, format!("syntax error at or near \"{near}\""));
    error.context(format!("invalid type name \"{text}\""))
}

/// Splits a type's name; 42601 for what stands in none.
fn tokens(text: &str) -> Result<Vec<Token<'_>>> {
    let mut found = Vec::new();
    let mut rest = text.trim();
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '"' => {
                let quotes = rest.char_indices().skip(1).filter(|(_, c)| *c == '"').map(|(i, _)| i);
                let mut quotes = quotes.peekable();
                let mut end = None;
                while let Some(at) = quotes.next() {
                    if quotes.next_if_eq(&(at + 1)).is_none() {
                        end = Some(at);
                        break;
                    }
                }
                let end = end.ok_or_else(|| syntax_error(text, rest))?;
                found.push(Token::Quoted(rest[1..end].replace("\"\"", "\"")));
                end + 1
            }
            '.' => {
                found.push(Token::Dot);
                1
            }
            '(' => {
                let end = rest.find(')').ok_or_else(|| syntax_error(text, "("))?;
                found.push(Token::Modifier(&rest[1..end]));
                end + 1
            }
            '[' => {
                let end = rest.find(']').ok_or_else(|| syntax_error(text, "["))?;
                if !rest[1..end].trim().bytes().all(|b| b.is_ascii_digit()) {
                    return Err(syntax_error(text, &rest[1..end]));
                }
                found.push(Token::Bounds);
                end + 1
            }
            c if c.is_alphabetic() || c == '_' => {
                let inside = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
                let end = rest.find(|c| !inside(c)).unwrap_or(rest.len());
                found.push(Token::Word(rest[..end].to_lowercase()));
                end
            }
            _ => {
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                return Err(syntax_error(text, &rest[..end]));
            }
        };
        rest = rest[end..].trim_start();
    }
    Ok(found)
}

/// A type's name, taken apart.
struct TypeName {
    /// The keywords, or the parts between dots.
    parts: Vec<String>,
    /// Whether it has a dot or quotes, so that keywords mean nothing.
    is_plain: bool,
    is_array: bool,
}

fn parse(text: &str) -> Result<TypeName> {
    let mut tokens = tokens(text)?;
    if tokens.is_empty() {
        let message = format!("invalid type name \"{text}\"");
        return Err(Error::new(SqlState::SyntaxError, message));
    }
    let mut is_array = false;
    while tokens.last() == Some(&Token::Bounds) {
        is_array = true;
        tokens.pop();
    }
    if tokens.len() > 1 && tokens.last() == Some(&Token::Word("array".to_owned())) {
        is_array = true;
        tokens.pop();
    }
    let is_plain = tokens.iter().all(|token| matches!(token, Token::Word(_) | Token::Modifier(_)));
    let mut parts = Vec::new();
    let mut after_dot = true;
    let mut modified = false;
    for token in tokens {
        match token {
            Token::Modifier(inside) => {
                let number =
                    |part: &str| part.trim().trim_start_matches('-').parse::<u32>().is_ok();
                if modified || parts.is_empty() || !inside.split(',').all(number) {
                    return Err(syntax_error(text, "("));
                }
                modified = true;
            }
            Token::Dot if !after_dot && !modified => after_dot = true,
            Token::Word(word) | Token::Quoted(word) if is_plain || after_dot => {
                parts.push(word);
                after_dot = false;
            }
            Token::Word(word) | Token::Quoted(word) => return Err(syntax_error(text, &word)),
            Token::Dot => return Err(syntax_error(text, ".")),
            Token::Bounds => return Err(syntax_error(text, "[")),
        }
    }
    Ok(TypeName { parts, is_plain, is_array })
}

/// The number of a type of `pg_catalog` by its name there.
fn catalog_type(name: &str) -> Option<u32> {
    let known = sql_type::all().into_iter().find(|ty| ty.short_name() == name);
    known.map(|ty| ty.oid()).or_else(|| PseudoType::by_name(name).map(|ty| ty.oid))
}

/// The number of a type of an extension by its name. PostgreSQL has them in the schema `public`,
/// and `information_schema.columns` says the same.
fn extension_type(name: &str) -> Option<u32> {
    let is_of_extension =
        |ty: &SqlType| matches!(ty.innermost(), SqlType::Citext | SqlType::Hstore);
    let mut known = sql_type::all().into_iter().filter(is_of_extension);
    known.find(|ty| ty.short_name() == name).map(|ty| ty.oid())
}

/// The number of a type of users: an enum, a domain, or the rows of a relation.
fn own_type(parts: &[String], lookup: &dyn Lookup) -> Option<u32> {
    lookup.type_by_name(parts).or_else(|| row_type_named(parts, lookup))
}

/// The number of a relation's row type, or of its arrays with an underscore before the name.
fn row_type_named(parts: &[String], lookup: &dyn Lookup) -> Option<u32> {
    let (last, schema) = parts.split_last()?;
    let relation = |last: &str| {
        let names: Vec<String> =
            schema.iter().map(String::as_str).chain([last]).map(braid_sql::quote_ident).collect();
        let oid = lookup.relation_oid(&names.join(".")).ok().flatten()?;
        lookup.has_row_type(oid).then_some(oid)
    };
    let whole = relation(last).map(row_type);
    whole.or_else(|| relation(last.strip_prefix('_')?).map(row_array_type))
}

/// The number of the arrays of a type.
fn array_of(oid: u32, lookup: &dyn Lookup) -> Option<u32> {
    let known = SqlType::from_oid(oid).or_else(|| lookup.type_by_oid(oid).map(|(ty, _)| ty));
    let known = known.filter(|ty| !matches!(ty, SqlType::Array(_)));
    // There are no arrays of domains.
    if lookup.domain_name(oid).is_some() {
        return None;
    }
    let array = match known {
        Some(ty) => sql_type::array_oid(&ty),
        None => match (PseudoType::by_oid(oid), relation_of_row_type(oid)) {
            (Some(pseudo), _) => pseudo.array_oid,
            (None, Some((relation, false))) => row_array_type(relation),
            // An array of arrays is the same type in PostgreSQL.
            _ => oid,
        },
    };
    (array != 0).then_some(array)
}

/// A type that is written in keywords.
fn keyword_type(words: &[String]) -> Option<SqlType> {
    const FIELDS: [&str; 7] = ["year", "month", "day", "hour", "minute", "second", "to"];
    match words {
        [first, fields @ ..] if first == "interval" => {
            fields.iter().all(|word| FIELDS.contains(&word.as_str())).then_some(SqlType::Interval)
        }
        // `bpchar` without a length prints as `character`, like `char`.
        words => SqlType::from_name(&words.join(" ")),
    }
}

/// The number of the type that a text names. `None` if there is no such type; 42601 for what is no
/// type's name; 3F000 for a schema that does not exist.
pub(crate) fn type_oid(text: &str, lookup: &dyn Lookup) -> Result<Option<u32>> {
    let name = parse(text)?;
    let found = match name.parts.as_slice() {
        [only] if name.is_plain && only == "any" => return Err(syntax_error(text, "any")),
        words if name.is_plain => {
            let keyword = keyword_type(words).map(|ty| ty.oid());
            match (keyword, words) {
                (None, [only]) => {
                    let catalog = catalog_type(only);
                    catalog.or_else(|| own_type(&name.parts, lookup))
                }
                (None, [_, second, ..]) => return Err(syntax_error(text, second)),
                (found, _) => found,
            }
        }
        [only] => catalog_type(only).or_else(|| own_type(&name.parts, lookup)),
        [.., schema, _] if lookup.schema_oid(schema).is_none() => {
            let message = format!("schema \"{schema}\" does not exist");
            return Err(Error::new(SqlState::InvalidSchemaName, message));
        }
        [.., schema, last] => {
            let known = match schema.as_str() {
                "pg_catalog" => catalog_type(last),
                "public" => extension_type(last),
                _ => None,
            };
            known.or_else(|| own_type(&name.parts, lookup))
        }
        [] => None,
    };
    Ok(if name.is_array { found.and_then(|oid| array_of(oid, lookup)) } else { found })
}

/// 42704 for a type that does not exist.
pub(crate) fn unknown_type(text: &str) -> Error {
    let shown = match parse(text) {
        Ok(name) => {
            let parts = name.parts.join(if name.is_plain { " " } else { "." });
            if name.is_array { format!("{parts}[]") } else { parts }
        }
        Err(_) => split_identifier(text).map_or_else(|| text.to_owned(), |parts| parts.join(".")),
    };
    Error::new(SqlState::UndefinedObject, format!("type \"{shown}\" does not exist"))
}
