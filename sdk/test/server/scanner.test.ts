/**
 * What the SDK reads in a text of SQL, compared with what servers say of the same text.
 *
 * A server runs a random text, and then the text with a clause that the SDK has put at its end. The
 * tags and columns of the answers show how many statements a text holds, what they are, and whether
 * the clause arrived as a clause: neither in a string or comment, nor instead of a token.
 *
 * `SCANNER_RUNS` is the number of texts (300 by default), `SCANNER_SEED` repeats a run.
 */

import fc from 'fast-check';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { UsageError } from '../../src/errors.js';
import { withClause, withReturningNothing } from '../../src/sql/clauses.js';
import { sqlTexts, TABLE } from '../sql-texts.js';
import { onEachServer } from '../targets.js';

const RUNS = Number(process.env.SCANNER_RUNS ?? 300);
const SEED = Number(process.env.SCANNER_SEED ?? Date.now() % 2 ** 31);

const WRITES = ['INSERT', 'UPDATE', 'DELETE'];

/** What a server says of a text: its statements, or the error. */
interface Verdict {
  readonly error: string | undefined;
  readonly statements: readonly {
    readonly command: string;
    readonly columns: readonly string[];
    readonly rows: readonly unknown[][];
  }[];
}

onEachServer('the scanner of SQL', ({ url }) => {
  let client: pg.Client;
  beforeAll(async () => {
    client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query(`DROP TABLE IF EXISTS ${TABLE}`);
    await client.query(`CREATE TABLE ${TABLE} (a TEXT, "returning" TEXT)`);
  });
  afterAll(async () => {
    await client.query(`DROP TABLE ${TABLE}`);
    await client.end();
  });

  async function ask(text: string): Promise<Verdict> {
    try {
      const answer: unknown = await client.query({ text, rowMode: 'array' });
      const results = (Array.isArray(answer) ? answer : [answer]) as pg.QueryArrayResult[];
      const statements = results
        .filter(({ command }: { command: string | null }) => command !== null)
        .map(({ command, fields, rows }) => ({
          ...{ command, rows },
          columns: fields.map((field) => field.name),
        }));
      return { error: undefined, statements };
    } catch (error) {
      return { error: (error as { code?: string }).code ?? String(error), statements: [] };
    }
  }

  /** The text with a clause at its end; undefined if the SDK does not find its one statement. */
  function tryClause(text: string, clause: string): string | undefined {
    try {
      return withClause(text, clause);
    } catch (error) {
      expect(error).toBeInstanceOf(UsageError);
      return undefined;
    }
  }

  /** The SDK puts a clause at the end of one statement, and changes nothing else. */
  async function checkText(text: string): Promise<void> {
    const { error, statements } = await ask(text);
    const [first] = statements;
    const isChanged = withReturningNothing(text) !== text;
    if (error !== undefined) {
      // Whatever the SDK makes of it: what is wrong must not become right, and do something else.
      const marked = tryClause(text, 'RETURNING 42 AS the_end');
      if (marked !== undefined) expect((await ask(marked)).error).toBeDefined();
      return;
    }
    if (statements.length !== 1 || first === undefined) {
      expect(isChanged).toBe(false);
      expect(tryClause(text, 'FOR UPDATE')).toBeUndefined();
      return;
    }
    const isBareWrite = WRITES.includes(first.command) && first.columns.length === 0;
    expect(isChanged).toBe(isBareWrite);
    if (first.command === 'SELECT') {
      const locked = await ask(tryClause(text, 'FOR UPDATE') ?? '');
      expect(locked).toEqual({ error, statements });
    }
    if (isBareWrite) {
      const marked = await ask(tryClause(text, 'RETURNING 42 AS the_end') ?? '');
      expect(marked.statements).toMatchObject([{ command: first.command, columns: ['the_end'] }]);
    }
  }

  it('finds the end of a statement where the server finds it', async () => {
    const seen = { errors: 0, single: 0, several: 0, empty: 0 };
    const property = fc.asyncProperty(sqlTexts, async (text) => {
      await checkText(text);
      const { error, statements } = await ask(text);
      if (error !== undefined) seen.errors += 1;
      else if (statements.length === 0) seen.empty += 1;
      else seen[statements.length === 1 ? 'single' : 'several'] += 1;
    });
    await fc.assert(property, { numRuns: RUNS, seed: SEED });
    // The texts are worth comparing.
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(0);
    expect(seen.single).toBeGreaterThan(RUNS / 4);
  });
});
