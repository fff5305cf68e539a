/**
 * The queue and the readings: all SQL of the example.
 *
 * ```text
 *  POST /events ──► iot_queue ──► one transaction: take the oldest, store, delete ──► iot_reading
 *                   (durable before the answer)                    (event id is the primary key)
 * ```
 *
 * Why every event ends up in `iot_reading` exactly once:
 * - The answer to the sender comes after the insert into the queue has been committed. Without an
 *   answer the sender sends again: the event may then be in the queue twice.
 * - Storing and deleting is one transaction, so a crash leaves an event either in the queue or in the
 *   readings. If the outcome of a commit is unknown, the next round finds out by looking.
 * - The event's id is the primary key of the readings, so a second copy is dropped there.
 */

import { randomBytes } from 'node:crypto';

import type { Database, TransactionOptions } from '@braiddb/sdk';
import { sql } from '@braiddb/sdk';

import type { SensorEvent } from './events.js';

/** Rows of one INSERT. Five parameters a row, and a statement may have 65,535. */
const INSERT_ROWS_MAX = 1000;

/** Creates the tables where they are missing. */
export async function createTables(db: Database): Promise<void> {
  await db.query`
    CREATE TABLE IF NOT EXISTS iot_queue (
      id UUID PRIMARY KEY,
      event_id TEXT NOT NULL,
      sensor TEXT NOT NULL,
      taken_at TIMESTAMPTZ NOT NULL,
      value FLOAT8 NOT NULL
    )`;
  await db.query`
    CREATE TABLE IF NOT EXISTS iot_reading (
      event_id TEXT PRIMARY KEY,
      sensor TEXT NOT NULL,
      taken_at TIMESTAMPTZ NOT NULL,
      value FLOAT8 NOT NULL
    )`;
}

/** Puts events into the queue. When this returns they are durable, all of them. */
export async function enqueue(
  db: Database,
  events: readonly SensorEvent[],
  options: TransactionOptions = {},
): Promise<void> {
  const rows = events.map((event) => [nextId(), ...columnsOf(event)]);
  if (rows.length === 0) return;
  await db.transaction(options, async (tx) => {
    for (let start = 0; start < rows.length; start += INSERT_ROWS_MAX) {
      const chunk = rows.slice(start, start + INSERT_ROWS_MAX);
      await tx.query`
        INSERT INTO iot_queue (id, event_id, sensor, taken_at, value)
        VALUES ${sql.values(chunk)}`;
    }
  });
}

/** What one round of the worker has done. */
export interface Drained {
  /** Entries taken out of the queue. */
  readonly taken: number;
  /** Readings that were new; the others had been stored before. */
  readonly stored: number;
}

interface Entry {
  readonly id: string;
  readonly event_id: string;
  readonly sensor: string;
  readonly taken_at: Date;
  readonly value: number;
}

/** Moves the oldest entries from the queue to the readings, all or none of them. */
export async function drain(
  db: Database,
  batchRowsMax: number,
  options: TransactionOptions = {},
): Promise<Drained> {
  return db.transaction(options, async (tx) => {
    const { rows: entries } = await tx.query<Entry>`
      SELECT id, event_id, sensor, taken_at, value
      FROM iot_queue ORDER BY id LIMIT ${batchRowsMax}`;
    if (entries.length === 0) return { taken: 0, stored: 0 };

    const byEvent = new Map(entries.map((entry) => [entry.event_id, entry]));
    const readings = [...byEvent.values()].map(
      (entry) => [entry.event_id, entry.sensor, entry.taken_at, entry.value] as const,
    );
    const inserted = await tx.query`
      INSERT INTO iot_reading (event_id, sensor, taken_at, value)
      VALUES ${sql.values(readings)}
      ON CONFLICT (event_id) DO NOTHING`;
    const ids = entries.map((entry) => entry.id);
    const deleted = await tx.query`DELETE FROM iot_queue WHERE id = ANY(${ids})`;
    if (deleted.count !== ids.length) {
      throw new Error(`${ids.length} entries were read, ${deleted.count} were there to delete`);
    }
    return { taken: ids.length, stored: inserted.count };
  });
}

/** How much waits, and how much has arrived. */
export async function countRows(db: Database): Promise<{ queued: number; stored: number }> {
  const row = await db.one<{ queued: bigint; stored: bigint }>`
    SELECT (SELECT count(*) FROM iot_queue) AS queued,
           (SELECT count(*) FROM iot_reading) AS stored`;
  return { queued: Number(row.queued), stored: Number(row.stored) };
}

/** All readings in the order of their ids, a page at a time. */
export async function* allReadings(db: Database, pageRows = 5000): AsyncGenerator<SensorEvent> {
  let after = '';
  for (;;) {
    const { rows } = await db.query<Omit<Entry, 'id'>>`
      SELECT event_id, sensor, taken_at, value FROM iot_reading
      WHERE event_id > ${after} ORDER BY event_id LIMIT ${pageRows}`;
    for (const row of rows) {
      after = row.event_id;
      yield { id: row.event_id, sensor: row.sensor, takenAt: row.taken_at, value: row.value };
    }
    if (rows.length < pageRows) return;
  }
}

function columnsOf(event: SensorEvent): (string | Date | number)[] {
  return [event.id, event.sensor, event.takenAt, event.value];
}

let lastMs = 0;
let counter = 0;

/**
 * A UUID of version 7: time first, then a counter, then chance. So the primary key of the queue is
 * also its order, and no second index is needed to find the oldest entry.
 */
export function nextId(nowMs: number = Date.now()): string {
  if (nowMs > lastMs) {
    lastMs = nowMs;
    counter = 0;
  } else if (++counter > 0xfff) {
    lastMs++;
    counter = 0;
  }
  const time = lastMs.toString(16).padStart(12, '0');
  const random = randomBytes(8);
  random[0] = ((random[0] ?? 0) & 0x3f) | 0x80;
  const tail = random.toString('hex');
  const version = `7${counter.toString(16).padStart(3, '0')}`;
  return `${time.slice(0, 8)}-${time.slice(8)}-${version}-${tail.slice(0, 4)}-${tail.slice(4)}`;
}
