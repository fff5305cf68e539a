/**
 * The scripts of Debian's package, and what the table has to hold after each.
 *
 * Scripts that only read share one table. The others get a new one in each round, so that both
 * servers begin with the same number of rows.
 */

import type pg from 'pg';

import type { Side } from '../sides.js';
import { onOne } from '../sides.js';
import type { Call, Limit, Report } from './program.js';
import { prepareTables, runScript } from './program.js';

/** A script and its effect. */
export interface Script {
  readonly name: string;
  /** Whether it only reads. */
  readonly reads: boolean;
  /** The rows and the sum of `k` that events leave; `undefined` where it depends on chance. */
  readonly leaves: (before: Content, done: Pick<Report, 'transactions' | 'writes'>) => Expected;
}

/** What the tables of a script hold. */
export interface Content {
  readonly rows: number;
  /** The sum of the indexed column. */
  readonly sum: number;
}

interface Expected {
  readonly rows: number;
  readonly sum: number | undefined;
}

const unchanged = (before: Content): Expected => before;
const sameRows = ({ rows }: Content): Expected => ({ rows, sum: undefined });
const reading = (name: string): Script => ({ name, reads: true, leaves: unchanged });

/** All of them. */
export const SCRIPTS: readonly Script[] = [
  reading('oltp_point_select'),
  reading('oltp_read_only'),
  reading('select_random_points'),
  reading('select_random_ranges'),
  // Both delete a row and insert it again with another `k`.
  { name: 'oltp_read_write', reads: false, leaves: sameRows },
  { name: 'oltp_write_only', reads: false, leaves: sameRows },
  {
    name: 'oltp_insert',
    reads: false,
    leaves: ({ rows }, { transactions }) => ({ rows: rows + transactions, sum: undefined }),
  },
  {
    name: 'oltp_delete',
    reads: false,
    // Many events find no row any more; sysbench counts them apart.
    leaves: ({ rows }, { writes }) => ({ rows: rows - writes, sum: undefined }),
  },
  {
    name: 'oltp_update_index',
    reads: false,
    // Each event adds 1 to a row.
    leaves: ({ rows, sum }, { transactions }) => ({ rows, sum: sum + transactions }),
  },
  { name: 'oltp_update_non_index', reads: false, leaves: unchanged },
  {
    name: 'bulk_insert',
    reads: false,
    // Each thread numbers the rows of its own table.
    leaves: (_, { transactions }) => ({ rows: transactions, sum: undefined }),
  },
];

/** How long a measurement takes, and what comes before. */
export interface Effort {
  /** `undefined`: without. */
  readonly warmup: Limit | undefined;
  readonly limit: Limit;
}

/** Creates, fills and analyzes the tables of a script, in place of what is there. */
export async function prepareSide(script: Script, side: Side, call: Call): Promise<Content> {
  await onOne(side, dropTables);
  await prepareTables(call);
  return onOne(side, async (client) => {
    for (const table of await tablesOf(client)) {
      const vacuum = side.name === 'PostgreSQL' ? 'VACUUM ' : '';
      await client.query(`${vacuum}ANALYZE ${table}`);
    }
    return contentOf(client);
  });
}

/** One measurement, then a look at the table. */
export async function measure(
  script: Script,
  side: Side,
  call: Call,
  before: Content,
  { warmup, limit }: Effort,
): Promise<Report> {
  // A second bulk_insert would meet the keys of the first.
  const warms = warmup !== undefined && script.name !== 'bulk_insert';
  const warm = warms ? await runScript({ ...call, seed: call.seed + 1 }, warmup) : undefined;
  const report = await runScript(call, limit);
  const after = await onOne(side, contentOf);
  const expected = script.leaves(before, {
    transactions: report.transactions + (warm?.transactions ?? 0),
    writes: report.writes + (warm?.writes ?? 0),
  });
  const sumDiffers = expected.sum !== undefined && expected.sum !== after.sum;
  if (expected.rows !== after.rows || sumDiffers) {
    const [wanted, found] = [JSON.stringify(expected), JSON.stringify(after)];
    throw new Error(`${script.name} should leave ${wanted} and left ${found}`);
  }
  return report;
}

/** Rows and the sum of `k` over the tables that sysbench has made. */
async function contentOf(client: pg.Client): Promise<Content> {
  const content = { rows: 0, sum: 0 };
  for (const table of await tablesOf(client)) {
    const text = `SELECT count(*) AS rows, coalesce(sum(k), 0) AS sum FROM ${table}`;
    const { rows } = await client.query<{ rows: string; sum: string }>(text);
    content.rows += Number(rows[0]?.rows);
    content.sum += Number(rows[0]?.sum);
  }
  return content;
}

/** Drops the tables that sysbench has made. */
export async function dropTables(client: pg.Client): Promise<void> {
  for (const table of await tablesOf(client)) await client.query(`DROP TABLE ${table}`);
}

async function tablesOf(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ tablename: string }>(
    `SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename LIKE 'sbtest%'`,
  );
  return rows.map(({ tablename }) => tablename);
}
