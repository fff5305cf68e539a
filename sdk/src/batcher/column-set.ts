/**
 * A set of columns that rows have in common, independent of the table's current description.
 *
 * A migration may change the table while rows wait. The batcher then describes it again, and the
 * rows keep their place: their column set stays, and gets another {@link StatementTemplate}.
 */

import type { StatementTemplate, Table } from './table.js';

/** A set of columns, and the template that they have in the newest description of the table. */
export class ColumnSet {
  readonly #names: readonly string[];
  #template: StatementTemplate;
  #misfit: { readonly error: unknown } | undefined;

  /** Throws a `BatchTableError` if the table does not have the columns. */
  constructor(table: Table, names: readonly string[]) {
    this.#names = names;
    this.#template = table.makeTemplate(names);
  }

  /** The template that statements are made of; throws if the table no longer has the columns. */
  get template(): StatementTemplate {
    if (this.#misfit !== undefined) throw this.#misfit.error;
    return this.#template;
  }

  /** The most rows of one statement. */
  get rowsMax(): number {
    return this.#template.rowsMax;
  }

  /** Takes over what the table looks like now. */
  adopt(table: Table): void {
    try {
      this.#template = table.makeTemplate(this.#names);
      this.#misfit = undefined;
    } catch (error) {
      this.#misfit = { error };
    }
  }
}
