/** Writes TypeScript types of the tables of a database: for the SDK, or for Kysely. */

import type { Database } from '@braiddb/sdk';

import { ServerOptionError } from '../errors.js';
import type { Catalog, Column, Relation } from './catalog.js';
import { readCatalog } from './catalog.js';
import { checkBoolean, checkCall, checkText } from './checks.js';
import type { ParserChoice } from './type-names.js';
import { INTERVAL, isRead, property, quoted, TypeNames, valueType } from './type-names.js';

/** Options of {@link generateTypes}. */
export interface TypeOptions {
  /** The schemas to read. Default `['public']`. */
  readonly schemas?: readonly string[] | undefined;
  /** Write an interface for Kysely instead of tables of the SDK. Default `false`. */
  readonly kysely?: boolean | undefined;
  /** The `parsers` that your program gives to `connect`. */
  readonly parsers?: ParserChoice | undefined;
}

const HEAD = '// Written by `npx braiddb types`. Your changes would be lost.\n';

/** Names that the file has anyway. */
const RESERVED = [
  ...['DB', 'Generated', 'GeneratedAlways', 'Insertable', 'Interval', 'table', 'Buffer', 'Date'],
  // Words that no constant can be called.
  ...['case', 'class', 'const', 'default', 'delete', 'do', 'else', 'enum', 'export', 'for'],
  ...['function', 'if', 'import', 'in', 'new', 'null', 'package', 'return', 'static', 'switch'],
  ...['this', 'true', 'false', 'try', 'var', 'void', 'while', 'with', 'yield', 'await', 'let'],
];

/** Writes the types of a database; the text of a TypeScript file. */
export async function generateTypes(db: Database, options: TypeOptions = {}): Promise<string> {
  checkCall(db, options);
  const { schemas = ['public'], kysely = false, parsers = {} } = options;
  if (!Array.isArray(schemas)) throw new ServerOptionError('schemas', 'must be an array of names');
  for (const schema of schemas) checkText('schemas', schema);
  checkBoolean('kysely', kysely);
  if (typeof (parsers as unknown) !== 'object' || (parsers as unknown) === null) {
    throw new ServerOptionError('parsers', 'must be an object, as connect takes it');
  }
  const catalog = await readCatalog(db, schemas);
  return new TypeWriter(catalog, parsers).write(kysely);
}

class TypeWriter {
  readonly #catalog: Catalog;
  readonly #parsers: ParserChoice;
  readonly #names = new TypeNames(RESERVED);
  readonly #enums = new Map<number, string>();
  /** The enums and helpers that columns refer to. */
  readonly #used = new Set<string>();

  constructor(catalog: Catalog, parsers: ParserChoice) {
    this.#catalog = catalog;
    this.#parsers = parsers;
  }

  write(kysely: boolean): string {
    for (const { typeId, schema, name } of this.#catalog.enums) {
      this.#enums.set(typeId, this.#names.pascal(schema, name));
    }
    const tables = kysely ? this.#kysely() : this.#sdk();
    const enums = this.#catalog.enums.flatMap(({ typeId, values }) => {
      const name = this.#enums.get(typeId) ?? '';
      if (!this.#used.has(name)) return [];
      return [`export type ${name} = ${values.map(quoted).join(' | ')};`];
    });
    const interval = this.#used.has('Interval') ? [INTERVAL] : [];
    return `${[HEAD + tables.imports, ...interval, ...enums, ...tables.parts].join('\n\n')}\n`;
  }

  /** A row type for each table, and a table of the SDK. */
  #sdk(): { imports: string; parts: string[] } {
    const hasTables = this.#catalog.relations.some(({ isTable }) => isTable);
    const parts = this.#catalog.relations.map((relation) => {
      const { schema, name, isTable, key } = relation;
      const row = this.#names.pascal(schema, name, 'Row');
      const rowType = this.#interface(row, relation, (column) => this.#type(column));
      if (!isTable) return rowType;
      const constant = this.#names.camel(schema, name);
      const names = schema === 'public' ? quoted(name) : `[${quoted(schema)}, ${quoted(name)}]`;
      const keys = key.length === 0 ? '' : `, { key: [${key.map(quoted).join(', ')}] }`;
      return `${rowType}\n\nexport const ${constant} = table<${row}>(${names}${keys});\n${this.#insert(relation, constant)}`;
    });
    const imports =
      "import type { Insertable } from '@braiddb/sdk';\nimport { table } from '@braiddb/sdk';";
    return { imports: hasTables ? `\n${imports}` : '', parts };
  }

  /** The type of a new row: without what the server sets, and with what it may set left out. */
  #insert({ schema, name, columns }: Relation, constant: string): string {
    const type = this.#names.pascal(schema, `new_${name}`);
    const free = columns.filter(({ hasDefault, isGenerated }) => hasDefault && !isGenerated);
    const names = free.map((column) => quoted(column.name)).join(' | ');
    const full = `Insertable<typeof ${constant}${names === '' ? '' : `, ${names}`}>`;
    const never = columns.filter(({ isGenerated }) => isGenerated);
    if (never.length === 0) return `export type ${type} = ${full};`;
    const left = never.map((column) => quoted(column.name)).join(' | ');
    return `export type ${type} = Omit<${full}, ${left}>;`;
  }

  /** An interface for each table, and one of all of them. */
  #kysely(): { imports: string; parts: string[] } {
    const entries: string[] = [];
    const helpers = new Set<string>();
    const parts = this.#catalog.relations.map((relation) => {
      const { schema, name } = relation;
      const type = this.#names.pascal(schema, name, 'Table');
      entries.push(`  ${property(schema === 'public' ? name : `${schema}.${name}`)}: ${type};`);
      return this.#interface(type, relation, (column) => {
        const value = this.#type(column);
        const { isGenerated, hasDefault } = column;
        const helper = isGenerated ? 'GeneratedAlways' : hasDefault ? 'Generated' : undefined;
        if (helper === undefined) return value;
        helpers.add(helper);
        return `${helper}<${value}>`;
      });
    });
    parts.push(`export interface DB {\n${entries.map((entry) => `${entry}\n`).join('')}}`);
    const names = [...helpers].toSorted().join(', ');
    return { imports: names === '' ? '' : `\nimport type { ${names} } from 'kysely';`, parts };
  }

  #interface(
    name: string,
    { comment, columns }: Relation,
    typeOf: (column: Column) => string,
  ): string {
    const lines = columns.map(
      (column) => `${docs(column.comment, '  ')}  ${property(column.name)}: ${typeOf(column)};\n`,
    );
    return `${docs(comment, '')}export interface ${name} {\n${lines.join('')}}`;
  }

  #type({ typeId, elementId, isNullable }: Column): string {
    const isArray = elementId !== 0;
    const one = isArray && !isRead(typeId) ? 'string' : this.#value(isArray ? elementId : typeId);
    const many = isArray && isRead(typeId) ? `(${one} | null)[]` : one;
    return isNullable && many !== 'unknown' ? `${many} | null` : many;
  }

  #value(typeId: number): string {
    const type = valueType(typeId, this.#parsers, this.#enums);
    this.#used.add(type);
    return type;
  }
}

function docs(comment: string | null, indent: string): string {
  if (comment === null || comment.trim() === '') return '';
  const text = comment.replaceAll('*/', '*\\/').split('\n');
  if (text.length === 1) return `${indent}/** ${text[0] ?? ''} */\n`;
  const lines = text.map((line) => `${indent} * ${line}`.trimEnd());
  return `${indent}/**\n${lines.join('\n')}\n${indent} */\n`;
}
