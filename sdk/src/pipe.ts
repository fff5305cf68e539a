/**
 * The wire of one connection: groups of statements, written ahead of their answers.
 *
 * A group is one or more statements in front of one Sync: they travel together, and when one fails
 * the server skips the rest of its group. Groups may be written before the earlier ones have been
 * answered. `pg` handles one query at a time, so only the oldest group is handed to it; the others
 * are on the wire already and wait for their turn to be read.
 *
 * ```text
 *  written:   [BEGIN, SAVEPOINT, SELECT, Sync] [INSERT, Sync] [INSERT, RELEASE, COMMIT, Sync]
 *  read:       ▲ the oldest: known to pg        ▲ read later, in order
 * ```
 *
 * Does not decide what may be written ahead: that is `connection.ts`.
 */

import type pg from 'pg';

import type { DriverResult, TransactionStatus, Wire } from './driver.js';
import { isDestroyed, isServerMessage, transactionStatus, wireOf } from './driver.js';
import { isStalePlan, needsPreparing, UsageError } from './errors.js';
import type { TypeParsers } from './parsers.js';

/** A statement as it travels. */
export interface WireStatement {
  readonly text: string;
  readonly values: readonly (string | Buffer | null)[];
  /** The name under which it is kept prepared, if it is. */
  readonly name?: string | undefined;
  /** Nobody looks at its rows. */
  readonly discard?: boolean | undefined;
}

/** What became of a group. */
export interface GroupOutcome {
  /** One result for each statement that succeeded; the next one is the one that failed. */
  readonly results: readonly DriverResult[];
  /** What went wrong, if something did. */
  readonly failure: { readonly error: unknown } | undefined;
  /** The server's transaction status behind the group; undefined if the connection has ended. */
  readonly status: TransactionStatus | undefined;
}

interface Field {
  readonly name: string;
  readonly dataTypeID: number;
}

type Parse = (text: string) => unknown;

/** What is prepared on a connection. */
interface Prepared {
  /** Names that are prepared, and those whose Parse is on its way. */
  readonly names: Set<string>;
  /** Names that may be taken by a statement that no longer works: closed before the next Parse. */
  readonly stale: Set<string>;
}

const preparedOn = new WeakMap<object, Prepared>();

/** The pipes of connections that nobody but the SDK uses. */
const pipes = new WeakMap<object, Pipe>();

/** How rows are read. */
interface RowShape {
  readonly parsers: TypeParsers;
  readonly fields: readonly Field[];
  readonly parse: readonly Parse[];
  readonly template: Readonly<Record<string, unknown>>;
}

/** Sends groups over a client of `pg` that nobody else uses at the same time. */
export class Pipe {
  readonly #client: pg.ClientBase;
  readonly #wire: Wire;
  readonly #prepared: Prepared;
  /** What came last for each prepared statement. */
  readonly #shapes = new Map<string, RowShape>();
  readonly #groups: Group[] = [];
  #ended: boolean;
  #lost: Error | undefined;

  constructor(client: pg.ClientBase) {
    this.#client = client;
    this.#wire = wireOf(client);
    this.#ended = isDestroyed(client);
    const known = preparedOn.get(client) ?? { names: new Set(), stale: new Set() };
    preparedOn.set(client, known);
    this.#prepared = known;
    this.#wire.on('readyForQuery', this.#onReady);
    this.#wire.on('parseComplete', this.#onParsed);
    this.#wire.on('copyOutResponse', this.#onCopyOut);
    this.#wire.on('end', this.#onEnd);
  }

  /** The pipe of a connection that nobody but the SDK uses: made once, never closed. */
  static of(client: pg.ClientBase): Pipe {
    let pipe = pipes.get(client);
    if (pipe === undefined) {
      const made = new Pipe(client);
      client.on('error', (error) => {
        made.#lost ??= error;
      });
      pipe = made;
      pipes.set(client, pipe);
    }
    return pipe;
  }

  /** True once nothing can be sent any more. */
  get ended(): boolean {
    return this.#ended;
  }

  /** What ended the connection, as far as it was told; only of a pipe that is never closed. */
  get lost(): Error | undefined {
    return this.#lost;
  }

  /** Groups that wait for their answers. */
  get waiting(): number {
    return this.#groups.length;
  }

  /** Writes statements in front of one Sync. Never rejects. */
  send(statements: readonly WireStatement[], parsers: TypeParsers): Promise<GroupOutcome> {
    return this.#start(new Group(parsers, statements, this.#shapes), (group) => {
      this.#write(group, statements);
    });
  }

  /** Writes a text that may hold several statements. Never rejects. */
  script(text: string, parsers: TypeParsers): Promise<GroupOutcome> {
    return this.#start(new Group(parsers, [], this.#shapes), () => {
      this.#wire.query(text);
    });
  }

  /** Stops listening; for when the client goes back to its pool. */
  close(): void {
    this.#wire.removeListener('readyForQuery', this.#onReady);
    this.#wire.removeListener('parseComplete', this.#onParsed);
    this.#wire.removeListener('copyOutResponse', this.#onCopyOut);
    this.#wire.removeListener('end', this.#onEnd);
  }

  #start(group: Group, write: (group: Group) => void): Promise<GroupOutcome> {
    if (this.#ended) {
      group.finish(undefined);
      return group.outcome;
    }
    write(group);
    this.#groups.push(group);
    if (this.#groups.length === 1) this.#client.query(group);
    return group.outcome;
  }

  #write(group: Group, statements: readonly WireStatement[]): void {
    const { stream } = this.#wire;
    stream.cork();
    try {
      for (const { text, values, name, discard } of statements) {
        if (name === undefined || !this.#prepared.names.has(name)) {
          if (name !== undefined && this.#prepared.stale.has(name)) {
            this.#wire.close({ type: 'S', name });
          }
          this.#wire.parse({ text, name: name ?? '' });
          group.parses.push(name);
          if (name !== undefined) this.#prepared.names.add(name);
        }
        this.#wire.bind({ statement: name ?? '', values });
        if (discard !== true) this.#wire.describe({ type: 'P', name: '' });
        this.#wire.execute({ portal: '' });
      }
      this.#wire.sync();
    } finally {
      stream.uncork();
    }
  }

  readonly #onReady = (): void => {
    const group = this.#groups.shift();
    if (group === undefined) return;
    const [next] = this.#groups;
    if (next !== undefined) this.#client.query(next);
    this.#forgetParses(group);
    this.#forgetStale(group);
    group.finish(transactionStatus(this.#client) ?? null);
  };

  readonly #onParsed = (): void => {
    const name = this.#groups[0]?.parses.shift();
    if (name !== undefined) this.#prepared.stale.delete(name);
  };

  readonly #onCopyOut = (): void => {
    this.#groups[0]?.refuseCopy();
  };

  readonly #onEnd = (): void => {
    this.#ended = true;
    // `pg` tells its oldest query in the next tick why the connection ended: let that come first.
    process.nextTick(() => {
      for (const group of this.#groups.splice(0)) group.finish(undefined);
    });
  };

  /** A statement that the server skipped was not prepared, whatever we hoped when we sent it. */
  #forgetParses(group: Group): void {
    for (const name of group.parses) if (name !== undefined) this.#prepared.names.delete(name);
  }

  /** What the server has forgotten is seldom one statement only: all are prepared again. */
  #forgetStale({ stale }: Group): void {
    if (stale === undefined) return;
    const { names } = this.#prepared;
    for (const name of stale.isForgotten ? names : [stale.name]) {
      this.#prepared.stale.add(name);
      names.delete(name);
    }
  }
}

/** A group on the wire, in the form of a query that `pg` reads the answers of. */
class Group {
  /** The names of the Parse messages that have not been confirmed; undefined for unnamed ones. */
  readonly parses: (string | undefined)[] = [];
  readonly outcome: Promise<GroupOutcome>;
  readonly #parsers: TypeParsers;
  readonly #statements: readonly WireStatement[];
  readonly #shapes: Map<string, RowShape>;
  readonly #results: DriverResult[] = [];
  #shape: RowShape | undefined;
  #rows: Record<string, unknown>[] = [];
  #parseFailure: { readonly error: unknown } | undefined;
  #failure: { readonly error: unknown } | undefined;
  #resolve: (outcome: GroupOutcome) => void = () => undefined;

  constructor(
    parsers: TypeParsers,
    statements: readonly WireStatement[],
    shapes: Map<string, RowShape>,
  ) {
    this.#parsers = parsers;
    this.#statements = statements;
    this.#shapes = shapes;
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
  refuseCopy(): void {
    const message = 'COPY … TO STDOUT is not supported here: use a SELECT';
    this.#parseFailure ??= { error: new UsageError(message) };
  }

  // What follows is called by `pg`.

  /** Everything has been written before. */
  submit(): undefined {
    return undefined;
  }

  handleRowDescription(message: { readonly fields: readonly Field[] }): void {
    const name = this.#statements[this.#results.length]?.name;
    const known = name === undefined ? undefined : this.#shapes.get(name);
    if (known?.parsers === this.#parsers && sameFields(known.fields, message.fields)) {
      this.#shape = known;
      return;
    }
    this.#shape = shapeOf(message.fields, this.#parsers);
    if (name !== undefined) this.#shapes.set(name, this.#shape);
  }

  handleDataRow(message: { readonly fields: readonly (string | null)[] }): void {
    const shape = this.#shape;
    if (this.#parseFailure !== undefined || shape === undefined) return;
    if (this.#statements[this.#results.length]?.discard === true) return;
    try {
      const row = { ...shape.template };
      message.fields.forEach((text, index) => {
        const field = shape.fields[index];
        if (text !== null && field !== undefined) row[field.name] = shape.parse[index]?.(text);
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
    wire.sendCopyFail('COPY FROM STDIN is not supported here');
  }

  handleCopyData(): void {
    // Dropped: `refuseCopy` has been called, and the statement fails.
  }

  handleError(error: unknown, wire: Wire): void {
    this.#failure ??= { error };
    // A fault of the connection, or a time limit of `pg`: what comes next cannot be told apart.
    if (!isServerMessage(error)) wire.stream.destroy();
  }

  handleReadyForQuery(): void {
    // The pipe listens itself: `pg` does not call this after an error.
  }

  #complete(command: string, rowCount: number | null): void {
    const { error: parseError } = this.#parseFailure ?? {};
    const failed = this.#parseFailure === undefined ? {} : { parseFailure: { error: parseError } };
    this.#results.push({ command, rowCount, rows: this.#rows, ...failed });
    this.#rows = [];
    this.#shape = undefined;
    this.#parseFailure = undefined;
  }
}

function shapeOf(fields: readonly Field[], parsers: TypeParsers): RowShape {
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
