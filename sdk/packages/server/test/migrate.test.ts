/** Migrations: files, order, lock, failures, and what stops them. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Database } from '@braiddb/sdk';
import { connect, DatabaseError } from '@braiddb/sdk';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { onEachServer } from '../../../test/targets.js';
import type { TestDatabase } from '../src/index.js';
import { createDatabase, MigrationError, ServerOptionError } from '../src/index.js';
import { runTool } from '../src/tools/command.js';
import { migrateDown, migrateUp, migrationStatus } from '../src/tools/index.js';
import { findControl, splitStatements } from '../src/tools/statements.js';

describe('the text of a file', () => {
  it('is split at semicolons outside of quotes and comments', () => {
    const text = `CREATE TABLE a (b TEXT DEFAULT ';'); -- x; y
      /* ; */ SELECT $$ a; $b$ ; $$, ";", E'\\';' ; ;
      CREATE FUNCTION f() RETURNS INT LANGUAGE SQL AS $f$ SELECT 1; $f$`;
    expect(splitStatements(text)).toEqual([
      "CREATE TABLE a (b TEXT DEFAULT ';')",
      `SELECT $$ a; $b$ ; $$, ";", E'\\';'`,
      'CREATE FUNCTION f() RETURNS INT LANGUAGE SQL AS $f$ SELECT 1; $f$',
    ]);
    expect(splitStatements(' ; -- nothing\n')).toEqual([]);
  });

  it('shows statements that begin or end a transaction', () => {
    for (const text of ['begin', 'START  TRANSACTION READ ONLY', 'Commit', 'END', 'rollback']) {
      expect(findControl(['SELECT 1', text])).toBe(text);
    }
    const fine = ['SAVEPOINT a', 'ROLLBACK TO SAVEPOINT a', 'ENDING', "SELECT 'commit'"];
    expect(findControl(fine)).toBeUndefined();
  });
});

onEachServer('migrations', ({ url }) => {
  let database: TestDatabase;
  let db: Database;
  let folder = '';
  beforeEach(async () => {
    database = await createDatabase(url, { prefix: 'migrate' });
    db = await connect(database.url, { connectionsMax: 8 });
    folder = await mkdtemp(join(tmpdir(), 'braiddb-migrate-'));
  });
  afterEach(async () => {
    await db.close();
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  });

  const write = async (files: Readonly<Record<string, string>>): Promise<void> => {
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  };
  const states = async (): Promise<string[]> =>
    (await migrationStatus(db, { folder })).map(({ name, state }) => `${name} ${state}`);
  const failed = async (work: Promise<unknown>): Promise<Error> => {
    const error: unknown = await work.catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(MigrationError);
    return error as Error;
  };

  it('go up, each once, and down', async () => {
    await write({
      '1_city.sql': 'CREATE TABLE city (id INT4 PRIMARY KEY);\nINSERT INTO city VALUES (1);',
      '1_city.down.sql': 'DROP TABLE city',
      '2_name.up.sql': "ALTER TABLE city ADD COLUMN name TEXT DEFAULT 'x;y'",
      '2_name.down.sql': 'ALTER TABLE city DROP COLUMN name',
      '10_last.sql': '-- nothing yet\n',
    });
    expect(await states()).toEqual(['1_city pending', '2_name pending', '10_last pending']);
    expect(await migrateUp(db, { folder, dryRun: true })).toHaveLength(3);
    expect(await states()).toEqual(['1_city pending', '2_name pending', '10_last pending']);
    expect(await migrateUp(db, { folder })).toEqual(['1_city', '2_name', '10_last']);
    expect(await migrateUp(db, { folder })).toEqual([]);
    expect(await db.one`SELECT id, name FROM city`).toEqual({ id: 1, name: 'x;y' });
    expect(await states()).toEqual(['1_city applied', '2_name applied', '10_last applied']);
    const stuck = await failed(migrateDown(db, { folder }));
    expect(stuck.message).toContain('10_last.down.sql');
    await write({ '10_last.down.sql': '' });
    expect(await migrateDown(db, { folder, steps: 2 })).toEqual(['10_last', '2_name']);
    expect(await db.one`SELECT * FROM city`).toEqual({ id: 1 });
    expect(await migrateUp(db, { folder })).toEqual(['2_name', '10_last']);
    expect(await migrateDown(db, { folder, steps: 9 })).toEqual(['10_last', '2_name', '1_city']);
    expect(await migrateDown(db, { folder })).toEqual([]);
  });

  it('are applied once by several runners at the same time', async () => {
    await write({
      '1_a.sql': 'CREATE TABLE a (id INT4 PRIMARY KEY); INSERT INTO a VALUES (1)',
      '2_b.sql': 'INSERT INTO a VALUES (2)',
    });
    const runs = await Promise.all([1, 2, 3].map(() => migrateUp(db, { folder })));
    expect(runs.flat()).toEqual(['1_a', '2_b']);
    expect((await db.query`SELECT id FROM a`).count).toBe(2);
  });

  it('wait for another runner, and not for ever', async () => {
    await write({ '1_a.sql': 'CREATE TABLE a (id INT4)' });
    await migrateUp(db, { folder });
    await write({ '2_b.sql': 'CREATE TABLE b (id INT4)' });
    await using holder = await db.reserve();
    await holder.script('BEGIN; SELECT * FROM braiddb_migrations_lock FOR UPDATE');
    const error = await failed(migrateUp(db, { folder, lockTimeoutMs: 100 }));
    expect(error.message).toContain('another program');
    const waiting = migrateUp(db, { folder });
    await sleep(50);
    expect(await states()).toEqual(['1_a applied', '2_b pending']);
    await holder.script('COMMIT');
    expect(await waiting).toEqual(['2_b']);
  });

  it('undo a file that fails, and stop there', async () => {
    await write({
      '1_a.sql': 'CREATE TABLE a (id INT4)',
      '2_b.sql': 'CREATE TABLE b (id INT4); SELECT nonsense;',
      '3_c.sql': 'CREATE TABLE c (id INT4)',
    });
    const error = await failed(migrateUp(db, { folder }));
    expect(error.message).toContain('2_b.sql');
    expect(error.cause).toBeInstanceOf(DatabaseError);
    expect(error.cause).toMatchObject({ code: '42703' });
    expect(await states()).toEqual(['1_a applied', '2_b pending', '3_c pending']);
    expect((await db.query`SELECT 1 FROM pg_class WHERE relname IN ('b', 'c')`).count).toBe(0);
    await write({ '2_b.sql': 'CREATE TABLE b (id INT4)' });
    expect(await migrateUp(db, { folder })).toEqual(['2_b', '3_c']);
  });

  it('may do without a transaction, and then can stop halfway', async () => {
    const head = '-- braiddb: no transaction\n';
    await write({
      '1_a.sql': 'CREATE TABLE a (id INT4)',
      '2_i.sql': `${head}CREATE INDEX CONCURRENTLY a_i ON a (id);\nSELECT 1;`,
    });
    expect(await migrateUp(db, { folder })).toEqual(['1_a', '2_i']);
    await write({ '3_bad.sql': `${head}INSERT INTO a VALUES (7); SELECT nonsense` });
    await failed(migrateUp(db, { folder }));
    expect((await db.query`SELECT id FROM a`).count).toBe(1);
    expect(await states()).toEqual(['1_a applied', '2_i applied', '3_bad unfinished']);
    expect((await failed(migrateUp(db, { folder }))).message).toContain('stopped halfway');
    await db.run`UPDATE braiddb_migrations SET finished_at = now() WHERE finished_at IS NULL`;
    expect(await migrateUp(db, { folder })).toEqual([]);
  });

  it('refuse files that were changed, removed or added in between', async () => {
    await write({ '1_a.sql': 'SELECT 1;\n', '3_c.sql': 'SELECT 3' });
    await migrateUp(db, { folder, table: 'public.history' });
    const own = { folder, table: 'public.history' };
    // Line ends do not count.
    await write({ '1_a.sql': 'SELECT 1;\r\n' });
    expect(await migrateUp(db, own)).toEqual([]);
    await write({ '1_a.sql': 'SELECT 2' });
    expect((await failed(migrateUp(db, own))).message).toContain('has been changed');
    expect((await migrationStatus(db, own))[0]?.state).toBe('changed');
    await rm(join(folder, '1_a.sql'));
    expect((await failed(migrateUp(db, own))).message).toContain('missing');
    expect((await migrationStatus(db, own))[0]).toMatchObject({ name: '1_a', state: 'missing' });
    await write({ '1_a.sql': 'SELECT 1;\n', '2_b.sql': 'SELECT 2' });
    expect((await failed(migrateUp(db, own))).message).toContain('--out-of-order');
    expect(await migrateUp(db, { ...own, outOfOrder: true })).toEqual(['2_b']);
  });

  it('refuse files and options that fit no rule', async () => {
    await failed(migrateUp(db, { folder: join(folder, 'nowhere') }));
    await write({ 'readme.txt': 'not a migration', '1_a.sql': 'SELECT 1; COMMIT; SELECT 2' });
    expect((await failed(migrateUp(db, { folder }))).message).toContain('no transaction');
    await write({ '1_a.sql': 'SELECT 1', '01_b.sql': 'SELECT 1' });
    expect((await failed(migrateUp(db, { folder }))).message).toContain('two migrations');
    await rm(join(folder, '01_b.sql'));
    await write({ 'first.sql': 'SELECT 1' });
    expect((await failed(migrateUp(db, { folder }))).message).toContain('name it like');
    await rm(join(folder, 'first.sql'));
    await write({ '2_b.down.sql': 'SELECT 1' });
    expect((await failed(migrateUp(db, { folder }))).message).toContain('has no 2_b.sql');
    const wrong = migrateUp(db, { folder, lockTimeoutMs: 0 });
    await expect(wrong).rejects.toBeInstanceOf(ServerOptionError);
    await expect(migrateDown(db, { folder, steps: 0.5 })).rejects.toBeInstanceOf(ServerOptionError);
  });

  it('are a command', async () => {
    await write({ '1_a.sql': 'CREATE TABLE a (id INT4)', '1_a.down.sql': 'DROP TABLE a' });
    const run = (...args: string[]): Promise<number> =>
      runTool('migrate', [...args, '--url', database.url, '--folder', folder]);
    expect(await run('status', '--check')).toBe(1);
    expect(await run('up', '--dry-run')).toBe(0);
    expect(await run()).toBe(0);
    expect(await run('status', '--check')).toBe(0);
    expect(await run('down', '--steps', '1')).toBe(0);
    expect(await run('sideways')).toBe(2);
    expect(await run('up', '--nonsense')).toBe(2);
    expect(await run('--steps')).toBe(2);
    expect(await run('up', '--lock-timeout', 'x')).toBe(1);
    expect(await runTool('migrate', ['--help'])).toBe(0);
    expect(await runTool('migrate', ['--url', 'postgresql://root@127.0.0.1:1/x'])).toBe(1);
  });
});
