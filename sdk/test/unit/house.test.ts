/**
 * The limits of the sources of the SDK and its packages: files a folder, methods a class, parameters a function, and no
 * circle of imports. Type imports count too: a circle of types is a circle for the reader.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import ts from 'typescript';
import { describe, expect, it } from 'vitest';

const FILES_MAX = 12;
const METHODS_MAX = 25;
const PARAMETERS_MAX = 6;

const root = fileURLToPath(new URL('../..', import.meta.url));
const libraries = ['kysely', 'drizzle', 'knex', 'typeorm', 'prisma'];
const packages = ['server', ...libraries, 'opentelemetry', 'queue'];
const folders = ['src', ...packages.map((name) => `packages/${name}/src`)];
const paths = folders.flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => join(root, folder, path)),
);
const sources = paths.map((path) =>
  ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true),
);

/** The files of the SDK that a file imports. */
function importsOf(source: ts.SourceFile): string[] {
  return source.statements.flatMap((statement) => {
    if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) return [];
    const from = statement.moduleSpecifier;
    if (from === undefined || !ts.isStringLiteral(from) || !from.text.startsWith('.')) return [];
    return [resolve(dirname(source.fileName), from.text.replace(/\.js$/, '.ts'))];
  });
}

/** The circles of a graph, each as the files along it. */
function circlesOf(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (file: string, way: readonly string[]): void => {
    const start = way.indexOf(file);
    if (start >= 0) circles.push([...way.slice(start), file].join(' → '));
    if (start >= 0 || done.has(file)) return;
    for (const next of graph.get(file) ?? []) visit(next, [...way, file]);
    done.add(file);
  };
  for (const file of graph.keys()) visit(file, []);
  return circles;
}

function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  ts.forEachChild(node, (child) => {
    walk(child, visit);
  });
}

function placeOf(node: ts.Node): string {
  const source = node.getSourceFile();
  const { line } = source.getLineAndCharacterOfPosition(node.getStart());
  return `${relative(root, source.fileName)}:${line + 1}`;
}

describe('the source of the SDK', () => {
  it('has no circle of imports', () => {
    expect(
      circlesOf(
        new Map([
          ['a', ['b']],
          ['b', ['c']],
          ['c', ['a']],
        ]),
      ),
    ).toEqual(['a → b → c → a']);
    const named = (path: string): string => relative(root, path);
    const graph = sources.map((source): [string, string[]] => [
      named(source.fileName),
      importsOf(source).map(named),
    ]);
    expect(graph.some(([, imports]) => imports.length > 5)).toBe(true);
    expect(circlesOf(new Map(graph))).toEqual([]);
  });

  it(`has at most ${FILES_MAX} files in a folder`, () => {
    const counts = new Map<string, number>();
    for (const path of paths) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
    expect([...counts].filter(([, count]) => count > FILES_MAX)).toEqual([]);
  });

  it(`has at most ${METHODS_MAX} methods in a class, ${PARAMETERS_MAX} parameters in a function`, () => {
    const found: string[] = [];
    for (const source of sources) {
      walk(source, (node) => {
        if (ts.isClassDeclaration(node)) {
          const methods = node.members.filter(
            (member) => ts.isMethodDeclaration(member) || ts.isAccessor(member),
          );
          if (methods.length > METHODS_MAX) {
            found.push(`${placeOf(node)}: ${methods.length} methods`);
          }
        }
        if (ts.isFunctionLike(node) && node.parameters.length > PARAMETERS_MAX) {
          found.push(`${placeOf(node)}: ${node.parameters.length} parameters`);
        }
      });
    }
    expect(found).toEqual([]);
  });
});
