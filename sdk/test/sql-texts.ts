/**
 * Random SQL texts for the tests of the scanner: statements, several statements, and texts that a
 * mutation has broken. Strings, dollar quotes, comments and names hold what other tokens begin with.
 */

import fc from 'fast-check';

/** The table of the texts: one column `a` of type TEXT, and one called `returning`. */
export const TABLE = 'scanned';

/** What strings, names and comments are made of. */
const PIECES = [
  ...["'", '"', '\\', '$', '$$', '$a$', '$1', '--', '/*', '*/', ';', '(', ')', '[', ']', '.', ','],
  ...['RETURNING', 'returning', 'AS', 'E', 'x', '1', '_', '\n', '\r', '\t', ' ', '\f', '\v'],
  ...['é', '日', '😀', '٣', 'ı', 'ſ', 'K', '\u00a0', '\u2028', '\ufeff', '\u3000', '\u0085'],
];

const pieces = (...without: readonly string[]): fc.Arbitrary<string> =>
  fc
    .array(fc.constantFrom(...PIECES), { maxLength: 5 })
    .map((list) => list.filter((one) => !without.includes(one)).join(''));

const word = fc.constantFrom(
  ...['a', 'x1', '_x', 'x$', 'x$1', 'a$$', 'é', 'aé', '日本', '😀', 'e😀', 'ınsert', 'x\u00a0y'],
  ...['e', 'E', 'b', 'N', 'returnıng', '"returning"', 'K', 'ſelect'],
);
const quotedName = pieces().map((text) => `"${text.replaceAll('"', '""')}n"`);
const name = fc.oneof(word, quotedName);

const plainString = pieces().map((text) => `'${text.replaceAll("'", "''")}'`);
const escapeString = fc
  .tuple(fc.constantFrom('E', 'e'), pieces('\\', "'"), fc.constantFrom("\\'", '\\\\', "''", '\\n'))
  .map(([prefix, text, escape]) => `${prefix}'${text}${escape}${text}'`);
const dollarString = fc
  .tuple(fc.constantFrom('', 'a', 'é', '_1', '😀', 'RETURNING'), pieces('$', '$$', '$a$'))
  .map(([tag, text]) => `$${tag}$${text}$${tag}$`);
const continued = fc.tuple(plainString, plainString).map(([one, other]) => `${one}\n ${other}`);
const number = fc.constantFrom('1', '1.5', '.5', '1.', '1e5', '1.e+2', '12345678901234567890');
const literal = fc.oneof(
  { arbitrary: plainString, weight: 3 },
  { arbitrary: escapeString, weight: 3 },
  { arbitrary: dollarString, weight: 3 },
  number,
  continued,
  fc.constantFrom("N'x'", "B'101'", "X'1F'", "U&'\\0061'", 'NULL', "''", "E'\\\\'"),
);

const blockComment = fc
  .tuple(pieces('/*', '*/'), pieces('/*', '*/'))
  .map(([one, other]) => `/*${one}/*${other}*/ ${one}*/`);
const lineComment = fc
  .tuple(pieces('\n', '\r'), fc.constantFrom('\n', '\r'))
  .map(([text, end]) => `--${text}${end}`);
/** What stands between two tokens. */
const gap = fc.oneof(
  { arbitrary: fc.constantFrom(' ', '\n', '\t', '\r\n', '\f'), weight: 6 },
  blockComment,
  lineComment,
);
/** What may stand after the last token. */
const tail = fc.oneof(
  { arbitrary: fc.constant(''), weight: 3 },
  fc.constantFrom(';', ' ; ', ';;', '--', '-- ; x', '/**/', '; /* x */ ;', '\u00a0', ';\u2028'),
  gap,
);

/** Joins tokens with random gaps. */
function spaced(...tokens: readonly (string | fc.Arbitrary<string>)[]): fc.Arbitrary<string> {
  const parts = tokens.flatMap((token, place) => {
    const one = typeof token === 'string' ? fc.constant(token) : token;
    return place === 0 ? [one] : [gap, one];
  });
  return fc.tuple(...parts).map((all) => all.join(''));
}

const asText = fc
  .tuple(literal, fc.constantFrom('::text', ' :: TEXT', '/**/::text'))
  .map((both) => both.join(''));
const textValue = fc.oneof(
  { arbitrary: asText, weight: 4 },
  fc.tuple(asText, asText).map(([one, other]) => `(${one}||${other})`),
  fc.constantFrom(`a`, `${TABLE}.a`, `(SELECT max(a)FROM ${TABLE})`),
);
const condition = fc.oneof(
  spaced('a', fc.constantFrom('=', '<>', '<'), textValue),
  spaced('a', 'IN', '(', textValue, ',', textValue, ')'),
  spaced(textValue, 'IS', 'NULL'),
  fc.constant(`${TABLE}.returning IS NULL`),
);
const returning = fc.oneof(
  { arbitrary: fc.constant(''), weight: 3 },
  fc.constantFrom(' RETURNING a', ' returning *', "/**/RETURNING'x'AS x", '\nReturning 1'),
);
const keyword = (text: string): fc.Arbitrary<string> =>
  fc.constantFrom(text, text.toLowerCase(), `${text.charAt(0)}${text.slice(1).toLowerCase()}`);

const write = fc
  .tuple(
    fc.oneof(
      spaced(keyword('DELETE'), 'FROM', TABLE, 'WHERE', condition),
      spaced(keyword('UPDATE'), TABLE, 'SET', 'a', '=', textValue, 'WHERE', condition),
      spaced(keyword('INSERT'), 'INTO', TABLE, '(', 'a', ')', 'SELECT', asText, 'WHERE', 'false'),
      spaced(keyword('INSERT'), 'INTO', `${TABLE}(a)SELECT`, asText, 'AS returning LIMIT 0'),
    ),
    returning,
  )
  .map((both) => both.join(''));
const read = fc.oneof(
  spaced(keyword('SELECT'), asText, 'AS', name, ',', asText),
  spaced(keyword('SELECT'), asText, 'WHERE', '(', asText, 'IS', 'NOT', 'NULL', ')'),
);
const statement = fc.oneof({ arbitrary: write, weight: 3 }, { arbitrary: read, weight: 2 });

/** A text of one statement, with comments and semicolons around it. */
const single = fc.tuple(fc.oneof(fc.constant(''), gap), statement, tail).map((all) => all.join(''));
const several = fc.tuple(single, fc.constantFrom(';', ' ;\n'), single).map((all) => all.join(''));
const nothing = fc.tuple(gap, tail).map((all) => all.join(''));

/** A text with a piece put in, or a few characters taken away, anywhere. */
const mutated = fc
  .tuple(
    fc.oneof(single, several),
    fc.double({ min: 0, max: 1, noNaN: true }),
    fc.oneof(fc.constantFrom(...PIECES), fc.integer({ min: 1, max: 4 })),
  )
  .map(([text, part, change]) => {
    const at = Math.floor(part * text.length);
    const isCut = typeof change === 'number';
    return `${text.slice(0, at)}${isCut ? '' : change}${text.slice(isCut ? at + change : at)}`;
  })
  // Half a character outside the BMP is not what the server would get.
  .filter((text) => text.isWellFormed());

/** Random texts for the scanner. */
export const sqlTexts: fc.Arbitrary<string> = fc.oneof(
  { arbitrary: single, weight: 6 },
  { arbitrary: mutated, weight: 4 },
  { arbitrary: several, weight: 1 },
  { arbitrary: nothing, weight: 1 },
);
