/**
 * Splits the text of a migration into statements. Knows comments and quotes, and no more of SQL's
 * grammar: a function body of `BEGIN ATOMIC` is the one place where it would split too much.
 */

/** Comments, quoted texts and names, and the rest; what is not closed goes on to the end. */
const TOKEN = new RegExp(
  [
    String.raw`(?<comment>--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))`,
    String.raw`(?<tag>\$(?:[A-Za-z_]\w*)?\$)[\s\S]*?(?:\k<tag>|$)`,
    String.raw`\b[eE]'(?:[^'\\]|''|\\[\s\S])*(?:'|$)`,
    String.raw`'(?:[^']|'')*(?:'|$)`,
    String.raw`"(?:[^"]|"")*(?:"|$)`,
    String.raw`[\w$]+|[\s\S]`,
  ].join('|'),
  'g',
);

/** Words that begin or end a transaction. */
const CONTROLS = /^(begin|start\s+transaction|commit|end|rollback|abort|prepare\s+transaction)\b/i;

/** The statements of a text, without comments around them and without semicolons. */
export function splitStatements(text: string): string[] {
  const statements: string[] = [];
  let statement = '';
  const finish = (): void => {
    if (statement.trim() !== '') statements.push(statement.trim());
    statement = '';
  };
  for (const { 0: token, groups } of text.matchAll(TOKEN)) {
    if (token === ';') finish();
    // A comment separates words, as a blank does.
    else statement += groups?.comment === undefined ? token : ' ';
  }
  finish();
  return statements;
}

/** The first statement that begins or ends a transaction; ROLLBACK TO SAVEPOINT does neither. */
export function findControl(statements: readonly string[]): string | undefined {
  return statements.find((one) => CONTROLS.test(one) && !/^rollback\b[\s\S]*\bto\b/i.test(one));
}
