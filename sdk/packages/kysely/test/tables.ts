/** Tables of their own for the tests, and Kysely instances on them. */

import type { ConnectOptions, Database } from '@braiddb/sdk';
import { connect } from '@braiddb/sdk';
import type { KyselyConfig } from 'kysely';
import { Kysely } from 'kysely';

import { freshName } from '../../../test/targets.js';
import { BraidDialect } from '../src/index.js';

/** The columns of the table that most tests use. */
export interface Purse {
  id: number;
  coins: number;
  owner: string | null;
}

/** One table, under a name that no other test uses. */
export type Schema = Record<string, Purse>;

/** A table with purses 1 and 2, and how to reach it. */
export interface Fixture extends AsyncDisposable {
  readonly db: Database;
  readonly kysely: Kysely<Schema>;
  readonly name: string;
}

/** Makes such a table; it is dropped with the fixture. */
export async function purses(
  url: string,
  options: ConnectOptions = {},
  config: Omit<KyselyConfig, 'dialect'> = {},
): Promise<Fixture> {
  const name = freshName('purse');
  const db = await connect(url, { connectionsMax: 4, ...options });
  await db.script(`CREATE TABLE ${name} (
      id INT4 PRIMARY KEY, coins INT4 NOT NULL CHECK (coins >= 0), owner TEXT);
    INSERT INTO ${name} VALUES (1, 10, 'Ada'), (2, 0, NULL)`);
  const kysely = new Kysely<Schema>({ ...config, dialect: new BraidDialect({ db }) });
  const dispose = async (): Promise<void> => {
    await kysely.destroy();
    await db.script(`DROP TABLE ${name}`);
    await db.close();
  };
  return { db, kysely, name, [Symbol.asyncDispose]: dispose };
}

/** The error of a promise that rejects. */
export async function failure(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
  } catch (error) {
    return error;
  }
  throw new Error('it was to fail');
}
