-- One object of every kind that a backslash command lists.
CREATE SCHEMA shop;
COMMENT ON SCHEMA shop IS 'what is sold';
SET search_path = shop, public;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE place AS (street text, number int);
CREATE DOMAIN price AS numeric(10, 2) DEFAULT 0 CHECK (VALUE >= 0);
COMMENT ON DOMAIN price IS 'in euros';
CREATE FUNCTION lower_name(name text) RETURNS text LANGUAGE sql IMMUTABLE STRICT
  AS $$ SELECT lower(name) $$;
CREATE FUNCTION pairs(low int, high int DEFAULT 3, OUT a int, OUT b text) RETURNS SETOF record
  LANGUAGE sql STABLE AS $$ SELECT n, repeat('x', n) FROM generate_series(low, high) AS n $$;
CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.changed := now();
  RETURN NEW;
END
$$;
CREATE PROCEDURE reset(INOUT n int) LANGUAGE plpgsql AS $$ BEGIN n := 0; END $$;
CREATE AGGREGATE product(numeric) (sfunc = numeric_mul, stype = numeric, initcond = '1');
COMMENT ON FUNCTION lower_name(text) IS 'small letters';
CREATE SEQUENCE numbers AS int INCREMENT 5 MINVALUE 10 MAXVALUE 1000 START 20 CYCLE;
CREATE TABLE authors (
  id serial PRIMARY KEY,
  name text NOT NULL,
  feels mood DEFAULT 'ok',
  tags text[] NOT NULL DEFAULT '{}',
  meta jsonb,
  home place,
  changed timestamptz
);
CREATE UNIQUE INDEX authors_name ON authors (lower(name));
CREATE INDEX authors_meta ON authors USING gin (meta);
CREATE INDEX authors_sad ON authors (changed DESC NULLS LAST) INCLUDE (name) WHERE feels = 'sad';
CREATE TABLE books (
  id bigint GENERATED ALWAYS AS IDENTITY,
  author_id int NOT NULL REFERENCES authors ON DELETE CASCADE,
  title varchar(100) NOT NULL,
  cost price,
  letters int GENERATED ALWAYS AS (length(title)) STORED,
  during daterange,
  words tsvector,
  CONSTRAINT books_pk PRIMARY KEY (id),
  CONSTRAINT books_title UNIQUE (author_id, title) DEFERRABLE INITIALLY DEFERRED,
  CONSTRAINT books_short CHECK (length(title) < 90),
  CONSTRAINT books_once EXCLUDE USING gist (during WITH &&)
);
COMMENT ON TABLE books IS 'what they wrote';
COMMENT ON COLUMN books.cost IS 'without tax';
COMMENT ON CONSTRAINT books_short ON books IS 'fits the label';
CREATE TRIGGER authors_touch BEFORE INSERT OR UPDATE OF name ON authors
  FOR EACH ROW WHEN (NEW.feels = 'happy') EXECUTE FUNCTION touch();
CREATE TABLE sales (day date NOT NULL, book bigint, amount int) PARTITION BY RANGE (day);
CREATE TABLE sales_early PARTITION OF sales FOR VALUES FROM (MINVALUE) TO ('2026-01-01');
CREATE TABLE sales_late PARTITION OF sales FOR VALUES FROM ('2026-01-01') TO ('2027-01-01')
  PARTITION BY LIST (book);
CREATE TABLE sales_one PARTITION OF sales_late FOR VALUES IN (1, 2);
CREATE TABLE sales_rest PARTITION OF sales DEFAULT;
CREATE INDEX sales_book ON sales (book);
CREATE VIEW titles AS
  SELECT b.title, a.name FROM books b JOIN authors a ON a.id = b.author_id WHERE length(b.title) > 1;
CREATE VIEW cheap WITH (security_barrier) AS SELECT id, title FROM books WHERE length(title) < 5
  WITH LOCAL CHECK OPTION;
CREATE VIEW doubled AS SELECT id, cost * 2 AS cost FROM books;
CREATE MATERIALIZED VIEW totals AS
  SELECT author_id, count(*) AS n FROM books GROUP BY author_id;
CREATE UNIQUE INDEX totals_author ON totals (author_id);
ALTER TABLE authors ENABLE ROW LEVEL SECURITY;
CREATE ROLE tools_reader NOLOGIN CONNECTION LIMIT 3;
CREATE ROLE tools_writer LOGIN CREATEDB VALID UNTIL '2030-01-01' IN ROLE tools_reader;
COMMENT ON ROLE tools_reader IS 'reads';
CREATE POLICY own ON authors FOR SELECT TO tools_reader USING (name = CURRENT_USER);
CREATE POLICY fresh ON authors AS RESTRICTIVE FOR INSERT WITH CHECK (changed IS NULL);
GRANT USAGE ON SCHEMA shop TO tools_reader;
GRANT SELECT ON ALL TABLES IN SCHEMA shop TO tools_reader;
GRANT UPDATE (title, cost) ON books TO tools_writer WITH GRANT OPTION;
GRANT EXECUTE ON FUNCTION pairs TO tools_reader;
ALTER DEFAULT PRIVILEGES IN SCHEMA shop GRANT SELECT ON TABLES TO tools_reader;
ALTER ROLE tools_writer SET statement_timeout = '5s';
INSERT INTO authors (name, feels, home)
  VALUES ('Ann', 'happy', ('Main', 1)), ('Bob', NULL, NULL);
INSERT INTO books (author_id, title, cost)
  VALUES (1, 'One', 3), (1, 'Two', 8), (2, E'Tab\there', 1);
