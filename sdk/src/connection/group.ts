/**
 * A group of statements on the wire, and how its answers are read.
 */

import { ignore } from '../abort.js';
import { isStalePlan, needsPreparing, UsageError, withText } from '../errors.js';
import type { TypeParsers } from '../sql/parsers.js';
import type { DriverResult, Field, TransactionStatus, Wire } from './driver.js';
import { isServerMessage } from './driver.js';
import type { WireStatement } from './prepared.js';

/** What became of a group. */
export interface GroupOutcome {
  /** One result for each statement that succeeded; the next one is the one that failed. */
  readonly results: readonly DriverResult[];
  /** What went wrong, if something did. */
  readonly failure: { readonly error: unknown } | undefined;
  /** The server's transaction status after the group; undefined if the connection has ended. */
  readonly status: TransactionStatus | undefined;
}

type Parse = (text: string) => unknown;

/** How rows are read. */
export interface RowFormat {
  readonly parsers: TypeParsers;
  readonly fields: readonly Field[];
  readonly parse: readonly Parse[];
  readonly template: Readonly<Record<string, unknown>>;
}

/** A group on the wire, in the form of a query that `pg` reads the answers of. */
export class StatementGroup {
  /** The names of the Parse messages that have not been confirmed; undefined for unnamed ones. */
  readonly parses: (string | undefined)[] = [];
  readonly outcome: Promise<GroupOutcome>;
  readonly #parsers: TypeParsers;
  readonly #statements: readonly WireStatement[];
  readonly #rowFormats: Map<string, RowFormat>;
  /** The text of a script or COPY; statements have theirs. */
  readonly #text: string | undefined;
  readonly #results: DriverResult[] = [];
  #format: RowFormat | undefined;
  #rows: Record<string, unknown>[] = [];
  #parseFailure: { readonly error: unknown } | undefined;
  #failure: { readonly error: unknown } | undefined;
  #resolve: (outcome: GroupOutcome) => void = () => undefined;

  constructor(
    parsers: TypeParsers,
    statements: readonly WireStatement[],
    rowFormats: Map<string, RowFormat>,
    text?: string,
  ) {
    this.#parsers = parsers;
    this.#statements = statements;
    this.#rowFormats = rowFormats;
    this.#text = text;
    this.outcome = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  /** All has been answered, or the connection has ended (no status). */
  finish(status: TransactionStatus | undefined): void {
    if (status === undefined) {
      this.#failure ??= { error: new Error('Connection terminated unexpectedly') };
    }
    this.#resolve({ results: this.#results, failure: this.#failure, status });
  }

  /** The prepared statement that failed because it has to be prepared again. */
  get stale(): { readonly name: string; readonly isForgotten: boolean } | undefined {
    if (this.#failure === undefined || !needsPreparing(this.#failure.error)) return undefined;
    const name = this.#statements[this.#results.length]?.name;
    return name === undefined
      ? undefined
      : { name, isForgotten: !isStalePlan(this.#failure.error) };
  }

  /** The rows of COPY have no place in a result: the statement fails once it has ended. */
  handleCopyOut(): void {
    this.refuse('COPY … TO STDOUT has no result: read its rows with copyTo');
  }

  // What follows is called by `pg`.

  /** Everything has been written before. */
  submit(): undefined {
    return undefined;
  }

  handleRowDescription(message: { readonly fields: readonly Field[] }): void {
    const { name, types = this.#parsers } = this.#statements[this.#results.length] ?? {};
    const known = name === undefined ? undefined : this.#rowFormats.get(name);
    if (known?.parsers === types && sameFields(known.fields, message.fields)) {
      this.#format = known;
      return;
    }
    this.#format = formatOf(message.fields, types);
    if (name !== undefined) this.#rowFormats.set(name, this.#format);
  }

  handleDataRow(message: { readonly fields: readonly (string | null)[] }): void {
    const format = this.#format;
    if (this.#parseFailure !== undefined || format === undefined) return;
    const { discard, rowMode } = this.#statements[this.#results.length] ?? {};
    if (discard === true) return;
    try {
      const isArray = rowMode === 'array';
      const row = (isArray ? [] : { ...format.template }) as Record<string, unknown>;
      message.fields.forEach((text, index) => {
        const field = format.fields[index];
        if (field === undefined || (text === null && !isArray)) return;
        row[isArray ? index : field.name] = text === null ? null : format.parse[index]?.(text);
      });
      this.#rows.push(row);
    } catch (error) {
      this.#parseFailure = { error };
    }
  }

  handleCommandComplete(message: { readonly text: string }): void {
    const [command = '', ...numbers] = message.text.split(' ');
    const count = Number(numbers.at(-1));
    const rowCount = numbers.length > 0 && Number.isInteger(count) ? count : null;
    this.#complete(command, rowCount);
  }

  handleEmptyQuery(): void {
    this.#complete('', null);
  }

  handlePortalSuspended(): void {
    // Never asked for: every Execute takes all rows.
  }

  handleCopyInResponse(wire: Wire): void {
    const message = 'COPY … FROM STDIN has no rows here: send them with copyFrom';
    this.#failure ??= { error: this.#misuse(message) };
    // In a script the server waits for these rows only. Elsewhere it takes the statements that have
    // been written already for rows, so that later answers cannot be matched to groups.
    if (this.#statements.length === 0) wire.sendCopyFail(message);
    else wire.stream.destroy();
  }

  /** Dropped: `handleCopyOut` has been called, and the statement fails. */
  handleCopyData: (message: { readonly chunk: Buffer }, wire: Wire) => void = ignore;

  handleError(error: unknown, wire: Wire): void {
    this.#failure ??= { error: this.reasonOf(error) };
    // A fault of the connection, or a time limit of `pg`: later answers cannot be matched to groups.
    if (!isServerMessage(error)) wire.stream.destroy();
  }

  handleReadyForQuery(): void {
    // The pipe listens itself: `pg` does not call this after an error.
  }

  /** Makes the running statement fail once it has ended. */
  protected refuse(message: string): void {
    this.#parseFailure ??= { error: this.#misuse(message) };
  }

  /** The error of a statement that does not fit how it was sent. */
  #misuse(message: string): UsageError {
    return new UsageError(
      withText(message, this.#statements[this.#results.length]?.text ?? this.#text),
    );
  }

  /** The error to report for one that the server answered. */
  protected reasonOf(error: unknown): unknown {
    return error;
  }

  #complete(command: string, rowCount: number | null): void {
    const { error: parseError } = this.#parseFailure ?? {};
    const failed = this.#parseFailure === undefined ? {} : { parseFailure: { error: parseError } };
    const fields = this.#format?.fields ?? [];
    this.#results.push({ command, rowCount, rows: this.#rows, fields, ...failed });
    this.#rows = [];
    this.#format = undefined;
    this.#parseFailure = undefined;
  }
}

function formatOf(fields: readonly Field[], parsers: TypeParsers): RowFormat {
  const parse = fields.map(({ dataTypeID }) => parsers.getTypeParser(dataTypeID, 'text'));
  // A null-prototype object first, so that a column may even be called __proto__.
  const template = Object.create(null) as Record<string, unknown>;
  for (const { name } of fields) template[name] = null;
  return { parsers, fields, parse, template: { ...template } };
}

function sameFields(known: readonly Field[], fields: readonly Field[]): boolean {
  return (
    known.length === fields.length &&
    known.every(({ name, dataTypeID }, index) => {
      const field = fields[index];
      return field?.name === name && field.dataTypeID === dataTypeID;
    })
  );
}

/** The last result; that of an empty text where there is none. */
export function lastResult(results: readonly DriverResult[]): DriverResult {
  return results.at(-1) ?? { command: '', rowCount: null, rows: [] };
}
