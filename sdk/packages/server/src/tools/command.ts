/** `npx braiddb migrate` and `npx braiddb types`. */

import { readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';

import type { Database } from '@braiddb/sdk';
import { BraidError, connect } from '@braiddb/sdk';

import { ServerError, ServerOptionError } from '../errors.js';
import { migrateDown, migrateUp, migrationStatus } from './migrate.js';
import type { ParserChoice } from './type-names.js';
import { generateTypes } from './types.js';

const MIGRATE = `Usage: npx braiddb migrate [up | down | status] [options]

  up        apply the migrations that have not been applied (the default)
  down      undo the last one, by its .down.sql file
  status    list all of them

  --url URL          the database; default: the environment variable DATABASE_URL
  --folder DIR       the folder of the files; default: migrations
  --table NAME       the table of applied migrations; default: braiddb_migrations
  --lock-timeout MS  how long to wait for another runner; default: 600000
  --dry-run          up: only list what would be applied
  --out-of-order     up: apply files with a lower number than one that has been applied
  --steps N          down: how many to undo; default: 1
  --check            status: end with 1 unless all are applied
`;

const TYPES = `Usage: npx braiddb types [options]

  --url URL          the database; default: the environment variable DATABASE_URL
  --out FILE         the file to write; default: standard output
  --check            end with 1 if the file is not up to date, and write nothing
  --schema NAME      a schema to read, may be repeated; default: public
  --kysely           an interface for Kysely instead of tables of the SDK
  --int8, --numeric, --date, --timestamp CHOICE
                     as "parsers" of connect, for example --int8 number
`;

const text = { type: 'string' } as const;
const flag = { type: 'boolean', default: false } as const;

/** Runs a command; returns its exit code. */
export async function runTool(name: string, args: readonly string[]): Promise<number> {
  const usage = name === 'types' ? TYPES : MIGRATE;
  if (args.includes('--help') || args.includes('-h')) return print(usage);
  try {
    return await (name === 'types' ? types(args) : migrate(args));
  } catch (error) {
    const isArgument = (error as { code?: unknown }).code?.toString().startsWith('ERR_PARSE_ARGS');
    const isOurs = error instanceof ServerError || error instanceof BraidError;
    if (!isOurs && isArgument !== true && !isMissingFile(error)) throw error;
    process.stderr.write(`braiddb ${name}: ${(error as Error).message}\n`);
    return isArgument === true ? 2 : 1;
  }
}

function print(lines: string, code = 0): number {
  process.stdout.write(lines);
  return code;
}

function isMissingFile(error: unknown): boolean {
  return typeof (error as { syscall?: unknown }).syscall === 'string';
}

async function withDatabase<T>(
  given: string | undefined,
  work: (db: Database) => Promise<T>,
): Promise<T> {
  const url = given ?? process.env.DATABASE_URL;
  if (url === undefined || url === '') {
    throw new ServerOptionError('url', 'is missing: give --url, or set DATABASE_URL');
  }
  await using db = await connect(url, { connectionsMax: 2, applicationName: 'braiddb-tools' });
  return await work(db);
}

async function migrate(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      ...{ url: text, folder: text, table: text, 'lock-timeout': text, steps: text },
      ...{ 'dry-run': flag, 'out-of-order': flag, check: flag },
    },
  });
  const [command = 'up', ...more] = positionals;
  if (more.length > 0 || !['up', 'down', 'status'].includes(command)) {
    return printError(`unknown command: ${positionals.join(' ')}\n${MIGRATE}`);
  }
  const { folder, table } = values;
  const options = { folder, table, lockTimeoutMs: number(values['lock-timeout']) };
  return withDatabase(values.url, async (db) => {
    if (command === 'status') return printStatus(db, options, values.check);
    const dryRun = values['dry-run'];
    const names =
      command === 'down'
        ? await migrateDown(db, { ...options, steps: number(values.steps) })
        : await migrateUp(db, { ...options, dryRun, outOfOrder: values['out-of-order'] });
    const verb = command === 'down' ? 'undone' : dryRun ? 'pending' : 'applied';
    if (names.length === 0) return print('nothing to do\n');
    return print(names.map((name) => `${verb}  ${name}\n`).join(''));
  });
}

async function printStatus(
  db: Database,
  options: Parameters<typeof migrationStatus>[1],
  isCheck: boolean,
): Promise<number> {
  const found = await migrationStatus(db, options);
  const lines = found.map(({ name, state, appliedAt }) => {
    const at = appliedAt === undefined ? '' : `  ${appliedAt.toISOString()}`;
    return `${state.padEnd(10)}  ${name}${at}\n`;
  });
  const isDone = found.every(({ state }) => state === 'applied');
  return print(lines.join('') || 'no migrations\n', isCheck && !isDone ? 1 : 0);
}

async function types(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...{ url: text, out: text, check: flag, kysely: flag },
      ...{ int8: text, numeric: text, date: text, timestamp: text },
      schema: { type: 'string', multiple: true },
    },
  });
  const { out, check, kysely, schema } = values;
  const parsers = {
    int8: choice('int8', values.int8, ['bigint', 'string', 'number'] as const),
    numeric: choice('numeric', values.numeric, ['string', 'number'] as const),
    date: choice('date', values.date, ['string', 'Date'] as const),
    timestamp: choice('timestamp', values.timestamp, ['Date', 'string'] as const),
  } satisfies ParserChoice;
  const options = { schemas: schema, kysely, parsers };
  const file = await withDatabase(values.url, (db) => generateTypes(db, options));
  if (out === undefined) return print(file);
  if (!check) {
    await writeFile(out, file);
    return print(`written  ${out}\n`);
  }
  const isSame = (await readFile(out, 'utf8')).replaceAll('\r\n', '\n') === file;
  return isSame ? 0 : printError(`braiddb types: ${out} is not up to date\n`, 1);
}

function printError(lines: string, code = 2): number {
  process.stderr.write(lines);
  return code;
}

function number(given: string | undefined): number | undefined {
  return given === undefined ? undefined : Number(given);
}

function choice<Value extends string>(
  name: string,
  given: string | undefined,
  known: readonly Value[],
): Value | undefined {
  const found = known.find((one) => one === given);
  if (given === undefined || found !== undefined) return found;
  throw new ServerOptionError(name, `must be one of ${known.join(', ')}`);
}
