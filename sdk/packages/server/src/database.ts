/** `createDatabase`: a fresh database for each test. */

import { randomBytes } from 'node:crypto';

import pg from 'pg';

import { ServerOptionError } from './errors.js';
import type { Server } from './server.js';

/** Milliseconds to wait for a connection. */
const CONNECT_TIMEOUT_MS = 10_000;

/** A name has at most 63 bytes, and 13 of them are the random end. */
const PREFIX_BYTES_MAX = 40;

/** Options of {@link createDatabase}. */
export interface DatabaseOptions {
  /** What the name begins with, before a random number. Default `'test'`; at most 40 bytes. */
  readonly prefix?: string | undefined;
}

/** A database of your own. Made by {@link createDatabase}. */
export interface TestDatabase extends AsyncDisposable {
  /** Its name. */
  readonly name: string;
  /** The address of the server with this database. */
  readonly url: string;
  /**
   * Removes the database, and ends the sessions that are still in it. Does nothing once its server
   * has been closed. Further calls return the same promise.
   *
   * Fails with the error of `pg` if the server cannot be reached.
   */
  drop(): Promise<void>;
}

/**
 * Creates an empty database on a server, in a few milliseconds. One for each test keeps tests apart
 * that run at the same time. Takes a {@link Server}, or the URL of a running one.
 *
 * SQL: `CREATE DATABASE "test_…"`; `drop` sends `DROP DATABASE IF EXISTS "test_…" WITH (FORCE)`.
 *
 * Fails with the error of `pg` if the server cannot be reached or refuses.
 *
 * @example
 * ```ts
 * import { connect } from '@braiddb/sdk';
 * import { createDatabase, startServer } from '@braiddb/server';
 * await using server = await startServer();
 * await using database = await createDatabase(server, { prefix: 'orders' });
 * await using db = await connect(database.url);
 * await db.script('CREATE TABLE orders (id INT8 PRIMARY KEY)');
 * console.assert(database.name.startsWith('orders_'));
 * ```
 */
export async function createDatabase(
  server: Server | string | URL,
  options: DatabaseOptions = {},
): Promise<TestDatabase> {
  const { prefix = 'test' } = (options as DatabaseOptions | null | undefined) ?? {};
  const isName = typeof prefix === 'string' && /^[\p{L}\p{N}_ -]+$/u.test(prefix);
  if (!isName || Buffer.byteLength(prefix) > PREFIX_BYTES_MAX) {
    const wanted = `must be letters, digits, blanks, - or _, of at most ${PREFIX_BYTES_MAX} bytes`;
    throw new ServerOptionError('prefix', wanted);
  }
  const given = server instanceof URL ? server.href : server;
  const owner = typeof given === 'string' ? undefined : given;
  const admin: unknown = typeof given === 'string' ? given : (given as Server | null)?.url;
  if (typeof admin !== 'string' || !/^postgres(ql)?:/.test(admin) || !URL.canParse(admin)) {
    throw new ServerOptionError(
      'server',
      'must be a server of startServer, or a postgresql:// URL',
    );
  }
  const name = `${prefix}_${randomBytes(6).toString('hex')}`;
  await run(admin, `CREATE DATABASE "${name}"`);
  const url = new URL(admin);
  url.pathname = encodeURIComponent(name);
  let dropping: Promise<void> | undefined;
  const drop = (): Promise<void> => {
    dropping ??=
      owner?.isRunning === false
        ? Promise.resolve()
        : run(admin, `DROP DATABASE IF EXISTS "${name}" WITH (FORCE)`);
    return dropping;
  };
  return Object.freeze({ name, url: url.href, drop, [Symbol.asyncDispose]: drop });
}

/** Runs one statement on a connection of its own. */
async function run(url: string, statement: string): Promise<void> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  // A connection that is lost fails the statement, so its event adds nothing.
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
