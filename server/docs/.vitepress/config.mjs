import { SIDEBAR } from './pages.mjs';

/** The site: `build.mjs` copies this file beside the pages. */
export default {
  title: 'BraidDB',
  description: 'A serializable, PostgreSQL-compatible database for many small writes',
  outDir: 'dist',
  cacheDir: '.cache',
  cleanUrls: true,
  vite: { build: { chunkSizeWarningLimit: 4096 } },
  ignoreDeadLinks: false,
  // Braces in a document are text, never templates.
  markdown: {
    config(markdown) {
      const { escapeHtml } = markdown.utils;
      markdown.renderer.rules.code_inline = (tokens, at) =>
        `<code v-pre>${escapeHtml(tokens[at].content)}</code>`;
      markdown.renderer.rules.text = (tokens, at) =>
        escapeHtml(tokens[at].content).replaceAll('{{', '&#123;&#123;');
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    sidebar: SIDEBAR,
    outline: [2, 3],
    nav: [
      { text: 'Get started', link: '/get-started' },
      { text: 'SDK', link: '/sdk/' },
      { text: 'SQL', link: '/reference/sql' },
      { text: 'Errors', link: '/reference/errors' },
    ],
  },
};
