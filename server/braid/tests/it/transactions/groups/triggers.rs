//! Triggers of the random tables: they count, change and skip rows, and read what others wrote.

use braid_testkit::random::Random;

/// What the triggers write to.
pub(super) const TALLY: &str = "CREATE TABLE tally (id int PRIMARY KEY, n int)";

/// Each kind of trigger, with its function.
const KINDS: [(&str, &str); 6] = [
    (
        "CREATE FUNCTION counts() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
         INSERT INTO tally VALUES (coalesce(new.id, old.id) % 3, 1) \
         ON CONFLICT (id) DO UPDATE SET n = tally.n + 1; RETURN NULL; END $$",
        "CREATE TRIGGER counts AFTER INSERT OR UPDATE OR DELETE ON item FOR EACH ROW \
         EXECUTE FUNCTION counts()",
    ),
    (
        "CREATE FUNCTION shapes() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
         new.k := new.k + (SELECT count(*) FROM pair WHERE x = 0); RETURN new; END $$",
        "CREATE TRIGGER shapes BEFORE INSERT OR UPDATE OF k ON item FOR EACH ROW \
         WHEN (new.id % 2 = 0) EXECUTE FUNCTION shapes()",
    ),
    (
        "CREATE FUNCTION skips() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
         IF EXISTS (SELECT 1 FROM parent WHERE n = old.v) THEN RETURN NULL; END IF; \
         IF tg_op = 'DELETE' THEN RETURN old; END IF; RETURN new; END $$",
        "CREATE TRIGGER skips BEFORE UPDATE OR DELETE ON pair FOR EACH ROW \
         EXECUTE FUNCTION skips()",
    ),
    (
        "CREATE FUNCTION sums() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
         INSERT INTO tally SELECT 10, sum(v) FROM rows_new \
         ON CONFLICT (id) DO UPDATE SET n = excluded.n; RETURN NULL; END $$",
        "CREATE TRIGGER sums AFTER UPDATE ON pair REFERENCING NEW TABLE AS rows_new \
         EXECUTE FUNCTION sums()",
    ),
    (
        "CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
         UPDATE tally SET n = (SELECT count(*) FROM item) WHERE id = 10; RETURN NULL; END $$",
        "CREATE CONSTRAINT TRIGGER late AFTER INSERT OR DELETE ON item \
         DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION late()",
    ),
    (
        "CREATE FUNCTION raises() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
         RAISE 'the parent % of % rows', new.id, (SELECT count(*) FROM item WHERE p = new.id); \
         END $$",
        "CREATE TRIGGER raises AFTER UPDATE ON parent FOR EACH ROW WHEN (new.n > 6) \
         EXECUTE FUNCTION raises()",
    ),
];

/// The statements that make some triggers, or none.
pub(super) fn some(random: &mut Random) -> Vec<String> {
    if random.percent(50) {
        return Vec::new();
    }
    let mut made = Vec::new();
    for (function, trigger) in KINDS {
        if random.percent(40) {
            made.extend([function.to_owned(), trigger.to_owned()]);
        }
    }
    made
}
