/**
 * The point select and the durable insert once more, asked by pgbench with prepared statements: a
 * client in C waits less for itself, so more of what is measured is the server.
 */

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Comparison, Effort, Question, Round, Side } from './sides.js';
import { alternate, onOne, quantile } from './sides.js';

const PGBENCH = join(process.env.PG_BIN ?? '/usr/lib/postgresql/15/bin', 'pgbench');

/** A question and the script that asks it. */
export interface Script {
  readonly question: Question;
  readonly script: string;
}

/** The script over the table of `pointSelect`. */
export const SELECT_SCRIPT = `\\set id random(1, 100000)
SELECT n, filler FROM bench_point WHERE id = :id;
`;

/** The script over the table of `durableInsert`: keys wide enough to never meet twice. */
export const INSERT_SCRIPT = `\\set id random(1, 9000000000000000000)
INSERT INTO bench_insert (id, n, filler) VALUES (:id, 7, '${'x'.repeat(80)}');
`;

/** Why pgbench cannot ask; undefined if it can. */
export function missingPgbench(): string | undefined {
  return existsSync(PGBENCH) ? undefined : `no pgbench at ${PGBENCH}; set PG_BIN`;
}

/** Asks both sides in turn, like `compare`. */
export async function comparePgbench(
  { question, script }: Script,
  sides: readonly [Side, Side],
  effort: Effort,
): Promise<Comparison> {
  const folder = await mkdtemp(join(tmpdir(), 'braid-bench-pgbench-'));
  const file = join(folder, 'script.sql');
  try {
    await writeFile(file, script);
    return await alternate(question, sides, effort, (side) =>
      oneRound(question, side, effort, folder, file),
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function oneRound(
  question: Question,
  side: Side,
  effort: Effort,
  folder: string,
  file: string,
): Promise<Round> {
  const clients = String(question.connections);
  const run = (seconds: number, more: readonly string[]): Promise<string> =>
    pgbench([
      ...['-n', '-M', 'prepared', '-c', clients, '-T', String(seconds), '-f', file],
      ...more,
      side.url,
    ]);
  const warm = count(await run(Math.max(1, Math.round(effort.warmupMs / 1000)), []));
  const prefix = 'log';
  const logs = ['-l', '--log-prefix', join(folder, prefix)];
  const output = await run(Math.max(1, Math.round(effort.roundMs / 1000)), logs);
  const perSecond = Number(/^tps = ([\d.]+)/m.exec(output)?.[1]);
  if (!(perSecond > 0)) throw new Error(`pgbench did not say its speed:\n${output}`);
  const samples = await latencies(folder, prefix);
  await onOne(side, (client) => question.check(client, warm + count(output)));
  return { perSecond, p50Ms: quantile(samples, 0.5), p99Ms: quantile(samples, 0.99) };
}

/** Transactions that pgbench has run; throws if one of them failed. */
function count(output: string): number {
  const processed = /actually processed: (\d+)/.exec(output)?.[1];
  const failed = /failed transactions: (\d+)/.exec(output)?.[1];
  if (processed === undefined || failed !== '0') throw new Error(`pgbench failed:\n${output}`);
  return Number(processed);
}

/** The latencies of pgbench's logs in milliseconds, sorted; the logs are removed. */
async function latencies(folder: string, prefix: string): Promise<number[]> {
  const samples: number[] = [];
  for (const name of await readdir(folder)) {
    if (!name.startsWith(`${prefix}.`)) continue;
    const path = join(folder, name);
    for (const line of (await readFile(path, 'utf8')).split('\n')) {
      // client, transaction, microseconds, script, time
      const micros = line.split(' ')[2];
      if (micros !== undefined) samples.push(Number(micros) / 1000);
    }
    await rm(path);
  }
  return samples.sort((a, b) => a - b);
}

function pgbench(args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(PGBENCH, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    let errors = '';
    child.stdout.on('data', (data: Buffer) => (output += data.toString()));
    child.stderr.on('data', (data: Buffer) => (errors += data.toString()));
    child.on('error', reject);
    child.on('close', (code) => {
      if (code === 0) resolve(output);
      else reject(new Error(`pgbench ended with ${String(code)}:\n${errors}`));
    });
  });
}
