/**
 * The program `sysbench`: where its scripts are, how it is called, and what it reports.
 */

import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** The folder of the Lua scripts of Debian's package. */
const SCRIPTS = '/usr/share/sysbench';

/** When a run ends: after whole seconds, or after a number of events for a run of a moment. */
export type Limit = { readonly seconds: number } | { readonly events: number };

/** One call of the program. */
export interface Call {
  /** A script of Debian's package by its name, or a path that ends with `.lua`. */
  readonly script: string;
  readonly url: string;
  readonly threads: number;
  /** Both servers get the same random numbers. */
  readonly seed: number;
  /** Of all connections. */
  readonly isolation: string;
  /** Options of the script. */
  readonly options: readonly string[];
}

/** What a run reports. */
export interface Report {
  /** Events that ended well. */
  readonly transactions: number;
  readonly perSecond: number;
  readonly meanMs: number;
  readonly p95Ms: number;
  /** Statements that have written rows. */
  readonly writes: number;
  /** Events that met 40001, 40P01 or 23505 and ran again. */
  readonly retries: number;
  readonly reconnects: number;
}

/** Why sysbench cannot be used; undefined if it can. */
export async function missingSysbench(): Promise<string | undefined> {
  try {
    await promisify(execFile)('sysbench', ['--version']);
  } catch {
    return 'the program sysbench is not installed';
  }
  return existsSync(scriptPath('oltp_read_write')) ? undefined : `no scripts in ${SCRIPTS}`;
}

function scriptPath(script: string): string {
  return script.endsWith('.lua') ? script : join(SCRIPTS, `${script}.lua`);
}

/** The arguments before the script's command. */
export function argumentsOf({ script, url, threads, seed, options }: Call): string[] {
  const { hostname, port, username, password, pathname } = new URL(url);
  const server = { host: hostname, port: port === '' ? '5432' : port, user: username, password };
  const database = { ...server, db: pathname.slice(1) };
  return [
    scriptPath(script),
    '--db-driver=pgsql',
    ...Object.entries(database).map(([name, value]) => {
      return `--pgsql-${name}=${decodeURIComponent(value)}`;
    }),
    ...[`--threads=${threads}`, `--rand-seed=${seed}`, ...options],
  ];
}

/** The session settings of libpq and of `pg` for an isolation level. */
export function sessionOptions(isolation: string): string {
  return `-c default_transaction_isolation=${isolation.replaceAll(' ', '\\ ')}`;
}

/** Creates and fills the tables of a script. */
export async function prepareTables(call: Call): Promise<void> {
  await sysbench(call, ['prepare']);
}

/** Runs a script until the limit. */
export async function runScript(call: Call, limit: Limit): Promise<Report> {
  const until =
    'seconds' in limit
      ? ['--events=0', `--time=${Math.max(1, Math.round(limit.seconds))}`]
      : [`--events=${limit.events}`, '--time=0'];
  return reportOf(await sysbench(call, [...until, 'run']));
}

/** The numbers of the program's output. */
export function reportOf(output: string): Report {
  const numberAfter = (label: string): number => {
    const found = new RegExp(`^\\s*${label}:\\s+([\\d.]+)`, 'm').exec(output)?.[1];
    if (found === undefined) throw new Error(`sysbench does not report "${label}":\n${output}`);
    return Number(found);
  };
  const perSecond = /^\s*transactions:.*\(([\d.]+) per sec\.\)/m.exec(output)?.[1];
  const transactions = numberAfter('transactions');
  return {
    transactions,
    perSecond: Number(perSecond),
    // Its own mean has two decimals only, which is too few for a point select.
    meanMs: numberAfter('sum') / transactions,
    p95Ms: numberAfter('95th percentile'),
    writes: numberAfter('write'),
    retries: numberAfter('ignored errors'),
    reconnects: numberAfter('reconnects'),
  };
}

function sysbench(call: Call, command: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, PGOPTIONS: sessionOptions(call.isolation) };
    const child = spawn('sysbench', [...argumentsOf(call), ...command], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env,
    });
    let output = '';
    child.stdout.on('data', (data: Buffer) => (output += data.toString()));
    child.stderr.on('data', (data: Buffer) => (output += data.toString()));
    child.on('error', reject);
    child.on('close', (code) => {
      const faults = output.split('\n').filter((line) => /^(FATAL|ALERT):/.test(line));
      if (code === 0 && faults.length === 0) resolve(output);
      else reject(new Error(`sysbench ended with ${String(code)}: ${faults[0] ?? output}`));
    });
  });
}
