// psql: backslash commands on objects of every kind, its variables, conditions, \copy and scripts.
import { spawn } from 'node:child_process';

import { say, step, url } from '../support.mjs';

/** Lines of these begin with the place of the error in the script, or hold the user's name. */
const alike = (text) =>
  text
    .replaceAll(/^psql:\S+ /gm, '')
    .replaceAll(/\b(root|postgres)\b/g, 'owner')
    .trimEnd();

/** Runs psql on a script; resolves to its exit code and to its output and errors in their order. */
async function run(script, options) {
  const child = spawn('sh', ['-c', 'exec psql -X -A "$@" 2>&1', 'psql', ...options, url], {
    env: { ...process.env, LC_ALL: 'C.UTF-8', PAGER: 'cat', PSQL_HISTORY: '/dev/null' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk) => (output += chunk));
  const ended = new Promise((resolve) => child.once('close', resolve));
  child.stdin.end(script);
  return { code: await ended, output };
}

/** Runs psql on a script and prints what it prints. */
async function psql(script, ...options) {
  const { code, output } = await run(script, options);
  if (output.trim() !== '') say(alike(output));
  if (code !== 0) say(`ended with ${code}`);
}

/** Each line of `commands` is a step of its own, in the schema of the test. */
async function each(commands) {
  const lines = commands
    .trim()
    .split('\n')
    .map((line) => line.trim());
  const steps = lines.map((line) => `\\echo '== ${line.replaceAll('\\', '\\\\')}'\n${line}\n`);
  await psql(`SET search_path = shop, public;\n${steps.join('')}`, '-q');
}

await step('a script', () => psql('', '-q', '-v', 'ON_ERROR_STOP=1', '-f', 'schema.sql'));

// The definition of every kind of relation. With `+` on indexes and views there are no sizes.
await each(`
  \\d authors
  \\d books
  \\d sales
  \\d sales_late
  \\d titles
  \\d totals
  \\d numbers
  \\d authors_sad
  \\d books_once
  \\d place
  \\d nowhere
  \\d+ authors
  \\d+ books
  \\d+ sales
  \\d+ sales_one
  \\d+ titles
  \\d+ cheap
  \\d+ totals
  \\d+ authors_meta
`);

// Lists, by patterns: the lists of built-in objects differ.
await each(`
  \\d
  \\dt
  \\dt shop.*s
  \\dt *.sales*
  \\di
  \\ds
  \\dv
  \\dm
  \\dn shop
  \\dn+ shop
  \\df
  \\dfa
  \\dft
  \\dfp
  \\df lower_name text
  \\df+ lower_name
  \\da
  \\dT
  \\dT+ mood
  \\dD
  \\dD+
  \\dP
  \\dPi
  \\dPtn+
  \\dp
  \\dp books
  \\z sales
  \\ddp
  \\du tools_*
  \\dg+ tools_*
  \\drds tools_*
  \\dd
  \\dy
  \\dew
  \\des
  \\det
  \\deu
  \\dRp
  \\dRs
  \\dl
  \\dL plpgsql
  \\dx plpgsql
  \\dc nothing
  \\dC mood
  \\dO nothing
  \\db pg_default
  \\dA btree
  \\dF english
  \\do shop.*
  \\dX
  \\dconfig work_mem
  \\l nothing
  \\sf lower_name
  \\sf+ touch
  \\sf reset
  \\sf nowhere
  \\sv titles
  \\sv+ titles
  \\sv cheap
  \\sv doubled
`);

await step('variables, \\gset, \\if', () =>
  psql(`
    SET search_path = shop;
    \\set who Ann
    SELECT id AS found, name FROM authors WHERE name = :'who' \\gset my_
    \\echo :my_found :my_name
    SELECT :my_found + 1 AS next, :'my_name' AS name, :"my_name" FROM (SELECT 1 AS "Ann") AS x;
    SELECT count(*) > 1 AS many FROM authors \\gset
    \\if :many
      \\echo many authors
    \\else
      \\echo few authors
    \\endif
    \\echo :ROW_COUNT :ERROR :SQLSTATE
    SELECT 1 / 0;
    \\echo :ROW_COUNT :ERROR :SQLSTATE :LAST_ERROR_MESSAGE
    SELECT 1 \\; SELECT 2;
  `),
);

await step('formats', () =>
  psql(`
    SET search_path = shop;
    SELECT id, name, feels, tags, meta, home FROM authors ORDER BY id \\gx
    \\pset null (none)
    SELECT name, feels, home FROM authors ORDER BY id \\g (format=aligned)
    \\pset format csv
    SELECT title, cost FROM books ORDER BY id;
    \\pset format html
    SELECT title, cost FROM books ORDER BY id LIMIT 1;
    \\pset format aligned
    SELECT a.name, b.title, b.cost FROM books b JOIN authors a ON a.id = author_id ORDER BY 1, 2
    \\crosstabview name title cost
    \\t on
    SELECT letters FROM books ORDER BY id;
  `),
);

await step('\\gdesc', () =>
  psql(`
    SELECT id, name, feels, tags, home, 'x' AS unknown, cost FROM shop.authors
      JOIN shop.books USING (id) \\gdesc
    CREATE TABLE nothing () \\gdesc
    SELECT * FROM nowhere \\gdesc
  `),
);

await step('\\gexec', () =>
  psql(`
    SELECT format('SELECT count(*) AS %I FROM shop.%I', relname, relname) FROM pg_class
      WHERE relnamespace = 'shop'::regnamespace AND relkind = 'r' ORDER BY relname \\gexec
  `),
);

await step('\\copy', () =>
  psql(`
    SET search_path = shop;
    CREATE TABLE lines (n int, line text);
    \\copy lines FROM PROGRAM 'printf "1\\\\tone\\\\n2\\\\ttwo\\\\n"'
    \\copy lines FROM stdin WITH (FORMAT csv, HEADER)
n,line
3,"a ""quoted"" one"
4,
\\.
    \\copy (SELECT * FROM lines ORDER BY n) TO stdout WITH (FORMAT csv, HEADER, NULL 'none')
    \\copy lines TO stdout
    \\copy lines FROM stdin
x	one
\\.
    \\copy nowhere TO stdout
    DROP TABLE lines;
  `),
);

await step('\\bind and prepared statements', () =>
  psql(`
    PREPARE named (int) AS SELECT name FROM shop.authors WHERE id = $1;
    EXECUTE named(2);
    DEALLOCATE named;
    EXECUTE named(2);
  `),
);

await step('\\watch', async () => {
  // A heading holds the time; the loop ends when its statement fails.
  const script = `
    CREATE SEQUENCE rounds MAXVALUE 2;
    SELECT nextval('rounds') AS round \\watch 0.01
    DROP SEQUENCE rounds;
  `;
  const { output } = await run(script, ['-t', '-q']);
  for (const line of output.split('\n')) if (/^(\d|ERROR)/.test(line)) say(line);
});

await step('transactions', async () => {
  const script = `
    SET search_path = shop;
    BEGIN;
    INSERT INTO authors (name) VALUES ('Cid');
    SAVEPOINT s;
    SELECT * FROM nowhere;
    SELECT 1;
    ROLLBACK TO s;
    COMMIT;
    SELECT name FROM authors ORDER BY id;
    \\set ON_ERROR_ROLLBACK on
    BEGIN;
    INSERT INTO authors (id, name) VALUES (1, 'Dan');
    DELETE FROM authors WHERE name = 'Cid';
    COMMIT;
    \\set AUTOCOMMIT off
    DELETE FROM authors;
    ROLLBACK;
    SELECT count(*) FROM authors;
  `;
  await psql(script);
  await psql('SELECT 1; SELECT 1 / 0; SELECT 2;', '-1', '-v', 'ON_ERROR_STOP=1');
});

await step('errors', () =>
  psql(`
    \\set VERBOSITY default
    \\set SHOW_CONTEXT always
    INSERT INTO shop.books (author_id, title, cost) VALUES (1, 'x', -1);
    INSERT INTO shop.books (author_id, title) VALUES (1, 'One');
    INSERT INTO shop.books (author_id, title) VALUES (9, 'x');
    DO $$ BEGIN RAISE EXCEPTION 'no %', 1 USING HINT = 'a hint', DETAIL = 'a detail'; END $$;
    SELECT nme FROM shop.authors;
  `),
);

// The numbers of large objects differ, so that the lines that name them are left out.
await step('large objects', async () => {
  const file = `large-${process.pid}.tmp`;
  const script = `
    SELECT lo_from_bytea(0, 'hello') AS thing \\gset
    \\lo_export :thing ${file}
    \\! cat ${file} && echo
    \\lo_import ${file} 'imported'
    SELECT convert_from(lo_get(:LASTOID), 'UTF8') AS text;
    \\lo_unlink :LASTOID
    \\lo_unlink :LASTOID
    \\lo_unlink :thing
    SELECT count(*) AS left_over FROM pg_largeobject_metadata;
  `;
  const { output } = await run(script, []);
  say(output.replaceAll(/\b\d{4,}\b/g, 'N').trimEnd());
});

await step('comments of large objects', () =>
  psql(`
    SELECT lo_from_bytea(0, 'hello') AS thing \\gset
    COMMENT ON LARGE OBJECT :thing IS 'a comment';
    SELECT obj_description(:thing, 'pg_largeobject') AS comment;
    SELECT lo_unlink(:thing);
  `),
);

await step('drop', () =>
  psql(`
    SET client_min_messages = warning;
    DROP OWNED BY tools_reader, tools_writer;
    DROP SCHEMA shop CASCADE;
    DROP ROLE tools_writer, tools_reader;
  `),
);
