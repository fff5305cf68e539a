/**
 * The records, and one round of load on them.
 *
 * The value of a field is a counter of ten digits and filler up to 100 bytes. A read-modify-write
 * adds one to the counter that it has read, so that after a run of workload F the sum of all
 * counters is the number of acknowledged ones, or an update was lost. At READ COMMITTED without
 * FOR UPDATE that may happen, and is counted; elsewhere the bench fails.
 */

import pg from 'pg';

import { quantile } from '../sides.js';
import type { Cell, YcsbSide } from './cell.js';
import type { Connection } from './drivers.js';
import { openDriver } from './drivers.js';
import { keyOf, scrambledZipfian } from './zipfian.js';

const FIELDS = 10;
const FIELD_BYTES = 100;
const COUNTER_DIGITS = 10;
const CHUNK_ROWS = 500;
const WARMUP_MS = 500;

/** What one round measured. */
export interface YcsbRound {
  readonly operations: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** How often the client had to run something again. */
  readonly retries: number;
  /** Acknowledged read-modify-writes without a trace: READ COMMITTED allows it without FOR UPDATE. */
  readonly lostUpdates: number;
}

/** Creates and fills the table. */
export async function fill(side: YcsbSide, families: boolean, records: number): Promise<void> {
  await onServer(side, async (client) => {
    await client.query('DROP TABLE IF EXISTS usertable');
    const names = fieldNames();
    const columns = names.map((name) => `${name} TEXT`).join(', ');
    const lists = families
      ? `, FAMILY f_key (ycsb_key), ${names.map((name) => `FAMILY f_${name} (${name})`).join(', ')}`
      : '';
    await client.query(`CREATE TABLE usertable (ycsb_key TEXT PRIMARY KEY, ${columns}${lists})`);
    const value = fieldValue(0);
    for (let start = 0; start < records; start += CHUNK_ROWS) {
      const keys = Array.from({ length: Math.min(CHUNK_ROWS, records - start) }, (_, index) =>
        keyOf(start + index),
      );
      const copies = names.map(() => '$2::text').join(', ');
      const text = `INSERT INTO usertable SELECT k, ${copies} FROM unnest($1::text[]) AS u (k)`;
      await client.query(text, [keys, value]);
    }
  });
}

/** Removes the table. */
export async function clear(side: YcsbSide): Promise<void> {
  await onServer(side, (client) => client.query('DROP TABLE IF EXISTS usertable'));
}

/** One round: every connection works on its own until the time is over. */
export async function oneRound(
  cell: Cell,
  side: YcsbSide,
  connections: number,
  records: number,
  roundMs: number,
): Promise<YcsbRound> {
  const driver = await openDriver(cell, side, connections);
  const before = await countersOf(side);
  const samples: number[] = [];
  let modified = 0;
  const startMs = performance.now();
  const measureFromMs = startMs + WARMUP_MS;
  const endMs = measureFromMs + roundMs;
  let retriesBefore = 0;
  const noteRetries = setTimeout(() => {
    retriesBefore = driver.retries();
  }, WARMUP_MS);
  const worker = async (connection: Connection): Promise<void> => {
    for (;;) {
      const fromMs = performance.now();
      if (fromMs >= endMs) return;
      // Not in one step: the other workers add to it while this one waits.
      const raised = await operation(cell, connection, records);
      modified += raised;
      if (fromMs >= measureFromMs) samples.push(performance.now() - fromMs);
    }
  };
  try {
    await Promise.all(driver.connections.map(worker));
  } finally {
    clearTimeout(noteRetries);
    await driver.close();
  }
  const elapsedMs = performance.now() - measureFromMs;
  const lostUpdates = await check(cell, side, records, before + modified);
  const sorted = samples.sort((a, b) => a - b);
  return {
    operations: sorted.length,
    perSecond: (sorted.length * 1000) / elapsedMs,
    p50Ms: quantile(sorted, 0.5),
    p95Ms: quantile(sorted, 0.95),
    p99Ms: quantile(sorted, 0.99),
    maxMs: sorted.at(-1) ?? Number.NaN,
    retries: driver.retries() - retriesBefore,
    lostUpdates,
  };
}

/** One operation of the workload; returns how many counters it has raised. */
async function operation(cell: Cell, connection: Connection, records: number): Promise<number> {
  const key = keyOf(scrambledZipfian(records));
  if (Math.random() < 0.5) {
    const row = await connection.read(key);
    if (row?.field9?.length !== FIELD_BYTES) throw new Error(`record ${key} was not read`);
    return 0;
  }
  const field = Math.floor(Math.random() * FIELDS);
  if (cell.workload === 'A') {
    await connection.update(key, field, fieldValue(0));
    return 0;
  }
  await connection.modify(key, field, (value) => fieldValue(counterOf(value) + 1));
  return 1;
}

/**
 * Every record is there, and every acknowledged read-modify-write has left its mark; returns how
 * many have not, where the level allows it.
 */
async function check(
  cell: Cell,
  side: YcsbSide,
  records: number,
  expected: number,
): Promise<number> {
  await onServer(side, async (client) => {
    const { rows } = await client.query<{ n: string }>('SELECT count(*) AS n FROM usertable');
    if (Number(rows[0]?.n) !== records) throw new Error(`${rows[0]?.n ?? '?'} records are left`);
  });
  if (cell.workload !== 'F') return 0;
  const found = await countersOf(side);
  const promised = cell.isolation === 'serializable' || cell.locking === 'for update';
  if (found === expected || (!promised && found < expected)) return expected - found;
  throw new Error(`${side.name}: ${expected} updates acknowledged, ${found} found`);
}

/** The sum of all counters. */
async function countersOf(side: YcsbSide): Promise<number> {
  return onServer(side, async (client) => {
    const sums = fieldNames().map((name) => `sum(substr(${name}, 1, ${COUNTER_DIGITS})::int8)`);
    const text = `SELECT ${sums.join(' + ')} AS total FROM usertable`;
    const { rows } = await client.query<{ total: string }>(text);
    return Number(rows[0]?.total);
  });
}

function fieldNames(): string[] {
  return Array.from({ length: FIELDS }, (_, index) => `field${index}`);
}

function fieldValue(counter: number): string {
  return String(counter).padStart(COUNTER_DIGITS, '0').padEnd(FIELD_BYTES, 'x');
}

function counterOf(value: string): number {
  return Number(value.slice(0, COUNTER_DIGITS));
}

async function onServer<T>(side: YcsbSide, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(side.url);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
