/**
 * The pipeline of one connection: groups of statements, written ahead of their answers.
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
 * Does not decide what may be written ahead: that is `statement-queue.ts`.
 */

import type pg from 'pg';

import type { TypeParsers } from '../sql/parsers.js';
import type { Wire } from './driver.js';
import { isDestroyed, transactionStatus, wireOf } from './driver.js';
import type { GroupOutcome, RowFormat } from './group.js';
import { StatementGroup } from './group.js';
import type { WireStatement } from './prepared.js';

/** What is prepared on a connection. */
interface Prepared {
  /** Names that are prepared, and those whose Parse is on its way. */
  readonly names: Set<string>;
  /** Names that may be taken by a statement that no longer works: closed before the next Parse. */
  readonly stale: Set<string>;
}

const preparedOn = new WeakMap<object, Prepared>();

/** Sends groups over a client of `pg` that nobody else uses at the same time. */
export class Pipeline {
  readonly #client: pg.ClientBase;
  readonly #wire: Wire;
  readonly #prepared: Prepared;
  /** The last row format of each prepared statement. */
  readonly #rowFormats = new Map<string, RowFormat>();
  readonly #groups: StatementGroup[] = [];
  #ended: boolean;

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

  /** True once nothing can be sent any more. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Writes statements in front of one Sync. Never rejects. */
  send(statements: readonly WireStatement[], parsers: TypeParsers): Promise<GroupOutcome> {
    return this.start(new StatementGroup(parsers, statements, this.#rowFormats), (group) => {
      this.#write(group, statements);
    });
  }

  /** Writes a text that may hold several statements. Never rejects. */
  script(text: string, parsers: TypeParsers): Promise<GroupOutcome> {
    return this.start(new StatementGroup(parsers, [], this.#rowFormats, text), () => {
      this.#wire.query(text);
    });
  }

  /** Forgets what is prepared: the server has. */
  forgetPrepared(): void {
    this.#prepared.names.clear();
    this.#prepared.stale.clear();
  }

  /** Stops listening; for when the client goes back to its pool. */
  close(): void {
    this.#wire.removeListener('readyForQuery', this.#onReady);
    this.#wire.removeListener('parseComplete', this.#onParsed);
    this.#wire.removeListener('copyOutResponse', this.#onCopyOut);
    this.#wire.removeListener('end', this.#onEnd);
  }

  /** Starts a group that `write` puts on the wire. Never rejects. */
  start(group: StatementGroup, write: (group: StatementGroup) => void): Promise<GroupOutcome> {
    if (this.#ended) {
      group.finish(undefined);
      return group.outcome;
    }
    write(group);
    this.#groups.push(group);
    if (this.#groups.length === 1) this.#client.query(group);
    return group.outcome;
  }

  #write(group: StatementGroup, statements: readonly WireStatement[]): void {
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
    this.#groups[0]?.handleCopyOut();
  };

  readonly #onEnd = (): void => {
    this.#ended = true;
    // In the next tick `pg` reports to its oldest query why the connection ended: that comes first.
    process.nextTick(() => {
      for (const group of this.#groups.splice(0)) group.finish(undefined);
    });
  };

  /** Forgets the names of statements that the server skipped: it has not prepared them. */
  #forgetParses(group: StatementGroup): void {
    for (const name of group.parses) if (name !== undefined) this.#prepared.names.delete(name);
  }

  /** Marks statements to be prepared again: all of them if the server has forgotten one. */
  #forgetStale({ stale }: StatementGroup): void {
    if (stale === undefined) return;
    const { names } = this.#prepared;
    for (const name of stale.isForgotten ? names : [stale.name]) {
      this.#prepared.stale.add(name);
      names.delete(name);
    }
  }
}
