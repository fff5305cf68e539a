/** Work of functions and triggers: loops, values that grow, and rows that they change. */

import type { Work } from './work.js';
import { textOf } from './work.js';

/** A function of one number that is called once with the size. */
function loop(
  name: string,
  size: number,
  { returns, body, tables = [] }: { returns: string; body: string; tables?: readonly string[] },
): Work {
  const create = `CREATE FUNCTION work(n INT) RETURNS ${returns} LANGUAGE plpgsql AS $$ ${body} $$`;
  return textOf(name, size, (count) => `SELECT work(${count})`, {
    prepare: () => [...tables, create],
    finish: () => ['DROP FUNCTION work(INT)', ...(tables.length > 0 ? ['DROP TABLE item'] : [])],
  });
}

const KEYED = 'CREATE TABLE item (id BIGINT PRIMARY KEY, n BIGINT)';

const loops: readonly Work[] = [
  loop('loop in PL/pgSQL', 20_000, {
    returns: 'BIGINT',
    body: `DECLARE s BIGINT := 0;
      BEGIN FOR i IN 1..n LOOP s := s + i % 7; END LOOP; RETURN s; END`,
  }),
  loop('array that grows in PL/pgSQL', 1_000, {
    returns: 'INT',
    body: `DECLARE a INT[] := '{}';
      BEGIN FOR i IN 1..n LOOP a := a || i; END LOOP; RETURN cardinality(a); END`,
  }),
  loop('elements of an array in PL/pgSQL', 1_000, {
    returns: 'INT',
    body: `DECLARE a INT[] := array_fill(0, ARRAY[n]);
      BEGIN FOR i IN 1..n LOOP a[i] := i; END LOOP; RETURN a[n]; END`,
  }),
  loop('string that grows in PL/pgSQL', 4_000, {
    returns: 'INT',
    body: `DECLARE a TEXT := '';
      BEGIN FOR i IN 1..n LOOP a := a || 'x'; END LOOP; RETURN length(a); END`,
  }),
  loop('document that grows in PL/pgSQL', 100, {
    returns: 'INT',
    body: `DECLARE a JSONB := '{}';
      BEGIN FOR i IN 1..n LOOP a := a || jsonb_build_object('k' || i, i); END LOOP; RETURN 1; END`,
  }),
  loop('rows of a query in PL/pgSQL', 10_000, {
    returns: 'BIGINT',
    body: `DECLARE s BIGINT := 0; r RECORD;
      BEGIN FOR r IN SELECT g FROM generate_series(1, n) AS g LOOP s := s + r.g; END LOOP;
      RETURN s; END`,
  }),
  loop('queries in PL/pgSQL', 2_000, {
    returns: 'BIGINT',
    tables: [KEYED, 'INSERT INTO item SELECT i, i FROM generate_series(0, 999) AS i'],
    body: `DECLARE s BIGINT := 0; v BIGINT;
      BEGIN FOR i IN 1..n LOOP SELECT item.n INTO v FROM item WHERE id = i % 1000; s := s + v;
      END LOOP; RETURN s; END`,
  }),
  loop('inserts in PL/pgSQL', 2_000, {
    returns: 'INT',
    tables: [KEYED],
    body: 'BEGIN FOR i IN 1..n LOOP INSERT INTO item VALUES (i, i); END LOOP; RETURN n; END',
  }),
  loop('blocks with EXCEPTION in PL/pgSQL', 500, {
    returns: 'INT',
    tables: [KEYED],
    body: `BEGIN FOR i IN 1..n LOOP
      BEGIN INSERT INTO item VALUES (i, i); EXCEPTION WHEN OTHERS THEN NULL; END;
      END LOOP; RETURN n; END`,
  }),
];

/** Rows that go into a table with a trigger. */
function triggered(name: string, timing: string, body: string): Work {
  return textOf(name, 2_000, (size) => `INSERT INTO item (id) SELECT generate_series(1, ${size})`, {
    prepare: () => [
      KEYED,
      'CREATE TABLE noted (id BIGINT)',
      `CREATE FUNCTION work() RETURNS trigger LANGUAGE plpgsql AS $$ ${body} $$`,
      `CREATE TRIGGER g ${timing} INSERT ON item FOR EACH ROW EXECUTE FUNCTION work()`,
    ],
    finish: () => ['DROP TABLE item', 'DROP TABLE noted', 'DROP FUNCTION work()'],
  });
}

const triggers: readonly Work[] = [
  triggered('rows with a BEFORE trigger', 'BEFORE', 'BEGIN new.n := new.id + 1; RETURN new; END'),
  triggered(
    'rows with an AFTER trigger that inserts',
    'AFTER',
    'BEGIN INSERT INTO noted VALUES (new.id); RETURN new; END',
  ),
];

/** Work of functions and triggers. */
export const ROUTINE_WORKS: readonly Work[] = [...loops, ...triggers];
