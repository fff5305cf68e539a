/**
 * The files of migrations.
 *
 * ```text
 *  migrations/
 *    0001_create_orders.sql         run by `up`; `.up.sql` is the same
 *    0001_create_orders.down.sql    run by `down`; may be missing
 * ```
 */

import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { MigrationError } from '../errors.js';
import { findControl, splitStatements } from './statements.js';

/** The text of one file. */
export interface Script {
  /** The path of the file. */
  readonly path: string;
  readonly text: string;
  readonly statements: readonly string[];
  /** False for files that begin with `-- braiddb: no transaction`. */
  readonly inTransaction: boolean;
}

/** One migration. */
export interface Migration {
  /** The name of its file without the ending, for example `0001_create_orders`. */
  readonly name: string;
  /** The number that the name begins with; migrations run in its order. */
  readonly version: bigint;
  /** SHA-256 of the text, in which lines end with `\n`. */
  readonly checksum: string;
  readonly up: Script;
  readonly down: Script | undefined;
}

const FILE = /^(?<name>(?<version>\d{1,18})(?:[_.-].*?)?)(?<kind>\.up|\.down)?\.sql$/;
const NO_TRANSACTION = /^\s*--\s*braiddb:\s*no\s+transaction\s*(?:\n|$)/i;

/** Reads the migrations of a folder, in their order; refuses files that fit no rule. */
export async function readMigrations(folder: string): Promise<Migration[]> {
  const ups = new Map<string, string>();
  const downs = new Map<string, string>();
  for (const file of (await readFolder(folder)).toSorted()) {
    const { name, kind } = FILE.exec(file)?.groups ?? {};
    if (name === undefined) {
      throw new MigrationError(`${join(folder, file)}: name it like 0001_create_orders.sql`);
    }
    const files = kind === '.down' ? downs : ups;
    if (files.has(name)) throw new MigrationError(`${name}: there are two files in ${folder}`);
    files.set(name, join(folder, file));
  }
  const orphan = [...downs.keys()].find((name) => !ups.has(name));
  if (orphan !== undefined) throw new MigrationError(`${orphan}.down.sql has no ${orphan}.sql`);
  const migrations = await Promise.all(
    [...ups].map(([name, up]) => read(name, up, downs.get(name))),
  );
  return inOrder(migrations);
}

async function readFolder(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((file) => file.endsWith('.sql'));
  } catch (cause) {
    throw new MigrationError(`the folder of migrations cannot be read: ${folder}`, { cause });
  }
}

async function read(name: string, up: string, down: string | undefined): Promise<Migration> {
  const script = await readScript(up);
  const checksum = createHash('sha256').update(script.text).digest('hex');
  const version = BigInt(/^\d+/.exec(name)?.[0] ?? '0');
  return {
    name,
    version,
    checksum,
    up: script,
    down: down === undefined ? undefined : await readScript(down),
  };
}

async function readScript(path: string): Promise<Script> {
  const text = (await readFile(path, 'utf8')).replaceAll('\r\n', '\n').replace(/^\uFEFF/, '');
  const statements = splitStatements(text);
  const inTransaction = !NO_TRANSACTION.test(text);
  const control = inTransaction ? findControl(statements) : undefined;
  if (control !== undefined) {
    throw new MigrationError(
      `${path}: "${control}" would end the transaction of the migration; leave it out, or let the ` +
        'file begin with "-- braiddb: no transaction"',
    );
  }
  return { path, text, statements, inTransaction };
}

function inOrder(migrations: readonly Migration[]): Migration[] {
  const sorted = migrations.toSorted((a, b) => Number(a.version - b.version));
  const twin = sorted.find(({ version }, at) => version === sorted[at + 1]?.version);
  if (twin !== undefined) throw new MigrationError(`two migrations have number ${twin.version}`);
  return sorted;
}
