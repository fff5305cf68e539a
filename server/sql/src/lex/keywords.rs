//! Which words are keywords, and how far each is reserved.
//!
//! The list and its four categories are PostgreSQL 15's (`pg_get_keywords()`); words that only
//! sqlparser treats as keywords stay plain identifiers, so that its other dialects never show.
//! Our own words (`upsert`, `interleave`, `storing`, …) are unreserved and matched by text.

use std::collections::HashMap;
use std::sync::LazyLock;

use sqlparser::keywords::{ALL_KEYWORDS, ALL_KEYWORDS_INDEX, Keyword};

/// How far a word is reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Category {
    /// May be any name.
    Unreserved,
    /// May name a column or table, but not a function or type.
    Name,
    /// May name a function or type, but not a column or table.
    Function,
    /// May only follow `AS`, or be quoted.
    Reserved,
}

/// What is known of one word.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Info {
    /// sqlparser's name of the word, `NoKeyword` where its meaning there would mislead.
    pub keyword: Keyword,
    /// PostgreSQL's category.
    pub category: Category,
    /// Whether a select item's alias may be this word without `AS`.
    pub bare_label: bool,
}

const UNRESERVED: &str = "abort absolute access action add admin after aggregate also alter always asensitive \
     assertion assignment at atomic attach attribute backward before begin breadth by cache \
     call called cascade cascaded catalog chain characteristics checkpoint class close \
     cluster columns comment comments commit committed compression configuration conflict \
     connection constraints content continue conversion copy cost csv cube current cursor \
     cycle data database deallocate declare defaults deferred definer delete delimiter \
     delimiters depends depth detach dictionary disable discard document domain double drop \
     each enable encoding encrypted enum escape event exclude excluding exclusive execute \
     explain expression extension external family finalize first following force forward \
     function functions generated global granted groups handler header hold identity if \
     immediate immutable implicit import include including increment index indexes inherit \
     inherits inline input insensitive insert instead invoker isolation key label language \
     large last leakproof level listen load local location lock locked logged mapping match \
     matched materialized maxvalue merge method minvalue mode move name names new next nfc \
     nfd nfkc nfkd no normalized nothing notify nowait nulls object of off oids old operator \
     option options ordinality others overriding owned owner parallel parameter parser \
     partial partition passing password plans policy preceding prepare prepared preserve \
     prior privileges procedural procedure procedures program publication quote range read \
     reassign recheck recursive ref referencing refresh reindex relative release rename \
     repeatable replace replica reset restart restrict return returns revoke role rollback \
     rollup routine routines rows rule savepoint schema schemas scroll search security \
     sequence sequences serializable server session set sets share show simple skip snapshot \
     sql stable standalone start statement statistics stdin stdout storage stored strict \
     strip subscription support sysid system tables tablespace temp template temporary text \
     ties transaction transform trigger truncate trusted type types uescape unbounded \
     uncommitted unencrypted unknown unlisten unlogged until update vacuum valid validate \
     validator value version view views volatile whitespace work wrapper write xml yes zone";
const UNRESERVED_NEEDS_AS: &str =
    "day filter hour minute month over second varying within without year";
const NAME: &str = "between bigint bit boolean coalesce dec decimal exists extract float greatest grouping \
     inout int integer interval least national nchar none normalize nullif numeric out \
     overlay position real row setof smallint substring time timestamp treat trim values \
     varchar xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse \
     xmlpi xmlroot xmlserialize xmltable";
const NAME_NEEDS_AS: &str = "char character precision";
const FUNCTION: &str = "authorization binary collation concurrently cross current_schema freeze full ilike inner \
     is join left like natural outer right similar tablesample verbose";
const FUNCTION_NEEDS_AS: &str = "isnull notnull overlaps";
const RESERVED: &str = "all analyse analyze and any asc asymmetric both case cast check collate column \
     constraint current_catalog current_date current_role current_time current_timestamp \
     current_user default deferrable desc distinct do else end false foreign in initially \
     lateral leading localtime localtimestamp not null only or placing primary references \
     select session_user some symmetric table then trailing true unique user using variadic \
     when";
const RESERVED_NEEDS_AS: &str = "array as create except fetch for from grant group having intersect into limit offset on \
     order returning to union where window with";

/// Words that are no keywords of PostgreSQL, but names of types and of date fields that
/// sqlparser reads through its keyword table.
const TYPES_AND_FIELDS: &str = "bool bytea bytes century date decade dow doy epoch float4 float8 \
     int2 int4 int8 isodow isoyear json jsonb julian microseconds millennium milliseconds quarter \
     regclass string timestamptz timetz timezone timezone_hour timezone_minute tsquery tsvector \
     unnest uuid varbit week";

/// PostgreSQL's keywords that mean something else to sqlparser inside a query or a type.
const HIDDEN: &str = "enum force global input large matched object ref set statement storage \
     support table trigger type value version";

static WORDS: LazyLock<HashMap<&'static str, Info>> = LazyLock::new(|| {
    let known: HashMap<&str, Keyword> =
        ALL_KEYWORDS.iter().copied().zip(ALL_KEYWORDS_INDEX.iter().copied()).collect();
    let hidden: Vec<&str> = HIDDEN.split_whitespace().collect();
    let mut words = HashMap::new();
    let mut add = |list: &'static str, category, bare_label| {
        for word in list.split_whitespace() {
            let keyword = match known.get(word.to_ascii_uppercase().as_str()) {
                Some(keyword) if !hidden.contains(&word) => *keyword,
                _ => Keyword::NoKeyword,
            };
            words.insert(word, Info { keyword, category, bare_label });
        }
    };
    add(TYPES_AND_FIELDS, Category::Unreserved, true);
    add(UNRESERVED, Category::Unreserved, true);
    add(UNRESERVED_NEEDS_AS, Category::Unreserved, false);
    add(NAME, Category::Name, true);
    add(NAME_NEEDS_AS, Category::Name, false);
    add(FUNCTION, Category::Function, true);
    add(FUNCTION_NEEDS_AS, Category::Function, false);
    add(RESERVED, Category::Reserved, true);
    add(RESERVED_NEEDS_AS, Category::Reserved, false);
    words
});

/// [`Info`] by sqlparser's keyword, for its dialect hooks.
static BY_KEYWORD: LazyLock<Vec<Option<Info>>> = LazyLock::new(|| {
    let mut by_keyword = vec![None; ALL_KEYWORDS.len() + 1];
    for info in WORDS.values().filter(|info| info.keyword != Keyword::NoKeyword) {
        if let Some(slot) = by_keyword.get_mut(info.keyword as usize) {
            *slot = Some(*info);
        }
    }
    by_keyword
});

/// What is known of a word in lower case; `None` for one that is no keyword at all.
pub(crate) fn lookup(word: &str) -> Option<Info> {
    // The longest keyword has 18 letters; longer words are not worth a hash.
    if word.len() > 18 { None } else { WORDS.get(word).copied() }
}

/// PostgreSQL's keywords in order: the word, the letter of its category in `pg_get_keywords()`, and
/// whether it may be a select item's alias without `AS`.
pub fn keywords() -> Vec<(&'static str, char, bool)> {
    let mut list = Vec::new();
    let mut add = |words: &'static str, letter, bare_label| {
        list.extend(words.split_whitespace().map(|word| (word, letter, bare_label)));
    };
    add(UNRESERVED, 'U', true);
    add(UNRESERVED_NEEDS_AS, 'U', false);
    add(NAME, 'C', true);
    add(NAME_NEEDS_AS, 'C', false);
    add(FUNCTION, 'T', true);
    add(FUNCTION_NEEDS_AS, 'T', false);
    add(RESERVED, 'R', true);
    add(RESERVED_NEEDS_AS, 'R', false);
    list.sort_unstable();
    list
}

/// What is known of sqlparser's keyword; `None` for one that the lexer never hands out.
pub(crate) fn info(keyword: Keyword) -> Option<Info> {
    BY_KEYWORD.get(keyword as usize).copied().flatten()
}

/// Whether an unquoted word may name a column or table.
pub(crate) fn is_column_name(word: &str) -> bool {
    lookup(word).is_none_or(|info| matches!(info.category, Category::Unreserved | Category::Name))
}

/// Whether an unquoted word is fully reserved.
pub fn is_reserved(word: &str) -> bool {
    lookup(word).is_some_and(|info| info.category == Category::Reserved)
}
