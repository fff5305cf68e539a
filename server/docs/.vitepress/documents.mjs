/** Finds the documents of the repository, and the links and anchors in them. */

import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The top of the repository. */
export const top = fileURLToPath(new URL('../../../', import.meta.url));

/** Folders that hold no documents of this repository. */
const SKIPPED = new Set(['node_modules', 'target', 'dist', '.git', '.site', '.cache']);

/** The paths of all Markdown files below a folder, from the top of the repository. */
export function markdownFiles(folder = '') {
  const entries = readdirSync(join(top, folder), { withFileTypes: true });
  return entries.flatMap((entry) => {
    const path = posix.join(folder, entry.name);
    if (entry.isDirectory()) return SKIPPED.has(entry.name) ? [] : markdownFiles(path);
    return entry.name.endsWith('.md') ? [path] : [];
  });
}

/** The text of a document. */
export const textOf = (path) => readFileSync(join(top, path), 'utf8');

/** Applies `change` to all text outside of fenced blocks. */
export function outsideOfFences(text, change) {
  const pieces = text.split(/^(```[^\n]*\n[\s\S]*?^```\n)/m);
  return pieces.map((piece, at) => (at % 2 === 1 ? piece : change(piece))).join('');
}

/** The targets of links and images: `[text](target)`, `<a href>` and `<img src>`. */
const LINK = /(?<=\]\()([^()\s]+)(?=\))|(?<=\b(?:href|src)=")([^"]+)(?=")/g;

/** Replaces the target of each link that leads to a file of the repository. */
export function replaceLinks(text, replace) {
  return outsideOfFences(text, (piece) =>
    piece
      .split(/(`[^`\n]+`)/)
      .map((part) => (part.startsWith('`') ? part : part.replace(LINK, replaceLocal)))
      .join(''),
  );

  function replaceLocal(target) {
    return /^[a-z]+:/.test(target) ? target : replace(target);
  }
}

/** The target of a link: its file from the top of the repository, and its anchor. */
export function resolveLink(from, target) {
  const [path, anchor] = target.split('#');
  return { file: path === '' ? from : posix.join(posix.dirname(from), path), anchor };
}

/** The anchors of a document's headings, as GitHub and VitePress make them. */
export function anchors(text) {
  const found = new Set();
  outsideOfFences(text, (piece) => {
    for (const [, heading] of piece.matchAll(/^#+ +(.*)$/gm)) {
      const plain = heading.replace(/\]\([^)]*\)/g, '').toLowerCase();
      found.add(plain.replace(/[^\p{L}\p{N}\s_-]/gu, '').replace(/\s/g, '-'));
    }
    return piece;
  });
  return found;
}

/** The sentences of a document outside of code and tables; a piece of code counts as a word. */
export function sentences(text) {
  const paragraphs = [];
  outsideOfFences(text.replace(/^```[\s\S]*?^```$/gm, ''), (piece) => {
    let open = false;
    for (const line of piece.split('\n')) {
      const isText = !/^\s*$|^[|#<]/.test(line);
      if (isText && open && !/^\s*(?:[-*]|\d+\.) /.test(line)) {
        paragraphs.push(`${paragraphs.pop()} ${line.trim()}`);
      } else if (isText) {
        paragraphs.push(line.trim());
      }
      open = isText;
    }
    return piece;
  });
  return paragraphs.flatMap((one) => one.replace(/`[^`]*`/g, 'code').split(/(?<=[.:!?;])\s+/));
}
