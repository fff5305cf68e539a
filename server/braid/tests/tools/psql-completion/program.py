"""psql's completion: what the tab key adds in a terminal, and what two tab keys list."""

import os
import pty
import re
import select
import time

from support import URL, say, step

# Seconds that an answer may take.
LONGEST = 30.0

PROMPT = "=> "

# The key that is typed after the tab keys: when psql shows it, the completion is over.
LAST = "~"

SCHEMA = """
CREATE TYPE shop_mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN shop_price AS numeric CHECK (VALUE >= 0);
CREATE TABLE shop_books (id serial PRIMARY KEY, title text, shelf int);
ALTER TABLE shop_books ADD CONSTRAINT shop_check CHECK (id > 0);
CREATE TABLE shop_sales (day date) PARTITION BY RANGE (day);
CREATE TABLE shop_sales_old PARTITION OF shop_sales DEFAULT;
CREATE INDEX shop_books_title ON shop_books (title);
CREATE VIEW shop_titles AS SELECT title FROM shop_books;
CREATE MATERIALIZED VIEW shop_counts AS SELECT count(*) FROM shop_books;
CREATE SEQUENCE shop_numbers;
CREATE SCHEMA shop_back;
CREATE TABLE shop_back.boxes (box int);
CREATE FUNCTION shop_touch() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE PROCEDURE shop_close() LANGUAGE sql AS 'SELECT 1';
CREATE TRIGGER shop_trigger BEFORE INSERT ON shop_books EXECUTE FUNCTION shop_touch();
CREATE POLICY shop_policy ON shop_books USING (true);
CREATE ROLE tools_reader;
PREPARE shop_plan AS SELECT 1;
"""

# `>` stands for the tab key.
LINES = """
SELECT * FROM pg_cla>
SELECT * FROM shop_b>>
SELECT box FROM shop_back.>>
DROP TABLE shop_>>
DROP INDEX shop_>>
DROP VIEW shop_>>
DROP MATERIALIZED VIEW shop_>
DROP SEQUENCE shop_>>
DROP TYPE shop_m>
DROP DOMAIN shop_>
DROP FUNCTION shop_>
DROP PROCEDURE shop_>
DROP SCHEMA shop_>
DROP ROLE tools_>
DROP TRIGGER shop_>
DROP TRIGGER shop_trigger ON >
DROP POLICY shop_>
DROP POLICY shop_policy ON >
DROP EXTENSION plp>
DROP LANGUAGE plp>
DROP TEXT SEARCH CONFIGURATION eng>
DROP OWNED BY tools_>
DROP SERVER >>
DROP PUBLICATION >>
ALTER TABLE shop_bo>
ALTER TABLE shop_books DROP CONSTRAINT >>
ALTER TABLE shop_books ALTER COLUMN >>
ALTER TABLE shop_books DISABLE TRIGGER >>
ALTER TABLE shop_sales DETACH PARTITION >
ALTER TYPE shop_mood RENAME VALUE '>>
ALTER TYPE shop_mood ADD >
ALTER DOMAIN shop_price DROP >>
ALTER INDEX shop_books_t>
ALTER SEQUENCE shop_n>
ALTER ROLE tools_>
ALTER ROLE tools_reader SET work_>
ALTER SYSTEM SET work_m>
ALTER TABLE shop_books SET TABLESPACE pg_d>
ALTER DEFAULT PRIVILEGES FOR ROLE tools_>
CREATE INDEX ON shop_books (>>
CREATE INDEX ON shop_books USING >>
CREATE TABLE x PARTITION OF shop_>
CREATE TRIGGER x BEFORE INSERT ON shop_bo>
CREATE SCHEMA x AUTHORIZATION tools_>
CREATE TABLE x (a shop_pr>
INSERT INTO shop_books (>>
INSERT INTO shop_ti>
UPDATE shop_books SET >>
DELETE FROM shop_bo>
TRUNCATE shop_>>
REFRESH MATERIALIZED VIEW shop_>
LOCK TABLE shop_ba>
REINDEX INDEX shop_books_t>
CLUSTER shop_books USING >>
ANALYZE shop_bo>
COMMENT ON CONSTRAINT shop_check ON >
GRANT SELECT ON shop_bo>
GRANT SELECT ON ALL TABLES IN SCHEMA shop_>
GRANT SELECT ON shop_books TO tools_>
CALL shop_>
EXECUTE shop_>
DEALLOCATE shop_>
COPY shop_bo>
TABLE shop_bo>
SET work_m>
SET shop_>
SET TRANSACTION ISO>
SET TIME ZONE 'Europe/Ber>
SHOW search_>
RESET search_>
SELECT 'x'::shop_mo>
SELECT shop_tou>
EXPLAIN (>>
BEGIN ISO>
VACUUM (>>
\\d shop_bo>
\\d shop_back.>
\\dt shop_sales>>
\\di shop_books_>>
\\dv shop_>
\\dm shop_>
\\ds shop_n>
\\dT shop_m>
\\dn shop_>
\\df shop_>
\\du tools_>
\\sf shop_t>
\\sv shop_>
\\ef shop_t>
\\dp shop_bo>
\\c templ>
\\password tools_>
"""


class Psql:
    """psql in a terminal of its own."""

    def __init__(self):
        child, self.terminal = pty.fork()
        if child == 0:
            plain = {"TERM": "dumb", "PAGER": "cat", "PSQL_HISTORY": "/dev/null"}
            os.environ.update(plain, INPUTRC="/dev/null", LC_ALL="C.UTF-8", COLUMNS="200")
            prompts = ["-v", f"PROMPT1={PROMPT}", "-v", f"PROMPT2={PROMPT}"]
            os.execvp("psql", ["psql", "-X", "-q", "-t", "-A", *prompts, URL])
        self.read(PROMPT)

    def read(self, end):
        """What psql prints until this text ends it, without that text."""
        output, limit = "", time.monotonic() + LONGEST
        while not output.endswith(end):
            left = limit - time.monotonic()
            ready, _, _ = select.select([self.terminal], [], [], max(left, 0))
            if not ready:
                raise TimeoutError(f"psql does not print {end!r} after {output!r}")
            output += os.read(self.terminal, 65536).decode().replace("\r", "").replace("\a", "")
        return output.removesuffix(end)

    def run(self, statement):
        """Runs a statement of one line; answers what it prints."""
        os.write(self.terminal, f"{statement}\n\\echo :ENCODING\n".encode())
        return self.read(f"\nUTF8\n{PROMPT}")

    def complete(self, keys):
        """Types the keys; answers what the terminal shows, and takes the line back."""
        os.write(self.terminal, (keys + LAST).encode())
        shown = self.read(LAST)
        self.run("\x15")
        return shown


psql = Psql()


@step("schema")
def schema():
    for statement in SCHEMA.strip().splitlines():
        psql.run(statement)
    answer = psql.run("SELECT relname FROM pg_class WHERE relname LIKE 'shop%' ORDER BY 1;")
    for name in re.findall(r"^shop_\w+", answer, re.MULTILINE):
        say(name)


for line in LINES.strip().splitlines():

    @step(line)
    def completion():
        shown = psql.complete(line.replace(">", "\t"))
        # A list is written in columns as wide as the terminal: one name a line instead.
        for part in re.split(r"\n|\s{2,}", shown):
            say(part.removeprefix(PROMPT))


psql.run("DROP OWNED BY tools_reader; DROP ROLE tools_reader;")
