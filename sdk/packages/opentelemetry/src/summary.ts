/**
 * What a statement is called in telemetry: its summary, such as `INSERT orders SELECT items`, and its
 * text without literals.
 *
 * The scanner knows comments, quotes and words, and no more of SQL's grammar. A summary groups
 * statements; nothing is decided by it.
 */

import { UsageError } from '@braiddb/sdk';

/** A statement as telemetry shows it. */
export interface StatementSummary {
  /** The command, for example `SELECT`; empty for a text without words. */
  readonly operation: string;
  /** The tables that are named after FROM, JOIN, INTO, UPDATE and TABLE, each once. */
  readonly tables: readonly string[];
  /** Commands and tables in the order of the text; at most 255 characters. */
  readonly summary: string;
  /** The text with `?` in place of literals. */
  readonly text: string;
}

/** Characters of a summary at most, as the conventions say. */
const SUMMARY_MAX = 255;

/** Characters of a statement that are read; the rest is left out of its text. */
const TEXT_MAX = 10_000;

/** Summaries that are kept, each for its text. */
const KEPT_MAX = 500;

/** Comments, literals, names, numbers, and the rest; what is not closed goes on to the end. */
const TOKEN = new RegExp(
  [
    String.raw`(?<comment>--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))`,
    String.raw`(?<literal>(?<tag>\$(?:[A-Za-z_]\w*)?\$)[\s\S]*?(?:\k<tag>|$)`,
    String.raw`[eE]'(?:[^'\\]|''|\\[\s\S])*(?:'|$)`,
    String.raw`(?:[bBxXnN]|[uU]&)?'(?:[^']|'')*(?:'|$)`,
    String.raw`(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)`,
    String.raw`(?<name>(?:"(?:[^"]|"")*(?:"|$)|[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*)` +
      String.raw`(?:\.(?:"(?:[^"]|"")*(?:"|$)|[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*))*)`,
    String.raw`\$\d+|\s+|[\s\S]`,
  ].join('|'),
  'g',
);

/** Words that begin a command inside of another one, or after WITH. */
const OPERATIONS = new Set(['SELECT', 'INSERT', 'UPSERT', 'UPDATE', 'DELETE', 'MERGE']);

/** Words after which a table is named. FROM only where it belongs to a SELECT or a DELETE. */
const TABLE_AFTER = new Set(['FROM', 'JOIN', 'INTO', 'UPDATE', 'TABLE', 'USING', 'TRUNCATE']);

/** Words between such a word and the name. */
const BETWEEN = new Set(['ONLY', 'TABLE', 'IF', 'NOT', 'EXISTS', 'LATERAL']);

/** Words after which UPDATE, DELETE and FROM mean something else: `ON DELETE`, `FOR UPDATE`. */
const NOT_AFTER = new Set(['FOR', 'DO', 'ON', 'DISTINCT', 'KEY']);

const kept = new Map<string, StatementSummary>();

/**
 * Summarises a statement.
 *
 * @example
 * ```ts
 * import { summarize } from '@braiddb/opentelemetry';
 * const { operation, summary, text } = summarize("SELECT * FROM orders WHERE city = 'Bergen'");
 * console.assert(operation === 'SELECT' && summary === 'SELECT orders');
 * console.assert(text === 'SELECT * FROM orders WHERE city = ?');
 * ```
 */
export function summarize(statement: string): StatementSummary {
  if (typeof (statement as unknown) !== 'string') {
    throw new UsageError('summarize takes the text of a statement');
  }
  const known = kept.get(statement);
  if (known !== undefined) return known;
  const reader = new SummaryReader();
  let text = '';
  for (const { 0: token, groups = {} } of statement.slice(0, TEXT_MAX).matchAll(TOKEN)) {
    const { comment, literal, name } = groups;
    if (comment !== undefined) continue;
    text += literal === undefined ? token : '?';
    if (name !== undefined) reader.readWord(name);
    else if (token.trim() !== '') reader.readSign(token);
  }
  const summary = Object.freeze({ ...reader.result(), text: text.trim() });
  if (kept.size >= KEPT_MAX) kept.clear();
  kept.set(statement, summary);
  return summary;
}

class SummaryReader {
  readonly #parts: string[] = [];
  readonly #tables = new Set<string>();
  /** For each open bracket: a SELECT or a DELETE has begun in it. */
  readonly #hasQuery = [false];
  #operation = '';
  #last = '';
  #isTableNext = false;

  readWord(word: string): void {
    const upper = word.toUpperCase();
    if (this.#isTableNext) {
      if (BETWEEN.has(upper)) return;
      this.#isTableNext = false;
      this.#last = word;
      this.#tables.add(word);
      this.#parts.push(word);
      return;
    }
    const isFirst = this.#last === '';
    const isOther = NOT_AFTER.has(this.#last);
    this.#last = upper;
    if (isOther) return;
    if (OPERATIONS.has(upper) || (isFirst && upper !== 'WITH')) {
      if (this.#operation === '') this.#operation = upper;
      this.#parts.push(upper);
    }
    const top = this.#hasQuery.length - 1;
    if (upper === 'SELECT' || upper === 'DELETE') this.#hasQuery[top] = true;
    const isTableNext = TABLE_AFTER.has(upper);
    this.#isTableNext = isTableNext && (upper !== 'FROM' || this.#hasQuery[top] === true);
  }

  readSign(token: string): void {
    // A subquery or a value follows: no table.
    this.#isTableNext = false;
    if (token === '(') this.#hasQuery.push(false);
    if (token === ')' && this.#hasQuery.length > 1) this.#hasQuery.pop();
    // A bracket around the whole statement is not its first word.
    if (this.#last !== '') this.#last = token;
  }

  result(): Omit<StatementSummary, 'text'> {
    let summary = '';
    for (const part of this.#parts) {
      const longer = summary === '' ? part : `${summary} ${part}`;
      if (longer.length > SUMMARY_MAX) break;
      summary = longer;
    }
    return { operation: this.#operation, tables: [...this.#tables], summary };
  }
}
