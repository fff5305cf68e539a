/**
 * The queue and the readings: all SQL of the example.
 *
 * ```text
 *  POST /events ─► batcher ─► iot_queue ─► one transaction: lock the oldest, store, delete ─► iot_reading
 *                  (durable before the answer)   │                       (event id is the primary key)
 *                                                └─ an event that no table takes ─► iot_dead_letter
 * ```
 *
 * Why every event ends up exactly once in `iot_reading` or `iot_dead_letter`:
 * - The answer to the sender comes after its rows are durable in the queue. Without an answer the
 *   sender sends again: the event may then be in the queue twice.
 * - Storing and deleting is one transaction, so a crash leaves an event either in the queue or in the
 *   readings. If the outcome of a commit is unknown, the next round finds out by looking.
 * - The two writes of a worker are not waited for: they run while COMMIT is on its way.
 * - Workers lock what they take and skip what others have locked, so they share a queue without
 *   waiting for each other and without doing anything twice.
 * - The event's id is the primary key of both tables, so a second copy is dropped there.
 */

import { randomBytes } from 'node:crypto';

import type { Batcher, BatcherOptions, Database, TransactionOptions } from '@braiddb/sdk';
import { DatabaseError } from '@braiddb/sdk';

import type { SensorEvent } from './events.js';

/** A row of the queue. */
export interface QueueRow {
  readonly id: string;
  readonly event_id: string;
  readonly sensor: string;
  readonly taken_at: Date;
  readonly value: number;
}

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
      value FLOAT8 NOT NULL CHECK (value BETWEEN -1000000 AND 1000000)
    )`;
  await db.query`
    CREATE TABLE IF NOT EXISTS iot_dead_letter (
      event_id TEXT PRIMARY KEY,
      sensor TEXT NOT NULL,
      taken_at TIMESTAMPTZ NOT NULL,
      value FLOAT8 NOT NULL,
      code TEXT NOT NULL,
      error TEXT NOT NULL
    )`;
}

/** The way into the queue. Its rows have ids of their own, so sending one again does no harm. */
export function openQueue(db: Database, options: BatcherOptions = {}): Batcher<QueueRow> {
  return db.batcher<QueueRow>('iot_queue', { onConflict: 'nothing', ...options });
}

/** Puts events into the queue. When this returns they are durable, all of them. */
export async function enqueue(
  queue: Batcher<QueueRow>,
  events: readonly SensorEvent[],
): Promise<void> {
  await Promise.all(
    events.map(({ id, sensor, takenAt, value }) =>
      queue.add({ id: nextId(), event_id: id, sensor, taken_at: takenAt, value }),
    ),
  );
}

/** What one round of a worker has done. */
export interface Drained {
  /** Entries taken out of the queue. */
  readonly taken: number;
  /** Those of them that went to `iot_dead_letter`. */
  readonly dead: number;
}

/**
 * Moves the oldest entries that no other worker has taken to the readings, all or none of them.
 * Rejects with the error of an entry that the table refuses: see {@link bury}.
 */
export async function drain(
  db: Database,
  rowsMax: number,
  options: TransactionOptions = {},
): Promise<Drained> {
  return db.transaction(options, async (tx) => {
    const { rows } = await tx.query<QueueRow>`
      SELECT id, event_id, sensor, taken_at, value
      FROM iot_queue ORDER BY id LIMIT ${rowsMax} FOR UPDATE SKIP LOCKED`;
    if (rows.length === 0) return { taken: 0, dead: 0 };
    const events = [...new Map(rows.map((row) => [row.event_id, row])).values()];
    await tx.run`
      INSERT INTO iot_reading (event_id, sensor, taken_at, value)
      SELECT * FROM unnest(${events.map((row) => row.event_id)}::text[],
        ${events.map((row) => row.sensor)}::text[], ${events.map((row) => row.taken_at)}::timestamptz[],
        ${events.map((row) => row.value)}::float8[])
      ON CONFLICT (event_id) DO NOTHING`;
    await tx.run`DELETE FROM iot_queue WHERE id = ANY(${rows.map((row) => row.id)}::uuid[])`;
    return { taken: rows.length, dead: 0 };
  });
}

/** Moves the oldest free entry to `iot_dead_letter`, with the reason, if that is what fails. */
export async function bury(db: Database, options: TransactionOptions = {}): Promise<Drained> {
  return db.transaction(options, async (tx) => {
    const row = await tx.maybeOne<QueueRow>`
      SELECT id, event_id, sensor, taken_at, value
      FROM iot_queue ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED`;
    if (row === undefined) return { taken: 0, dead: 0 };
    const { event_id, sensor, taken_at, value } = row;
    let dead = 0;
    try {
      await tx.transaction(async (inner) => {
        await inner.run`
          INSERT INTO iot_reading (event_id, sensor, taken_at, value)
          VALUES (${event_id}, ${sensor}, ${taken_at}, ${value}) ON CONFLICT (event_id) DO NOTHING`;
      });
    } catch (error) {
      if (!isPoison(error)) throw error;
      dead = 1;
      await tx.run`
        INSERT INTO iot_dead_letter (event_id, sensor, taken_at, value, code, error)
        VALUES (${event_id}, ${sensor}, ${taken_at}, ${value}, ${error.code}, ${error.message})
        ON CONFLICT (event_id) DO NOTHING`;
    }
    await tx.run`DELETE FROM iot_queue WHERE id = ${row.id}::uuid`;
    return { taken: 1, dead };
  });
}

/** True if the values of an entry are the reason: waiting does not cure it. */
export function isPoison(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && /^2[23]/.test(error.code);
}

/** How much waits, and how much has arrived. */
export async function countRows(
  db: Database,
): Promise<{ queued: number; stored: number; dead: number }> {
  const row = await db.one<{ queued: bigint; stored: bigint; dead: bigint }>`
    SELECT (SELECT count(*) FROM iot_queue) AS queued,
           (SELECT count(*) FROM iot_reading) AS stored,
           (SELECT count(*) FROM iot_dead_letter) AS dead`;
  return { queued: Number(row.queued), stored: Number(row.stored), dead: Number(row.dead) };
}

/** The events that no table took, in the order of their ids. */
export async function deadLetters(db: Database): Promise<string[]> {
  const { rows } = await db.query<{ event_id: string }>`
    SELECT event_id FROM iot_dead_letter ORDER BY event_id`;
  return rows.map((row) => row.event_id);
}

/** All readings in the order of their ids, a page at a time. */
export async function* allReadings(db: Database, pageRows = 5000): AsyncGenerator<SensorEvent> {
  let after = '';
  for (;;) {
    const { rows } = await db.query<Omit<QueueRow, 'id'>>`
      SELECT event_id, sensor, taken_at, value FROM iot_reading
      WHERE event_id > ${after} ORDER BY event_id LIMIT ${pageRows}`;
    for (const row of rows) {
      after = row.event_id;
      yield { id: row.event_id, sensor: row.sensor, takenAt: row.taken_at, value: row.value };
    }
    if (rows.length < pageRows) return;
  }
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
