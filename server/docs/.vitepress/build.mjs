/**
 * `npm run docs`: builds one site of all documents and of the SDK's API, in `.site/dist`.
 * `npm run docs:dev` serves it while it is being written.
 *
 * The documents are copied into `.site`, with their links changed to the addresses there.
 */

import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build, createServer } from 'vitepress';

import { markdownFiles, replaceLinks, resolveLink, textOf, top } from './documents.mjs';
import { SOURCES } from './pages.mjs';

const site = fileURLToPath(new URL('../.site/', import.meta.url));

/** Source and address of every document. */
function addresses() {
  const found = new Map();
  for (const [from, to] of SOURCES) {
    if (!existsSync(join(top, from))) continue;
    if (statSync(join(top, from)).isFile()) found.set(from, to);
    else
      for (const file of markdownFiles(from)) {
        found.set(file, posix.join(to, file.slice(from.length + 1)));
      }
  }
  return found;
}

/** A document with links that fit its address; images come along. */
function moved(from, to, all) {
  const text = replaceLinks(textOf(from), (target) => {
    const { file, anchor } = resolveLink(from, target);
    const there = all.get(file);
    if (there === undefined) {
      if (!/\.(svg|png)$/.test(file)) return 'NOWHERE';
      cpSync(join(top, file), join(site, 'images', posix.basename(file)));
      return posix.relative(posix.dirname(to), `images/${posix.basename(file)}`);
    }
    const link = posix.relative(posix.dirname(to), there);
    return anchor === undefined ? `./${link}` : `./${link}#${anchor}`;
  });
  // The site has no sources: a link to one becomes plain text.
  return text.replace(/\[([^\]]*)\]\(NOWHERE\)/g, '$1');
}

/** Writes the pages of the SDK's API, from its types. */
function writeApi() {
  const options = ['--options', join(top, 'server/docs/.vitepress/typedoc.json')];
  const typedoc = join(top, 'node_modules/typedoc/bin/typedoc');
  execFileSync(process.execPath, [typedoc, ...options], { cwd: top, stdio: 'inherit' });
}

rmSync(site, { recursive: true, force: true });
mkdirSync(join(site, 'images'), { recursive: true });
const all = addresses();
for (const [from, to] of all) {
  mkdirSync(dirname(join(site, to)), { recursive: true });
  writeFileSync(join(site, to), moved(from, to, all));
}
cpSync(fileURLToPath(new URL('config.mjs', import.meta.url)), join(site, '.vitepress/config.mjs'));
cpSync(fileURLToPath(new URL('pages.mjs', import.meta.url)), join(site, '.vitepress/pages.mjs'));
writeApi();

if (process.argv.includes('--serve')) {
  const server = await createServer(site);
  await server.listen();
  server.printUrls();
} else {
  await build(site);
}
