/** The database of a dialect: given, or opened at its first use. */

import type { Database } from '@braiddb/sdk';

/** A database, or a function that opens one. */
export type DatabaseGiven = Database | (() => Promise<Database>);

/** Opens the database once. */
export class DatabaseSource {
  readonly #given: DatabaseGiven;
  #opening: Promise<Database> | undefined;

  constructor(given: DatabaseGiven) {
    this.#given = given;
  }

  /** The database; a failure to open it is not remembered. */
  get(): Promise<Database> {
    if (typeof this.#given !== 'function') return Promise.resolve(this.#given);
    this.#opening ??= this.#given().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  /** Closes the database if this has opened it. */
  async close(): Promise<void> {
    const opening = this.#opening;
    this.#opening = undefined;
    if (opening === undefined) return;
    const database = await opening;
    await database.close();
  }
}
