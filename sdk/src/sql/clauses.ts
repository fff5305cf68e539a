/**
 * Clauses added to the end of a statement of the caller's: RETURNING NOTHING and FOR UPDATE.
 *
 * Reads SQL only as far as needed to find its end: comments, strings, quoted names, dollar quotes
 * and parentheses. What it cannot follow, several statements in one text, and statements that have
 * a RETURNING clause of their own are left exactly as they are. Texts are remembered, so that a
 * statement in a loop is read once.
 *
 * ```text
 *  UPDATE t SET a = 'x;--' WHERE id = $1 ; -- done
 *  └──────────── the statement ────────┘ ▲
 *                                        └ added here; semicolon and comment go
 * ```
 */

import { UsageError, withText } from '../errors.js';

/** The commands that take effect as a whole or not at all. */
const ATOMIC = /^\s*(?:select|insert|upsert|update|delete|merge|with|values|table)\b/i;

/** True if a statement is a transaction of its own; a procedure may commit before it fails. */
export function isAtomic(text: string): boolean {
  return ATOMIC.test(text);
}

/** What a text holds, as far as adding a clause is concerned. */
interface Shape {
  /** The first word in capitals, empty where there is none. */
  readonly first: string;
  /** Where the last token of the statement ends. */
  readonly end: number;
  /** A RETURNING stands outside all parentheses. */
  readonly returning: boolean;
}

const WRITES: ReadonlySet<string> = new Set(['INSERT', 'UPDATE', 'UPSERT', 'DELETE']);

/** Texts remembered at most; beyond this the oldest goes. */
const REMEMBERED_MAX = 1000;

const remembered = new Map<string, string>();

/**
 * The statement with RETURNING NOTHING at its end, if it is a single INSERT, UPDATE, UPSERT or
 * DELETE without a RETURNING clause; else the text itself.
 */
export function withReturningNothing(text: string): string {
  const known = remembered.get(text);
  if (known !== undefined) return known;
  const shape = readShape(text);
  const fits = shape !== undefined && WRITES.has(shape.first) && !shape.returning;
  const result = fits ? `${text.slice(0, shape.end)} RETURNING NOTHING` : text;
  if (remembered.size >= REMEMBERED_MAX) {
    const [oldest] = remembered.keys();
    if (oldest !== undefined) remembered.delete(oldest);
  }
  remembered.set(text, result);
  return result;
}

/** The statement with a clause at its end; throws if the text is not exactly one statement. */
export function withClause(text: string, clause: string): string {
  const shape = readShape(text);
  if (shape === undefined || shape.first === '') {
    throw new UsageError(withText(`${clause} fits behind a single statement only`, text));
  }
  return `${text.slice(0, shape.end)} ${clause}`;
}

const SPACE = /[ \t\n\r\f]+/y;
/** A space to some servers and an error to others (PostgreSQL 15), so it is never cut off. */
const VERTICAL_TAB = '\v';
const LINE_COMMENT = /--[^\n\r]*/y;
// To the server every character beyond ASCII is a letter: spaces of Unicode and emoji, too.
const WORD = /[A-Za-z_\u0080-\u{10FFFF}][\w$\u0080-\u{10FFFF}]*/uy;
const STRING = /'(?:[^']|'')*'/y;
const ESCAPE_STRING = /[eE]'(?:[^'\\]|''|\\[\s\S])*'/y;
const NAME = /"(?:[^"]|"")*"/y;
const DOLLAR_TAG = /\$(?:[A-Za-z_\u0080-\u{10FFFF}][\w\u0080-\u{10FFFF}]*)?\$/uy;
const PARAMETER = /\$\d+/y;
const NUMBER = /\d[\w.\u0080-\u{10FFFF}]*/uy;

function readShape(text: string): Shape | undefined {
  let at = 0;
  let end = 0;
  let depth = 0;
  let first = '';
  let returning = false;
  let closed = false;
  let before = '';
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    return pattern.exec(text)?.[0];
  };
  while (at < text.length) {
    const skipped = take(SPACE) ?? take(LINE_COMMENT) ?? blockComment(text, at);
    if (skipped === null) return undefined;
    if (skipped !== undefined) {
      at += skipped.length;
      continue;
    }
    if (text[at] === ';' && depth === 0) {
      // Semicolons in front of the statement change nothing.
      closed = first !== '';
      at += 1;
      continue;
    }
    // A second statement: not ours to change.
    if (closed) return undefined;
    if (text[at] === VERTICAL_TAB) {
      at += 1;
      if (first !== '') end = at;
      continue;
    }
    const token: string | null =
      take(ESCAPE_STRING) ??
      take(WORD) ??
      take(PARAMETER) ??
      take(NUMBER) ??
      quoted(text, at, take);
    if (token === null) return undefined;
    const word = inCapitals(token);
    if (first === '') first = word;
    if (token === '(' || token === '[') depth += 1;
    if (token === ')' || token === ']') depth -= 1;
    // After a point or AS RETURNING is the name of a column.
    const isName = before === '.' || before === 'AS';
    if (depth === 0 && word === 'RETURNING' && !isName) returning = true;
    at += token.length;
    end = at;
    before = word;
  }
  return depth === 0 ? { first, end, returning } : undefined;
}

/** A keyword in capitals: the server knows those of ASCII only, so `ſelect` is none. */
function inCapitals(token: string): string {
  return /^[A-Za-z]+$/.test(token) ? token.toUpperCase() : token;
}

/** A block comment, which may hold others; null if it has no end. */
function blockComment(text: string, start: number): string | null | undefined {
  if (!text.startsWith('/*', start)) return undefined;
  let depth = 0;
  for (let at = start; at < text.length; at += 2) {
    if (text.startsWith('/*', at)) depth += 1;
    else if (text.startsWith('*/', at)) depth -= 1;
    else at -= 1;
    if (depth === 0) return text.slice(start, at + 2);
  }
  return null;
}

/** A string, a quoted name, a dollar quote or any other character; null if one has no end. */
function quoted(
  text: string,
  at: number,
  take: (pattern: RegExp) => string | undefined,
): string | null {
  const character = text.charAt(at);
  if (character === "'") return take(STRING) ?? null;
  if (character === '"') return take(NAME) ?? null;
  if (character !== '$') return character;
  const tag = take(DOLLAR_TAG);
  if (tag === undefined) return character;
  const close = text.indexOf(tag, at + tag.length);
  return close < 0 ? null : text.slice(at, close + tag.length);
}
