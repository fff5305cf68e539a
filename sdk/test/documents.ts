/**
 * Finds the examples in documents and runs them as they are printed.
 *
 * Blocks of `ts` are programs. Blocks of `sql` are statements, which succeed unless their last line
 * ends with `-- ERROR` and a SQLSTATE. Blocks of `console` are sessions of psql with their answers.
 */

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';

import pg from 'pg';

const sdk = new URL('../', import.meta.url);

/** The folder of the programs while they run: other processes run others. */
export const scratch = new URL(`test/.examples/${process.pid}/`, sdk);

const PRINTED_URL = 'postgresql://root@127.0.0.1:26257/defaultdb';

/** One block of code, and where it is printed. */
export interface Example {
  readonly title: string;
  readonly code: string;
}

/** Every block of a language in a file; the stars of comments are taken off. */
export async function blocks(file: string, language: string): Promise<Example[]> {
  const text = await readFile(new URL(file, sdk), 'utf8');
  const fence = new RegExp(
    `^([ \\t]*\\*? ?)\`\`\`${language}\\n([\\s\\S]*?)^[ \\t]*\\*? ?\`\`\`$`,
    'gm',
  );
  return [...text.matchAll(fence)].map((match) => {
    const isComment = (match[1] ?? '').includes('*');
    const code = match[2] ?? '';
    const line = text.slice(0, match.index).split('\n').length;
    return { title: `${file}:${line}`, code: isComment ? code.replace(/^[ \t]*\* ?/gm, '') : code };
  });
}

let count = 0;

/** Runs a program of TypeScript against a server. */
export async function runProgram(code: string, url: string): Promise<void> {
  await mkdir(scratch, { recursive: true });
  const file = new URL(`example-${process.pid}-${++count}.ts`, scratch);
  const checked = code
    .replaceAll(PRINTED_URL, url)
    .replaceAll('console.assert(', 'assert(')
    .replaceAll('console.log(', 'void (');
  await writeFile(file, `import assert from 'node:assert/strict';\n${checked}\nvoid assert;\n`);
  await import(/* @vite-ignore */ pathToFileURL(fileURLToPath(file)).href);
}

/** A statement of a document, and what it must answer. */
interface Step {
  readonly sql: string;
  /** The SQLSTATE that it must fail with. */
  readonly code?: string;
  /** What psql prints. */
  readonly printed?: string;
}

/** The statements of a block of `sql`. */
export function statements(code: string): Step[] {
  const body = String.raw`(?:\$\$[\s\S]*?\$\$|(?!\$\$)[\s\S])*?`;
  const end = String.raw`;[ \t]*(?:--[ \t]*(?:ERROR (\w{5}))?[^\n]*)?(?:\n|$)`;
  return [...code.matchAll(new RegExp(`(${body})${end}`, 'g'))].map(([, sql = '', state]) =>
    state === undefined ? { sql } : { sql, code: state },
  );
}

/** The statements of a session of psql, and what it has printed after each. */
export function session(code: string): Step[] {
  return code
    .split(/^\w+=[*!]?[#>] /m)
    .slice(1)
    .map((entry) => {
      const lines = entry.replace(/^\w+-[*!]?[#>] /gm, '').split('\n');
      const last = lines.findIndex((line) => line.trimEnd().endsWith(';'));
      const rest = lines.slice(last + 1).map((line) => line.trimEnd());
      return { sql: lines.slice(0, last + 1).join('\n'), printed: rest.join('\n').trim() };
    });
}

const NUMBERS = new Set([20, 21, 23, 26, 700, 701, 1700]);

/** Rows as psql prints them, without spaces at the ends of lines. */
function table(result: pg.QueryArrayResult<(string | null)[]>): string {
  const columns = result.fields.map(({ name, dataTypeID }, at) => {
    const width = Math.max(name.length, ...result.rows.map((row) => row[at]?.length ?? 0));
    const left = Math.floor((width - name.length) / 2);
    const isNumber = NUMBERS.has(dataTypeID);
    const cell = (text: string): string => (isNumber ? text.padStart(width) : text.padEnd(width));
    return { head: `${' '.repeat(left)}${name}`.padEnd(width), cell, rule: '-'.repeat(width + 2) };
  });
  const line = (cells: string[]): string => ` ${cells.join(' | ')}`.trimEnd();
  const { length } = result.rows;
  return [
    line(columns.map(({ head }) => head)),
    columns.map(({ rule }) => rule).join('+'),
    ...result.rows.map((row) => line(columns.map(({ cell }, at) => cell(row[at] ?? '')))),
    `(${length} ${length === 1 ? 'row' : 'rows'})`,
  ].join('\n');
}

/** Runs statements one after the other on a connection; the first that answers otherwise throws. */
export async function runSteps(client: pg.Client, steps: Step[]): Promise<void> {
  let tag = '';
  const { connection } = client as unknown as { connection: NodeJS.EventEmitter };
  const onTag = (message: { text: string }): void => void (tag = message.text);
  connection.on('commandComplete', onTag);
  for (const { sql, code, printed } of steps) {
    let error: pg.DatabaseError | undefined;
    const asText = { getTypeParser: () => (text: unknown) => text };
    const query = { text: sql, rowMode: 'array' as const, types: asText };
    const result = await client.query<(string | null)[]>(query).catch((caught: unknown) => {
      if (!(caught instanceof pg.DatabaseError)) throw caught;
      error = caught;
      return undefined;
    });
    const answer =
      result === undefined
        ? `ERROR:  ${error?.message ?? ''}`
        : result.fields.length > 0
          ? table(result)
          : tag;
    if (printed !== undefined ? printed !== answer.trim() : error?.code !== code) {
      const found = printed === undefined ? (error?.code ?? 'no error') : '';
      throw new Error(
        `${sql}\nwas to answer\n${printed ?? code ?? 'no error'}\n${found}\n${answer}`,
      );
    }
  }
  connection.off('commandComplete', onTag);
}
