/**
 * What every package must do that gives the transactions of a library the retries of the SDK: the
 * same tests for each of them.
 */

import type { RetryEvent, TransactionOptions } from '../src/index.js';
import {
  CommitUnknownError,
  ConnectionError,
  OptionError,
  RetriesExhaustedError,
  SerializationError,
} from '../src/index.js';
import { expect, it } from 'vitest';

import type { Proxy } from './proxy.js';
import { startProxy } from './proxy.js';
import { freshName, onEachServer, slowStatement } from './targets.js';

/** What the function of a transaction is told. */
interface Attempt {
  readonly attempt: number;
  readonly signal: AbortSignal;
}

/** A library under test; `Handle` is what its transactions hand out. */
export interface TestedLibrary<Handle> extends AsyncDisposable {
  /** The package's transaction. */
  transaction<T>(
    fn: (handle: Handle, attempt: Attempt) => Promise<T>,
    options?: TransactionOptions,
  ): Promise<T>;
  /** The library's own transaction at SERIALIZABLE, without retries. */
  own(fn: (handle: Handle) => Promise<void>): Promise<void>;
  /** Runs a statement, in a transaction or outside of one; its rows. */
  query(text: string, handle?: Handle): Promise<Record<string, unknown>[]>;
}

/** Opens a library; its pool has `connections` connections at most. */
export type OpenLibrary<Handle> = (
  url: string,
  connections: number,
) => Promise<TestedLibrary<Handle>>;

/** How packages differ. */
export interface Traits {
  /** A COMMIT whose answer is lost is asked for, where the server knows commit tokens. */
  readonly asksForOutcome: boolean;
}

/** The error of a promise that rejects. */
async function failure(work: PromiseLike<unknown>): Promise<unknown> {
  try {
    await work;
  } catch (error) {
    return error;
  }
  throw new Error('it was to fail');
}

/** Resolves when two callers have arrived. */
function meeting(): () => Promise<void> {
  let arrive = (): void => undefined;
  const both = new Promise<void>((resolve) => (arrive = resolve));
  let arrived = 0;
  return () => {
    if (++arrived === 2) arrive();
    return both;
  };
}

/** The SQLSTATE of an error, or of one that it wraps. */
export function codeOf(error: unknown): unknown {
  for (let link = error; link instanceof Error; link = link.cause) {
    if ('code' in link) return link.code;
  }
  return undefined;
}

/** Tests transactions that run again, on each server. */
export function testRetries<Handle>(
  title: string,
  open: OpenLibrary<Handle>,
  { asksForOutcome }: Traits,
): void {
  onEachServer(`retries: ${title}`, ({ name: server, url }) => {
    /** Opens the library on a table with the rows 1 and 2, both 0. */
    async function fixture(
      connections = 4,
      proxied = false,
    ): Promise<AsyncDisposable & TestedTable<Handle>> {
      const table = freshName('retried');
      const proxy = proxied ? await startProxy(url) : undefined;
      const admin = await open(url, 1);
      await admin.query(
        `CREATE TABLE ${table} (id INT4 PRIMARY KEY, n INT4 NOT NULL CHECK (n >= 0))`,
      );
      await admin.query(`INSERT INTO ${table} VALUES (1, 0), (2, 0)`);
      const library = await open(proxy?.url ?? url, connections);
      return new TestedTable(library, admin, table, proxy);
    }

    it('both of two transactions that conflict succeed', async () => {
      await using tested = await fixture();
      const meet = meeting();
      const events: RetryEvent[] = [];
      let runs = 0;
      const work = (id: number): Promise<number> =>
        tested.library.transaction(
          async (handle, { attempt, signal }) => {
            runs += 1;
            expect(signal.aborted).toBe(false);
            const other = await tested.read(3 - id, handle);
            if (attempt === 1) await meet();
            await tested.write(id, other + 1, handle);
            return attempt;
          },
          { onRetry: (event) => events.push(event) },
        );
      const attempts = await Promise.all([work(1), work(2)]);
      expect(runs).toBeGreaterThan(2);
      expect(attempts.toSorted((a, b) => a - b)[0]).toBe(1);
      expect([
        [1, 2],
        [2, 1],
      ]).toContainEqual(await tested.both());
      expect(events[0]?.error).toBeInstanceOf(SerializationError);
      expect(events).toHaveLength(runs - 2);
    });

    it('without the retry one of the two fails', async () => {
      await using tested = await fixture();
      const meet = meeting();
      const work = (id: number): Promise<void> =>
        tested.library.own(async (handle) => {
          const other = await tested.read(3 - id, handle);
          await meet();
          await tested.write(id, other + 1, handle);
        });
      const settled = await Promise.allSettled([work(1), work(2)]);
      expect(settled.filter(({ status }) => status === 'rejected')).toHaveLength(1);
    });

    it('every increment of concurrent callers counts', async () => {
      await using tested = await fixture(8);
      const increment = (): Promise<void> =>
        tested.library.transaction(
          async (handle) => {
            await tested.write(1, (await tested.read(1, handle)) + 1, handle);
          },
          { attemptsMax: 200 },
        );
      const caller = async (): Promise<void> => {
        for (let number = 0; number < 5; number++) await increment();
      };
      await Promise.all(Array.from({ length: 8 }, caller));
      expect(await tested.both()).toEqual([40, 0]);
    });

    it('a connection that is lost on the way is another attempt', async () => {
      await using tested = await fixture(1, true);
      let cuts = 0;
      tested.judge = (chunk) => {
        if (cuts > 0 || !chunk.includes(`UPDATE ${tested.table}`)) return 'pass';
        cuts += 1;
        return 'cut after';
      };
      const events: RetryEvent[] = [];
      const attempt = await tested.library.transaction(
        async (handle, run) => {
          await tested.write(1, (await tested.read(1, handle)) + 1, handle);
          return run.attempt;
        },
        { onRetry: (event) => events.push(event) },
      );
      expect(attempt).toBe(2);
      expect(events).toMatchObject([{ attempt: 1, from: 'begin' }]);
      expect(events[0]?.error).toBeInstanceOf(ConnectionError);
      expect(await tested.both()).toEqual([1, 0]);
    });

    it('a COMMIT whose answer is lost is never repeated', async () => {
      await using tested = await fixture(1, true);
      let cuts = 0;
      tested.judge = (chunk) => {
        if (cuts > 0 || !chunk.includes('COMMIT')) return 'pass';
        cuts += 1;
        return 'cut after';
      };
      let runs = 0;
      const work = tested.library.transaction(async (handle) => {
        runs += 1;
        await tested.write(1, (await tested.read(1, handle)) + 1, handle);
      });
      if (asksForOutcome && server === 'BraidDB') await work;
      else expect(await failure(work)).toBeInstanceOf(CommitUnknownError);
      expect({ cuts, runs }).toEqual({ cuts: 1, runs: 1 });
      await expect.poll(() => tested.both()).toEqual([1, 0]);
    });

    it('an error of the function rolls back and is thrown as it is', async () => {
      await using tested = await fixture(1);
      const mine = new Error('mine');
      let runs = 0;
      const work = tested.library.transaction(async (handle) => {
        runs += 1;
        await tested.write(1, 7, handle);
        throw mine;
      });
      expect(await failure(work)).toBe(mine);
      expect(runs).toBe(1);
      expect(await tested.both()).toEqual([0, 0]);
    });

    it('an error that does not pass is that of the library', async () => {
      await using tested = await fixture(1);
      let inner: unknown;
      let runs = 0;
      const work = tested.library.transaction(async (handle) => {
        runs += 1;
        inner = await failure(tested.write(1, -1, handle));
        throw inner;
      });
      expect(await failure(work)).toBe(inner);
      expect(runs).toBe(1);
      expect(await tested.both()).toEqual([0, 0]);
    });

    it('a failed statement whose error is swallowed is no commit', async () => {
      await using tested = await fixture(1);
      const work = tested.library.transaction(async (handle) => {
        await tested.write(2, 5, handle);
        await failure(tested.write(1, -1, handle));
      });
      expect(await failure(work)).toBeInstanceOf(Error);
      expect(await tested.both()).toEqual([0, 0]);
    });

    it('the limits are those of the SDK', async () => {
      await using tested = await fixture(1);
      const again = new SerializationError({ code: '40001', severity: 'ERROR', message: 'again' });
      let runs = 0;
      const work = tested.library.transaction(
        async (handle) => {
          runs += 1;
          await tested.write(1, runs, handle);
          throw again;
        },
        { attemptsMax: 3 },
      );
      const error = await failure(work);
      expect(error).toBeInstanceOf(RetriesExhaustedError);
      expect(error).toMatchObject({ attempts: 3, limit: 'attempts', last: again });
      expect(runs).toBe(3);
      expect(await tested.both()).toEqual([0, 0]);
      const wrong = tested.library.transaction(() => Promise.resolve(), { attemptsMax: 0 });
      expect(await failure(wrong)).toBeInstanceOf(OptionError);
    });

    it('the deadline cancels what is running', async () => {
      await using tested = await fixture(1);
      const slow = await slowStatement(url);
      const startMs = performance.now();
      const work = tested.library.transaction(
        async (handle) => {
          await tested.write(1, 7, handle);
          await tested.library.query(slow, handle);
        },
        { deadlineMs: 300 },
      );
      expect(await failure(work)).toMatchObject({ limit: 'deadline', attempts: 1 });
      expect(performance.now() - startMs).toBeLessThan(10_000);
      // The only connection of the pool can be used again.
      await tested.library.transaction((handle) => tested.write(2, 1, handle));
      expect(await tested.both()).toEqual([0, 1]);
    });

    it('the signal ends the transaction with its reason', async () => {
      await using tested = await fixture(1);
      const slow = await slowStatement(url);
      const reason = new Error('stop');
      const controller = new AbortController();
      let told: AbortSignal | undefined;
      const work = tested.library.transaction(
        async (handle, { signal }) => {
          told = signal;
          await tested.write(1, 7, handle);
          setTimeout(() => {
            controller.abort(reason);
          }, 100);
          await tested.library.query(slow, handle);
        },
        { signal: controller.signal },
      );
      expect(await failure(work)).toBe(reason);
      expect(told?.reason).toBe(reason);
      let runs = 0;
      const never = tested.library.transaction(
        () => {
          runs += 1;
          return Promise.resolve();
        },
        { signal: controller.signal },
      );
      expect(await failure(never)).toBe(reason);
      expect(runs).toBe(0);
      await tested.library.transaction((handle) => tested.write(2, 1, handle));
      expect(await tested.both()).toEqual([0, 1]);
    });

    it('the isolation level and read-only reach the server', async () => {
      await using tested = await fixture(1);
      const settings = `SELECT current_setting('transaction_isolation') AS level,
        current_setting('transaction_read_only') AS ro`;
      const read = (options?: TransactionOptions): Promise<unknown> =>
        tested.library.transaction((handle) => tested.library.query(settings, handle), options);
      expect(await read()).toEqual([{ level: 'serializable', ro: 'off' }]);
      for (const isolation of ['read committed', 'repeatable read'] as const) {
        expect(await read({ isolation, readOnly: true })).toEqual([{ level: isolation, ro: 'on' }]);
      }
      expect(await read({ isolation: 'server' })).toHaveLength(1);
    });
  });
}

/** A library, and a table with the rows 1 and 2. */
class TestedTable<Handle> implements AsyncDisposable {
  readonly library: TestedLibrary<Handle>;
  readonly table: string;
  readonly #admin: TestedLibrary<Handle>;
  readonly #proxy: Proxy | undefined;

  constructor(
    library: TestedLibrary<Handle>,
    admin: TestedLibrary<Handle>,
    table: string,
    proxy: Proxy | undefined,
  ) {
    this.library = library;
    this.table = table;
    this.#admin = admin;
    this.#proxy = proxy;
  }

  /** Decides what the proxy does. */
  set judge(judge: Proxy['judge']) {
    if (this.#proxy !== undefined) this.#proxy.judge = judge;
  }

  async read(id: number, handle?: Handle): Promise<number> {
    const [row] = await (handle === undefined ? this.#admin : this.library).query(
      `SELECT n FROM ${this.table} WHERE id = ${id}`,
      handle,
    );
    return Number(row?.n);
  }

  async write(id: number, n: number, handle: Handle): Promise<void> {
    await this.library.query(`UPDATE ${this.table} SET n = ${n} WHERE id = ${id}`, handle);
  }

  async both(): Promise<number[]> {
    return [await this.read(1), await this.read(2)];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.library[Symbol.asyncDispose]();
    await this.#admin.query(`DROP TABLE ${this.table}`);
    await this.#admin[Symbol.asyncDispose]();
    await this.#proxy?.[Symbol.asyncDispose]();
  }
}
