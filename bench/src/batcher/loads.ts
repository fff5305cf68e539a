/**
 * Full load: rows are always waiting. The same rows go through the batcher, by single inserts and by
 * COPY; each way knows how many rows were acknowledged, and they are counted afterwards.
 */

import type { AdaptEvent, Batcher, Database } from '@braiddb/sdk';
import { connect, sql } from '@braiddb/sdk';

import type { Side } from '../sides.js';

/** A row of the load. */
interface Row {
  readonly id: number;
  readonly note: string;
}

/** A way to store rows. */
export interface Setting {
  readonly name: string;
  readonly way: 'adaptive' | 'fixed' | 'single' | 'copy';
  /** Rows of a batch; for COPY rows of one COPY. Nothing for `adaptive` and `single`. */
  readonly rows?: number;
  /** Statements in flight. */
  readonly inFlight: number;
}

/** One kind of rows. */
export interface Load {
  readonly name: string;
  readonly bytes: number;
}

/** A batch size that the batcher has chosen, and when, in milliseconds since the start. */
export interface Choice {
  readonly rows: number;
  readonly atMs: number;
}

/** What one run over all loads has found. */
export interface FullLoad {
  /** Rows a second of each load, without its warm-up. */
  readonly rates: readonly number[];
  readonly choices: readonly Choice[];
}

/** Milliseconds of a load that are not counted, at most; half of a short one. */
const WARMUP_MS_MAX = 1000;
/** Rows that are added before the event loop gets a turn. */
const BURST_ROWS = 500;
/** Rows that wait at most. */
const WAITING_ROWS = 20_000;

/** Tables made so far. */
let tables = 0;

/** Makes a table for one run. None is dropped: what a server cleans up the next run would pay for. */
export async function makeTable(db: Database): Promise<string> {
  tables += 1;
  const table = `bench_batcher_${tables}`;
  await db.query`CREATE TABLE ${sql.identifier(table)} (id INT8 PRIMARY KEY, note TEXT NOT NULL)`;
  return table;
}

/** Throws unless the table has as many rows as were acknowledged. */
export async function checkRows(db: Database, table: string, stored: number): Promise<void> {
  const { n } = await db.one<{ n: bigint }>`SELECT count(*) AS n FROM ${sql.identifier(table)}`;
  if (Number(n) !== stored) throw new Error(`${stored} rows were acknowledged, ${n} are there`);
}

/** A batcher of this setting; `onAdapt` receives its choices. */
export function batcherOf(
  db: Database,
  table: string,
  { way, rows, inFlight }: Setting,
  onAdapt: (event: AdaptEvent) => void = () => undefined,
): Batcher<Row> {
  return db.batcher<Row>(table, {
    adaptive: way === 'adaptive',
    inFlightMax: inFlight,
    onConflict: 'nothing',
    bytesMax: 16 * 1024 * 1024,
    ...(rows === undefined ? {} : { rowsMax: rows }),
    onAdapt,
  });
}

/** One run over the loads, one after the other, on a table of its own. */
export async function fullLoad(
  side: Side,
  setting: Setting,
  loads: readonly Load[],
  seconds: number,
): Promise<FullLoad> {
  await using db = await connect(side.url);
  const table = await makeTable(db);
  const startMs = performance.now();
  const choices: Choice[] = [];
  const rates: number[] = [];
  const rows = new Rows();
  await using batcher = batcherOf(db, table, setting, ({ rows }) => {
    choices.push({ rows, atMs: performance.now() - startMs });
  });
  for (const { bytes } of loads) {
    rows.note = 'x'.repeat(bytes);
    const meter = new Meter(seconds * 1000);
    if (setting.way === 'single') await singly(db, table, setting.inFlight, rows, meter);
    else if (setting.way === 'copy') await byCopy(db, table, setting, rows, meter);
    else await throughBatcher(batcher, rows, meter);
    rates.push(meter.rate);
  }
  await checkRows(db, table, rows.made);
  return { rates, choices };
}

/** Makes rows, each with the next id. */
class Rows {
  made = 0;
  note = '';

  next(): Row {
    return { id: this.made++, note: this.note };
  }
}

/** Counts rows that are acknowledged after the warm-up and before the end. */
class Meter {
  readonly #startMs = performance.now();
  readonly #warmMs: number;
  readonly #ms: number;
  #stored = 0;
  #endMs: number;

  constructor(ms: number) {
    this.#ms = ms;
    this.#endMs = ms;
    this.#warmMs = Math.min(WARMUP_MS_MAX, ms / 2);
  }

  /** True when the time is over; a busy machine gets more, until there is something to count. */
  get isOver(): boolean {
    return performance.now() - this.#startMs >= this.#ms && this.#stored > 0;
  }

  stored(rows: number): void {
    const atMs = performance.now() - this.#startMs;
    if (rows === 0 || atMs < this.#warmMs || (atMs > this.#ms && this.#stored > 0)) return;
    this.#stored += rows;
    this.#endMs = Math.max(this.#ms, atMs);
  }

  /** Rows a second. */
  get rate(): number {
    return (this.#stored * 1000) / (this.#endMs - this.#warmMs);
  }
}

async function throughBatcher(batcher: Batcher<Row>, rows: Rows, meter: Meter): Promise<void> {
  const open = new Set<Promise<void>>();
  let before = batcher.stats.stored;
  const note = (): void => {
    const { stored } = batcher.stats;
    meter.stored(stored - before);
    before = stored;
  };
  while (!meter.isOver) {
    for (let i = 0; i < BURST_ROWS; i++) {
      const adding = batcher.add(rows.next());
      open.add(adding);
      void adding.finally(() => open.delete(adding));
    }
    do {
      note();
      await new Promise((resolve) => setImmediate(resolve));
    } while (batcher.stats.waiting > WAITING_ROWS);
  }
  await Promise.all(open);
}

async function singly(
  db: Database,
  table: string,
  connections: number,
  rows: Rows,
  meter: Meter,
): Promise<void> {
  const insert = async (): Promise<void> => {
    while (!meter.isOver) {
      const { id, note } = rows.next();
      await db.query`INSERT INTO ${sql.identifier(table)} VALUES (${id}, ${note})`;
      meter.stored(1);
    }
  };
  await Promise.all(Array.from({ length: connections }, insert));
}

async function byCopy(
  db: Database,
  table: string,
  { rows: rowsOfCopy = 1 }: Setting,
  rows: Rows,
  meter: Meter,
): Promise<void> {
  while (!meter.isOver) {
    const lines = Array.from({ length: rowsOfCopy }, () => {
      const { id, note } = rows.next();
      return `${id}\t${note}\n`;
    });
    meter.stored(await db.copyFrom({ table, format: 'text' }, lines.join('')));
  }
}
