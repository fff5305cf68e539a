/**
 * The two ways to the server: the SDK, and plain `pg` with the retry loop that everybody writes.
 *
 * ```text
 *  update             UPDATE usertable SET field3 = $1 WHERE ycsb_key = $2
 *  read-modify-write  BEGIN; SELECT … WHERE ycsb_key = $1 [FOR UPDATE]; UPDATE …; COMMIT
 * ```
 */

import { connect } from '@braiddb/sdk';
import type { Database, Sql } from '@braiddb/sdk';
import { isRetryable, sql } from '@braiddb/sdk';
import pg from 'pg';

import type { Cell, YcsbSide } from './cell.js';
import { lockingSetting } from './cell.js';

/** A record: its key and ten fields. */
export type Row = Record<string, string>;

/** One of a number of connections. */
export interface Connection {
  read(key: string): Promise<Row | undefined>;
  update(key: string, field: number, value: string): Promise<void>;
  /** Reads the record and writes one field, changed; runs again until it commits. */
  modify(key: string, field: number, change: (value: string) => string): Promise<void>;
}

/** Connections to a server. */
export interface Driver {
  readonly connections: readonly Connection[];
  /** How often anything had to be run again by the client. */
  retries(): number;
  close(): Promise<void>;
}

const SELECT = 'SELECT * FROM usertable WHERE ycsb_key = ';

const updateText = (field: number): string =>
  `UPDATE usertable SET field${field} = $1 WHERE ycsb_key = $2`;

/** Opens connections as the cell says. */
export function openDriver(cell: Cell, side: YcsbSide, count: number): Promise<Driver> {
  return cell.driver === 'sdk' ? openSdk(cell, side, count) : openPg(cell, side, count);
}

async function openSdk(cell: Cell, side: YcsbSide, count: number): Promise<Driver> {
  const pool = new pg.Pool({ connectionString: side.url, max: count, idleTimeoutMillis: 0 });
  let retries = 0;
  const db: Database = await connect(pool, {
    prepare: true,
    transaction: {
      isolation: cell.isolation,
      attemptsMax: 1000,
      onRetry: () => {
        retries += 1;
      },
    },
  });
  // All connections now, each with its setting, and all kept.
  const clients = await Promise.all(Array.from({ length: count }, () => pool.connect()));
  for (const client of clients) await prepareSession(client, cell, side);
  for (const client of clients) client.release();
  const select = (key: string): Sql<Row> =>
    sql<Row>`SELECT * FROM usertable WHERE ycsb_key = ${key}`;
  const set = (key: string, field: number, value: string): Sql => {
    const name = sql.identifier(`field${field}`);
    return sql`UPDATE usertable SET ${name} = ${value} WHERE ycsb_key = ${key}`;
  };
  const forUpdate = cell.locking === 'for update';
  const connection: Connection = {
    read: (key) => db.maybeOne(select(key)),
    update: (key, field, value) =>
      again(
        () => db.query(set(key, field, value)).then(() => undefined),
        () => {
          retries += 1;
        },
      ),
    modify: (key, field, change) =>
      db.transaction(async (tx) => {
        const read = tx.one(select(key));
        const row = await (forUpdate ? read.forUpdate() : read);
        await tx.run(set(key, field, change(row[`field${field}`] ?? '')));
      }),
  };
  return {
    connections: Array.from({ length: count }, () => connection),
    retries: () => retries,
    close: async () => {
      await db.close();
      await pool.end();
    },
  };
}

async function openPg(cell: Cell, side: YcsbSide, count: number): Promise<Driver> {
  const clients = Array.from({ length: count }, () => new pg.Client(side.url));
  await Promise.all(clients.map((client) => client.connect()));
  for (const client of clients) await prepareSession(client, cell, side);
  const state = { retries: 0 };
  return {
    connections: clients.map((client) => pgConnection(client, cell, state)),
    retries: () => state.retries,
    close: async () => {
      await Promise.all(clients.map((client) => client.end()));
    },
  };
}

function pgConnection(client: pg.Client, cell: Cell, state: { retries: number }): Connection {
  const lock = cell.locking === 'for update' ? ' FOR UPDATE' : '';
  const begin = `BEGIN ISOLATION LEVEL ${cell.isolation.toUpperCase()}`;
  const select = async (key: string, tail: string): Promise<Row | undefined> => {
    const { rows } = await client.query<Row>({
      name: `ycsb_read${tail}`,
      text: `${SELECT}$1${tail}`,
      values: [key],
    });
    return rows[0];
  };
  const set = async (key: string, field: number, value: string): Promise<void> => {
    const text = updateText(field);
    await client.query({ name: `ycsb_update_${field}`, text, values: [value, key] });
  };
  const onRetry = (): void => {
    state.retries += 1;
  };
  return {
    read: (key) => select(key, ''),
    update: (key, field, value) => again(() => set(key, field, value), onRetry),
    modify: (key, field, change) =>
      again(async () => {
        await client.query(begin);
        try {
          const row = await select(key, lock);
          await set(key, field, change(row?.[`field${field}`] ?? ''));
          await client.query('COMMIT');
        } catch (error) {
          await client.query('ROLLBACK');
          throw error;
        }
      }, onRetry),
  };
}

/** Runs until it meets no retry error, with a short pause in between. */
async function again(work: () => Promise<void>, onRetry: () => void): Promise<void> {
  for (;;) {
    try {
      await work();
      return;
    } catch (error) {
      const code = (error as { code?: unknown }).code;
      if (!isRetryable(error) && code !== '40001' && code !== '40P01') throw error;
      onRetry();
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 5));
    }
  }
}

async function prepareSession(client: pg.ClientBase, cell: Cell, side: YcsbSide): Promise<void> {
  const setting = lockingSetting(cell, side);
  if (setting !== undefined) await client.query(setting);
  // Reads and updates outside transactions take the level of the session.
  const level = cell.isolation.toUpperCase();
  await client.query(`SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL ${level}`);
}
