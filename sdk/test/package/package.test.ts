/**
 * The package as a user gets it: packed, installed into an empty project, imported with types.
 */

import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const run = promisify(execFile);
const sdk = fileURLToPath(new URL('../..', import.meta.url));
const tsc = fileURLToPath(new URL('../../../node_modules/typescript/bin/tsc', import.meta.url));

const PROGRAM = `
import { connect, DatabaseError, sql, type Database } from '@braiddb/sdk';

const piece = sql<{ a: number }>\`SELECT \${1} AS a\`;
const text: string = piece.compile().text;
export async function first(db: Database): Promise<number> {
  await using other = await connect('postgresql://root@127.0.0.1:26257/defaultdb');
  return (await db.one(piece)).a + (await other.one(piece)).a;
}
if (text !== 'SELECT $1 AS a' || typeof DatabaseError !== 'function') throw new Error(text);
console.log('imported');
`;

const CONFIG = {
  compilerOptions: {
    ...{ target: 'ES2022', module: 'NodeNext', lib: ['ES2024', 'ESNext.Disposable'] },
    ...{ strict: true, skipLibCheck: false, outDir: 'out', types: ['node'] },
  },
  files: ['program.ts'],
};

describe('the package', () => {
  let folder = '';
  let packed: string[] = [];
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'braiddb-sdk-'));
    const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], {
      cwd: sdk,
    });
    const answer = JSON.parse(stdout.slice(stdout.search(/^[[{]/m))) as unknown;
    const [entry] = Object.values(answer as Record<string, { files: { path: string }[] }>);
    packed = (entry?.files ?? []).map((file) => file.path);
    await writeFile(join(folder, 'package.json'), '{"type":"module","private":true}');
    await writeFile(join(folder, 'program.ts'), PROGRAM);
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(CONFIG));
  }, 120_000);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('holds the built files and nothing of the sources or tests', () => {
    expect(packed).toContain('dist/index.js');
    expect(packed).toContain('dist/index.d.ts');
    expect(packed).toContain('README.md');
    expect(packed.filter((path) => /^(src|test)\//.test(path))).toEqual([]);
  });

  it('installs into an empty project, and its types and code work there', async () => {
    const tarball = (await readdir(folder)).find((name) => name.endsWith('.tgz')) ?? '';
    const options = ['--no-audit', '--no-fund', '--prefer-offline'];
    await run('npm', ['install', ...options, `./${tarball}`], { cwd: folder });
    await run(process.execPath, [tsc, '-p', folder], { cwd: folder });
    const { stdout } = await run(process.execPath, ['out/program.js'], { cwd: folder });
    expect(stdout).toContain('imported');
  }, 180_000);
});
