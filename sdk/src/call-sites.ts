/**
 * The place in the caller's source that an error belongs to.
 *
 * Each call remembers the place in the caller's source that it came from. When a statement fails,
 * its error gets that place as its stack. A write that was acknowledged before it ran fails later,
 * in the answer to another statement; the server then lists the failed ones in the context field:
 *
 * ```text
 *  statement 4: 23505 duplicate key value violates unique constraint "t_pkey": INSERT INTO t …
 *            ▲  ▲     ▲                                                        ▲
 *  counted from 1     message                                                  text, shortened
 *  after BEGIN  SQLSTATE
 * ```
 */

import type { FailedStatement } from './errors.js';
import { attachStatements, BraidError, DatabaseError } from './errors.js';

/** A call of a query method. */
export interface CallSite {
  /** Has the stack of the call; formatted only when somebody reads it. */
  readonly captured: { readonly stack?: string };
}

/** A statement that was sent. */
export interface SentStatement {
  readonly text: string;
  readonly parameters: readonly unknown[];
  readonly callSite: CallSite | undefined;
}

/** Remembers where `below` was called from. */
export function captureCallSite(below: (...args: never[]) => unknown): CallSite {
  const captured: { stack?: string } = {};
  Error.captureStackTrace(captured, below);
  return { captured };
}

/** Gives an error the place of the call that failed, unless it has been given one. */
export function attachCallSite(error: unknown, sent: SentStatement): unknown {
  if (!(error instanceof BraidError) || attached.has(error)) return error;
  attached.add(error);
  const stack = stackOf(error, sent.callSite);
  if (error instanceof DatabaseError) {
    const { code, message } = error;
    const { text, parameters } = sent;
    const own = { number: undefined, code, message, statement: text, parameters, stack };
    attachStatements(error, [own], stack);
  } else if (stack !== undefined) {
    Object.defineProperty(error, 'stack', { configurable: true, value: stack, writable: true });
  }
  return error;
}

/**
 * Gives the error of a barrier the places of the calls that it lists; false if it lists none.
 * `sent` holds the statements after BEGIN in the order of the wire.
 */
export function attachListedCallSites(error: unknown, sent: readonly SentStatement[]): boolean {
  if (!(error instanceof DatabaseError) || attached.has(error)) return false;
  const failed = (error.where?.split('\n') ?? []).flatMap((line) => readLine(line, error, sent));
  if (failed.length === 0) return false;
  attached.add(error);
  // A retry error goes first, whatever its place: the error is about the one with its own state.
  const first = failed.find(
    ({ code, message }) => code === error.code && message === error.message,
  );
  const ordered = first === undefined ? failed : [first, ...failed.filter((one) => one !== first)];
  attachStatements(error, ordered, ordered[0]?.stack);
  return true;
}

const attached = new WeakSet<Error>();

function readLine(
  line: string,
  error: DatabaseError,
  sent: readonly SentStatement[],
): FailedStatement[] {
  const match = /^statement (\d+): ([0-9A-Z]{5}) (.*)$/.exec(line);
  if (match === null) return [];
  const [, digits = '', code = '', rest = ''] = match;
  const number = Number(digits);
  const found = findSent(number, rest, sent);
  const { message, statement } = splitText(rest, code === error.code ? error.message : undefined);
  return [
    {
      number,
      code,
      message,
      statement: found?.text ?? statement,
      parameters: found?.parameters,
      stack:
        found === undefined ? undefined : stackOf({ name: error.name, message }, found.callSite),
    },
  ];
}

/** The statement with that number, or else the only one whose text the line ends with. */
function findSent(
  number: number,
  rest: string,
  sent: readonly SentStatement[],
): SentStatement | undefined {
  const fits = (one: SentStatement | undefined): boolean =>
    one !== undefined && endsWithText(rest, one.text);
  const numbered = sent[number - 1];
  if (fits(numbered)) return numbered;
  const others = sent.filter(fits);
  return others.length === 1 ? others[0] : undefined;
}

/** Characters of a text that are compared: the server shortens long texts. */
const COMPARED_CHARACTERS = 24;

function endsWithText(rest: string, text: string): boolean {
  return flat(rest).includes(`: ${flat(text).slice(0, COMPARED_CHARACTERS).trimEnd()}`);
}

function flat(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

/** Message and text, which are both free; the message of the error itself is known. */
function splitText(
  rest: string,
  known: string | undefined,
): { message: string; statement: string } {
  if (known !== undefined && rest.startsWith(`${known}: `)) {
    return { message: known, statement: rest.slice(known.length + 2) };
  }
  const at = rest.search(/: (?=(?:INSERT|UPDATE|UPSERT|DELETE|WITH|SELECT)\b)/i);
  if (at < 0) return { message: rest, statement: '' };
  return { message: rest.slice(0, at), statement: rest.slice(at + 2) };
}

function stackOf(
  error: { name: string; message: string },
  callSite?: CallSite,
): string | undefined {
  const stack = callSite?.captured.stack;
  if (stack === undefined) return undefined;
  const start = stack.indexOf('\n    at ');
  const frames = start < 0 ? '' : stack.slice(start);
  return `${error.name}: ${error.message}${frames}`;
}
