//! Parsed texts and plans, shared by all sessions.
//!
//! A text is parsed once; a plan holds for one version of the catalog and one [`PlanKey`]. Two
//! generations bound the memory: when the young one is full it becomes the old one, and what is
//! used again moves back.
//!
//! Rule: plans over a transaction's own uncommitted catalog are never kept here.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};

use braid_catalog::Catalog;
use braid_kv::Sharded;
use braid_plan::{Expr, PlannedStatement};
use braid_sql::ast::{ParsedStatement, Statement};
use braid_sql::{Constants, Normalized, normalize};
use braid_types::{Error, Result, SqlType};
use parking_lot::Mutex;

use crate::client::ResultColumn;
use crate::statement::kinds::is_planned;

/// Longer texts are parsed each time: they are bulk loads that do not come again.
const TEXT_BYTES_MAX: usize = 64 << 10;
/// The most bytes of texts in one generation.
const GENERATION_BYTES_MAX: usize = 2 << 20;
/// What an entry costs besides its text, roughly, in text bytes.
const ENTRY_BYTES: usize = 512;
/// Settings that have another value in each transaction.
const SINGLE_USE: [&str; 2] = ["commit_token", "traceparent"];
/// Versions of private catalogs start here.
const PRIVATE_VERSION: u64 = 1 << 63;

/// A text with its statements.
pub(crate) struct ParsedText {
    /// The text.
    pub text: Arc<str>,
    /// Its statements.
    pub statements: Vec<ParsedStatement>,
    /// What the client is told about precisions.
    warnings: Vec<Error>,
    plans: Mutex<Vec<Arc<CachedPlan>>>,
    normalized: OnceLock<Vec<Normalized>>,
}

/// What a plan was made by: this version of the catalog, and these statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlanVersion {
    catalog: u64,
    statistics: u64,
}

impl PlanVersion {
    /// That of a plan that is made now.
    pub(crate) fn of(catalog: &Catalog) -> PlanVersion {
        let statistics = catalog.statistics.generation();
        PlanVersion { catalog: catalog.version(), statistics }
    }

    /// Whether it is that version or a later one.
    fn is_at_least(&self, other: &PlanVersion) -> bool {
        self.catalog >= other.catalog && self.statistics >= other.statistics
    }
}

/// What a plan depends on besides its text and the catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlanKey {
    pub database: u32,
    pub user: Arc<str>,
    /// The settings that planning reads: search path, formats, time zone, `row_security`.
    pub settings: String,
}

/// A plan, and what a client is told of it.
pub(crate) struct CachedPlan {
    pub version: PlanVersion,
    pub key: Arc<PlanKey>,
    pub hints: Vec<SqlType>,
    pub plan: Arc<PlannedStatement>,
    pub columns: Arc<[ResultColumn]>,
    /// The casts to try if its parameters are literals; `None` if they must not be.
    pub casts: OnceLock<Option<Vec<Expr>>>,
}

impl CachedPlan {
    /// The casts that would have been carried out while planning literals in the place of its
    /// parameters; `None` if it is no plan for these.
    pub(crate) fn casts_of_literals(&self) -> Option<&[Expr]> {
        self.casts.get_or_init(|| self.plan.casts_of_parameters()).as_deref()
    }

    /// Whether it still is the plan for these circumstances.
    pub(crate) fn fits(&self, version: PlanVersion, key: &Arc<PlanKey>, hints: &[SqlType]) -> bool {
        self.version == version
            && (Arc::ptr_eq(&self.key, key) || self.key == *key)
            && self.hints == hints
    }
}

impl ParsedText {
    fn new(text: &str) -> Result<ParsedText> {
        let statements = braid_sql::parse(text)?;
        let warnings = braid_sql::precision_warnings(text);
        let (plans, normalized) = Default::default();
        Ok(ParsedText { text: text.into(), statements, warnings, plans, normalized })
    }

    /// How many characters stand before a byte of the text.
    pub(crate) fn characters_before(&self, byte: usize) -> u32 {
        let before = self.text.get(..byte).map_or(0, |text| text.chars().count());
        u32::try_from(before).unwrap_or(u32::MAX)
    }

    /// What the client is told about one of the statements, which are known by their places.
    pub(crate) fn warnings(&self, index: usize) -> Vec<Error> {
        let end = |index: usize| self.statements.get(index).map(|parsed| parsed.text.end);
        let number = |error: &&Error| error.fields().position.unwrap_or(u32::MAX);
        let first = index.checked_sub(1).and_then(end).map_or(0, |end| self.characters_before(end));
        let last = end(index).map_or(0, |end| self.characters_before(end));
        let is_last = index + 1 == self.statements.len();
        let inside = |error: &&Error| number(error) > first && (number(error) <= last || is_last);
        self.warnings.iter().filter(inside).cloned().collect()
    }

    /// A text whose only statement is read as another one.
    pub(crate) fn of_statement(text: &Arc<str>, parsed: ParsedStatement) -> ParsedText {
        let (warnings, plans, normalized) = Default::default();
        ParsedText { text: text.clone(), statements: vec![parsed], warnings, plans, normalized }
    }

    /// Whether it sets what each transaction sets to another value, so that it does not come again.
    fn is_single_use(&self) -> bool {
        let is_such = |parsed: &ParsedStatement| match &parsed.statement {
            Statement::Set(set) => SINGLE_USE.contains(&set.name.as_str()),
            _ => false,
        };
        self.statements.iter().any(is_such)
    }

    /// Its statements without their constants.
    pub(crate) fn normalized(&self) -> &[Normalized] {
        self.normalized.get_or_init(|| {
            let one = |parsed: &ParsedStatement| {
                let constants = match is_planned(&parsed.statement) {
                    true => Constants::All,
                    false => Constants::Strings,
                };
                normalize(self.text.get(parsed.text.clone()).unwrap_or_default(), constants)
            };
            self.statements.iter().map(one).collect()
        })
    }

    /// A plan made before, for a text of one statement.
    pub(crate) fn plan(
        &self,
        version: PlanVersion,
        key: &Arc<PlanKey>,
        hints: &[SqlType],
    ) -> Option<Arc<CachedPlan>> {
        self.plans.lock().iter().find(|plan| plan.fits(version, key, hints)).cloned()
    }

    /// Keeps a plan for others.
    pub(crate) fn keep(&self, plan: &Arc<CachedPlan>) {
        if plan.version.catalog >= PRIVATE_VERSION || self.statements.len() != 1 {
            return;
        }
        let mut plans = self.plans.lock();
        plans.retain(|old| {
            old.version.is_at_least(&plan.version)
                && !old.fits(plan.version, &plan.key, &plan.hints)
        });
        if plans.len() >= 8 {
            plans.remove(0);
        }
        plans.push(plan.clone());
    }
}

#[derive(Default)]
struct Generations {
    young: HashMap<Arc<str>, Arc<ParsedText>>,
    old: HashMap<Arc<str>, Arc<ParsedText>>,
    young_bytes: usize,
}

impl Generations {
    fn find(&mut self, text: &str) -> Option<Arc<ParsedText>> {
        if let Some(found) = self.young.get(text) {
            return Some(found.clone());
        }
        let found = self.old.remove(text)?;
        self.insert(found.clone());
        Some(found)
    }

    fn insert(&mut self, parsed: Arc<ParsedText>) {
        self.young_bytes += parsed.text.len() + ENTRY_BYTES;
        if self.young_bytes > GENERATION_BYTES_MAX {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = parsed.text.len() + ENTRY_BYTES;
        }
        self.young.insert(parsed.text.clone(), parsed);
    }
}

/// The cache.
#[derive(Default)]
pub(crate) struct PlanCache {
    texts: Mutex<Generations>,
    hits: Sharded<AtomicU64>,
    misses: AtomicU64,
}

impl PlanCache {
    /// The statements of a text; the parser's error if it is none.
    pub(crate) fn parse(&self, text: &str) -> Result<Arc<ParsedText>> {
        if text.len() > TEXT_BYTES_MAX {
            return ParsedText::new(text).map(Arc::new);
        }
        if let Some(found) = self.texts.lock().find(text) {
            return Ok(found);
        }
        let parsed = Arc::new(ParsedText::new(text)?);
        if parsed.is_single_use() {
            return Ok(parsed);
        }
        self.texts.lock().insert(parsed.clone());
        Ok(parsed)
    }

    pub(crate) fn count(&self, hit: bool) {
        if hit {
            self.hits.here().fetch_add(1, Relaxed)
        } else {
            self.misses.fetch_add(1, Relaxed)
        };
    }

    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.hits.iter().map(|hits| hits.load(Relaxed)).sum(), self.misses.load(Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_parsed_once() {
        let cache = PlanCache::default();
        let first = cache.parse("SELECT 1").unwrap();
        assert!(Arc::ptr_eq(&first, &cache.parse("SELECT 1").unwrap()));
    }

    #[test]
    fn texts_that_do_not_come_again_are_not_kept() {
        let cache = PlanCache::default();
        for text in ["BEGIN; SET LOCAL traceparent = ''", "SET LOCAL commit_token = 'a'"] {
            cache.parse(text).unwrap();
        }
        assert!(cache.texts.lock().young.is_empty());
    }

    #[test]
    fn the_cache_is_bounded_and_keeps_what_is_used() {
        let cache = PlanCache::default();
        let used = cache.parse("SELECT 'used'").unwrap();
        for number in 0..12_000 {
            cache.parse(&format!("SELECT {number}")).unwrap();
            if number % 1000 == 0 {
                assert!(Arc::ptr_eq(&used, &cache.parse("SELECT 'used'").unwrap()));
            }
        }
        let texts = cache.texts.lock();
        assert!(texts.young.len() + texts.old.len() < 9_000);
    }
}
