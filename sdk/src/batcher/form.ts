/**
 * Rows that set the same columns, whatever the table looks like at the moment.
 *
 * A migration may change the table while rows wait. The batcher then describes it again, and the
 * rows keep their place: their form stays, only its {@link Shape} is another one.
 */

import type { BatcherSettings } from './options.js';
import type { Table } from './table.js';
import { Shape } from './table.js';

/** A set of columns, and the shape that they have in the newest description of the table. */
export class Form {
  readonly #names: readonly string[];
  readonly #settings: BatcherSettings;
  #shape: Shape;
  #misfit: { readonly error: unknown } | undefined;

  /** Throws a `BatchTableError` if the table does not have the columns. */
  constructor(table: Table, names: readonly string[], settings: BatcherSettings) {
    this.#names = names;
    this.#settings = settings;
    this.#shape = new Shape(table, names, settings);
  }

  /** The shape that statements are made of; throws if the table no longer has the columns. */
  get shape(): Shape {
    if (this.#misfit !== undefined) throw this.#misfit.error;
    return this.#shape;
  }

  /** The most rows of one statement. */
  get rowsMax(): number {
    return this.#shape.rowsMax;
  }

  /** Takes over what the table looks like now. */
  adopt(table: Table): void {
    try {
      this.#shape = new Shape(table, this.#names, this.#settings);
      this.#misfit = undefined;
    } catch (error) {
      this.#misfit = { error };
    }
  }
}
