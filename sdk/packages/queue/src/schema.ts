/**
 * The tables of the queue.
 *
 * ```text
 *  queue     the names of queues                 stripe  locks for concurrency keys
 *  job       jobs that wait, run or are dead     key     which job a caller's key belongs to
 *  history   finished jobs, by period            cron    patterns, and when each is due next
 *
 *  job.state:   enqueue ──► ready ──► active ──► (history)
 *                 │           ▲  │       │
 *                 └► delayed ─┤  │       ├─ failed: delayed, or dead after the last attempt
 *                             │  ▼       └─ its worker is gone: ready, or dead
 *                          blocked: too many jobs of its concurrency key are active
 * ```
 *
 * Each state has a partial index in the order in which its rows are looked for. So it costs the same
 * to take a job out of ten rows and out of ten million, whatever states they have.
 *
 * On BraidDB the history is interleaved in its periods, which are interleaved in the queue. Old
 * periods end by one range delete, however many rows they have.
 */

import type { Database, ServerInfo, Sql } from '@braiddb/sdk';
import { createOnce, OptionError, sql } from '@braiddb/sdk';

import { checkNames, checkText } from './options.js';

/** The names of the tables, quoted. */
export interface Tables {
  readonly queue: Sql;
  readonly job: Sql;
  readonly period: Sql;
  readonly history: Sql;
  readonly key: Sql;
  readonly cron: Sql;
  readonly stripe: Sql;
}

/** Locks for concurrency keys. Two keys of one stripe wait for each other while jobs are taken. */
export const STRIPES = 64;

/** The tables in a schema. */
export function tablesOf(schema: string): Tables {
  const named = (name: string): Sql => sql.identifier(schema, name);
  return {
    queue: named('queue'),
    job: named('job'),
    period: named('period'),
    history: named('history'),
    key: named('key'),
    cron: named('cron'),
    stripe: named('stripe'),
  };
}

/** Which database the schema is written for. */
export type SchemaTarget = ServerInfo['kind'];

/**
 * The statements that create the tables where they are missing: for a migration of your own.
 *
 * @example
 * ```ts
 * import { schemaSql } from '@braiddb/queue';
 * const text = schemaSql({ schema: 'jobs', target: 'braiddb' });
 * console.assert(text.includes('CREATE TABLE IF NOT EXISTS "jobs"."job"'));
 * ```
 */
export function schemaSql(options: { schema?: string; target?: SchemaTarget } = {}): string {
  checkNames(options, ['schema', 'target']);
  const { schema = 'braid_queue', target = 'braiddb' } = options;
  checkText('schema', schema);
  const targets: readonly SchemaTarget[] = ['braiddb', 'cockroachdb', 'postgresql'];
  if (!targets.includes(target)) {
    throw new OptionError('target', `must be one of ${targets.join(', ')}`);
  }
  return `${statementsOf(schema, target).join(';\n\n')};\n`;
}

/** Creates the tables where they are missing; several programs may do so at once. */
export async function migrate(db: Database, schema: string, names: string[]): Promise<void> {
  for (const text of statementsOf(schema, db.server.kind)) await createOnce(db, sql.unsafe(text));
  const { queue } = tablesOf(schema);
  await db.transaction({ isolation: 'read committed' }, async (tx) => {
    await tx.query`
      INSERT INTO ${queue} (name) SELECT n FROM unnest(${names}::text[]) AS n
      ON CONFLICT (name) DO NOTHING`;
  });
}

/** What the statements of a schema have in common. */
class SchemaWriter {
  readonly #schema: string;
  readonly #target: SchemaTarget;

  constructor(schema: string, target: SchemaTarget) {
    this.#schema = schema;
    this.#target = target;
  }

  /** The name of a table, quoted. */
  name(table: string): string {
    return sql.identifier(this.#schema, table).compile().text;
  }

  /** The clause that keeps rows beside their parent, where the server has it. */
  within(parent: string, columns: string): string {
    if (this.#target !== 'braiddb') return '';
    return ` INTERLEAVE IN PARENT ${this.name(parent)} (${columns}) ON DELETE CASCADE`;
  }

  /** An index of the jobs in some state. */
  index(title: string, columns: string, condition: string): string {
    const on = `${this.name('job')} (${columns}) WHERE ${condition}`;
    return `CREATE INDEX IF NOT EXISTS job_${title} ON ${on}`;
  }

  /** Rows come and go faster than the share of a table that starts a vacuum by default. */
  vacuumed(): string {
    if (this.#target !== 'postgresql') return '';
    return ' WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0)';
  }
}

function statementsOf(schema: string, target: SchemaTarget): string[] {
  const writer = new SchemaWriter(schema, target);
  return [
    `CREATE SCHEMA IF NOT EXISTS ${sql.identifier(schema).compile().text}`,
    `CREATE TABLE IF NOT EXISTS ${writer.name('queue')} (
  name TEXT PRIMARY KEY,
  created_at TIMESTAMPTZ NOT NULL DEFAULT now()
)`,
    ...jobStatements(writer),
    ...historyStatements(writer),
    ...otherStatements(writer),
  ];
}

function jobStatements(writer: SchemaWriter): string[] {
  return [
    `CREATE TABLE IF NOT EXISTS ${writer.name('job')} (
  id UUID PRIMARY KEY,
  queue TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('ready', 'delayed', 'blocked', 'active', 'dead')),
  priority INT4 NOT NULL,
  run_at TIMESTAMPTZ NOT NULL,
  due_at TIMESTAMPTZ,
  attempt INT4 NOT NULL DEFAULT 0,
  max_attempts INT4 NOT NULL,
  key TEXT,
  concurrency_key TEXT,
  lease UUID,
  payload JSONB NOT NULL,
  error TEXT,
  failed_at TIMESTAMPTZ,
  created_at TIMESTAMPTZ NOT NULL DEFAULT now()
)${writer.vacuumed()}`,
    writer.index('ready', 'queue, priority, run_at, id', "state = 'ready'"),
    writer.index('delayed', 'queue, due_at, id', "state = 'delayed'"),
    writer.index('active', 'queue, due_at, id', "state = 'active'"),
    writer.index(
      'active_key',
      'queue, concurrency_key',
      "state = 'active' AND concurrency_key IS NOT NULL",
    ),
    writer.index('blocked', 'queue, concurrency_key, priority, run_at, id', "state = 'blocked'"),
    writer.index('dead', 'queue, failed_at, id', "state = 'dead'"),
  ];
}

function historyStatements(writer: SchemaWriter): string[] {
  return [
    `CREATE TABLE IF NOT EXISTS ${writer.name('period')} (
  queue TEXT NOT NULL,
  period TIMESTAMPTZ NOT NULL,
  PRIMARY KEY (queue, period)
)${writer.within('queue', 'queue')}`,
    `CREATE TABLE IF NOT EXISTS ${writer.name('history')} (
  queue TEXT NOT NULL,
  period TIMESTAMPTZ NOT NULL,
  id UUID NOT NULL,
  finished_at TIMESTAMPTZ NOT NULL,
  attempt INT4 NOT NULL,
  payload JSONB NOT NULL,
  created_at TIMESTAMPTZ NOT NULL,
  PRIMARY KEY (queue, period, id)
)${writer.within('period', 'queue, period')}`,
  ];
}

function otherStatements(writer: SchemaWriter): string[] {
  return [
    `CREATE TABLE IF NOT EXISTS ${writer.name('key')} (
  queue TEXT NOT NULL,
  key TEXT NOT NULL,
  id UUID NOT NULL,
  created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  PRIMARY KEY (queue, key)
)`,
    `CREATE INDEX IF NOT EXISTS key_age ON ${writer.name('key')} (queue, created_at, key)`,
    `CREATE TABLE IF NOT EXISTS ${writer.name('cron')} (
  id TEXT PRIMARY KEY,
  queue TEXT NOT NULL,
  pattern TEXT NOT NULL,
  time_zone TEXT NOT NULL,
  missed TEXT NOT NULL,
  payload JSONB NOT NULL,
  priority INT4 NOT NULL,
  concurrency_key TEXT,
  max_attempts INT4 NOT NULL,
  next_at TIMESTAMPTZ NOT NULL
)`,
    `CREATE TABLE IF NOT EXISTS ${writer.name('stripe')} (no INT4 PRIMARY KEY)`,
    `INSERT INTO ${writer.name('stripe')} (no) SELECT n FROM generate_series(0, ${STRIPES - 1}) AS n
ON CONFLICT (no) DO NOTHING`,
  ];
}
