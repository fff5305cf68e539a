/**
 * Migrations of plain SQL: applied in order, once, by one program at a time.
 *
 * ```text
 *  lock ─► history and files compared ─► for each pending file:
 *            BEGIN, a row in the history, the file, COMMIT
 *            "-- braiddb: no transaction": the row, the statements one by one, the row is finished
 * ```
 *
 * The row comes first and has a unique name. So even a runner that has lost its lock applies nothing
 * a second time.
 */

import type { Database, Queryable } from '@braiddb/sdk';

import { MigrationError, ServerOptionError } from '../errors.js';
import { checkBoolean, checkCall, checkText } from './checks.js';
import type { Migration, Script } from './files.js';
import { readMigrations } from './files.js';
import type { Applied } from './history.js';
import { History } from './history.js';

/** Options of all functions about migrations. */
export interface MigrationOptions {
  /** The folder of the files. Default `'migrations'`. */
  readonly folder?: string | undefined;
  /** The table of applied migrations, perhaps `schema.table`. Default `'braiddb_migrations'`. */
  readonly table?: string | undefined;
  /** Milliseconds to wait for another runner. Default 600 000; 1 to 86 400 000. */
  readonly lockTimeoutMs?: number | undefined;
}

/** Options of {@link migrateUp}. */
export interface UpOptions extends MigrationOptions {
  /** Only say what would be applied. Default `false`. */
  readonly dryRun?: boolean | undefined;
  /** Apply migrations with a lower number than one that has been applied. Default `false`. */
  readonly outOfOrder?: boolean | undefined;
}

/** Options of {@link migrateDown}. */
export interface DownOptions extends MigrationOptions {
  /** How many migrations are undone, the last one first. Default 1. */
  readonly steps?: number | undefined;
}

/** A migration, and what is known about it. */
export interface MigrationStatus {
  readonly name: string;
  /**
   * `pending`: not applied; `applied`; `changed`: applied, and the file is another one since then;
   * `missing`: applied, and there is no file; `unfinished`: it has no transaction, and stopped halfway.
   */
  readonly state: 'pending' | 'applied' | 'changed' | 'missing' | 'unfinished';
  readonly appliedAt: Date | undefined;
}

const LOCK_TIMEOUT_MS = { initial: 600_000, min: 1, max: 86_400_000 };

interface Run {
  readonly db: Database;
  readonly history: History;
  readonly migrations: readonly Migration[];
  readonly lockTimeoutMs: number;
}

/**
 * Applies the migrations that have not been applied, each in a transaction of its own; returns their
 * names. Needs two connections.
 *
 * Fails with a {@link MigrationError} if a file has been changed or removed since it was applied, and
 * with the error of the SDK if a statement fails.
 */
export async function migrateUp(db: Database, options: UpOptions = {}): Promise<string[]> {
  const run = await prepare(db, options);
  checkBoolean('dryRun', options.dryRun);
  checkBoolean('outOfOrder', options.outOfOrder);
  if (options.dryRun === true) return (await pending(run, options)).map(({ name }) => name);
  await run.history.create(db);
  return run.history.locked(db, run.lockTimeoutMs, async () => {
    const todo = await pending(run, options);
    for (const { name, checksum, up } of todo) {
      await apply(run, up, {
        before: (on) => run.history.begin(on, name, checksum),
        after: (on) => run.history.finish(on, name),
      });
    }
    return todo.map(({ name }) => name);
  });
}

/** Undoes the last migrations by their `.down.sql` files; returns their names. */
export async function migrateDown(db: Database, options: DownOptions = {}): Promise<string[]> {
  checkCall(db, options);
  const steps: unknown = options.steps ?? 1;
  if (!Number.isInteger(steps) || (steps as number) < 1) {
    throw new ServerOptionError('steps', 'must be a whole number from 1');
  }
  const run = await prepare(db, options);
  await run.history.create(db);
  return run.history.locked(db, run.lockTimeoutMs, async () => {
    const applied = new Set((await check(run)).map(({ name }) => name));
    const last = run.migrations.filter(({ name }) => applied.has(name)).toReversed();
    const todo = last.slice(0, steps as number).map(({ name, down }) => {
      if (down !== undefined) return { name, down };
      throw new MigrationError(`${name} cannot be undone: there is no ${name}.down.sql`);
    });
    for (const { name, down } of todo) {
      await apply(run, down, {
        before: (on) => run.history.reopen(on, name),
        after: (on) => run.history.forget(on, name),
      });
    }
    return todo.map(({ name }) => name);
  });
}

/** What is known about each migration, in their order; those without a file come first. */
export async function migrationStatus(
  db: Database,
  options: MigrationOptions = {},
): Promise<MigrationStatus[]> {
  const { history, migrations } = await prepare(db, options);
  const applied = new Map((await history.read(db)).map((one) => [one.name, one]));
  const known = new Set(migrations.map(({ name }) => name));
  const missing = [...applied.values()].filter(({ name }) => !known.has(name));
  return [...missing, ...migrations].map(({ name, checksum }) => {
    const row = applied.get(name);
    const appliedAt = row?.finishedAt ?? undefined;
    if (row === undefined) return { name, state: 'pending', appliedAt };
    if (row.finishedAt === null) return { name, state: 'unfinished', appliedAt };
    if (!known.has(name)) return { name, state: 'missing', appliedAt };
    return { name, state: row.checksum === checksum ? 'applied' : 'changed', appliedAt };
  });
}

async function prepare(db: Database, options: MigrationOptions): Promise<Run> {
  checkCall(db, options);
  const { folder = 'migrations', table = 'braiddb_migrations' } = options;
  checkText('folder', folder);
  checkText('table', table);
  if (table.split('.').includes('')) {
    throw new ServerOptionError('table', 'must be a name, or schema.name');
  }
  const { initial, min, max } = LOCK_TIMEOUT_MS;
  const lockTimeoutMs = options.lockTimeoutMs ?? initial;
  if (!Number.isInteger(lockTimeoutMs) || lockTimeoutMs < min || lockTimeoutMs > max) {
    throw new ServerOptionError('lockTimeoutMs', `must be a whole number from ${min} to ${max}`);
  }
  const migrations = await readMigrations(folder);
  return { db, history: new History(table), migrations, lockTimeoutMs };
}

/** What has been applied; fails where it does not fit the files. */
async function check({ db, history, migrations }: Run): Promise<Applied[]> {
  const applied = await history.read(db);
  const files = new Map(migrations.map((one) => [one.name, one]));
  for (const { name, checksum, finishedAt } of applied) {
    if (finishedAt === null) {
      throw new MigrationError(
        `${name} stopped halfway, and it has no transaction that could undo it. Bring the database ` +
          `in order by hand, then set finished_at of its row in ${history.name}, or delete the row`,
      );
    }
    const file = files.get(name);
    if (file === undefined)
      throw new MigrationError(`${name} was applied, and its file is missing`);
    if (file.checksum !== checksum) {
      throw new MigrationError(
        `${file.up.path} has been changed since it was applied; write a new migration instead`,
      );
    }
  }
  return applied;
}

async function pending(run: Run, { outOfOrder = false }: UpOptions): Promise<Migration[]> {
  const applied = new Set((await check(run)).map(({ name }) => name));
  const todo = run.migrations.filter(({ name }) => !applied.has(name));
  const last = run.migrations.findLast(({ name }) => applied.has(name));
  const [first] = todo;
  if (!outOfOrder && first !== undefined && last !== undefined && first.version < last.version) {
    throw new MigrationError(
      `${first.name} comes before ${last.name}, which has been applied; give it a higher number, or ` +
        'allow it with outOfOrder (--out-of-order)',
    );
  }
  return todo;
}

/** What the history notes before and after a script. */
interface Notes {
  readonly before: (on: Queryable) => Promise<void>;
  readonly after: (on: Queryable) => Promise<void>;
}

async function apply({ db }: Run, script: Script, { before, after }: Notes): Promise<void> {
  try {
    if (!script.inTransaction) {
      await before(db);
      for (const statement of script.statements) await db.script(statement);
      await after(db);
      return;
    }
    await db.transaction(async (tx) => {
      await before(tx);
      if (script.statements.length > 0) await tx.script(script.text);
      await after(tx);
    });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new MigrationError(`${script.path}: ${reason}`, { cause: error });
  }
}
