import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'
import { sectionsOf } from './sections.js'

const docs = fileURLToPath(new URL('..', import.meta.url))

export default defineConfig({
  title: 'local-v1',
  description: "An OpenAI-compatible /v1 on the user's own device",
  lang: 'en',
  cleanUrls: true,
  // Pages for those who change local-v1 link into the repository, of which this is a part.
  srcExclude: ['node_modules/**'],
  ignoreDeadLinks: [/^(\.\/)?\.\.\//],
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    config: (md) => {
      // An empty corner of a table is no header: whoever hears the page would be told of a heading without words.
      md.core.ruler.push('plain_corners', ({ tokens }) => {
        for (const [i, open] of tokens.entries()) {
          const [inline, close] = tokens.slice(i + 1, i + 3)
          if (open.type === 'th_open' && inline?.content === '' && close) open.tag = close.tag = 'td'
        }
      })
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    nav: [
      { text: 'Start', link: '/start/node' },
      { text: 'Guides', link: '/guides/strict-json' },
      { text: 'Recipes', link: '/recipes/openai' },
      { text: 'Playground', link: '/try' },
    ],
    sidebar: sectionsOf(docs).map(({ text, items }) => ({ text, items: [...items] })),
  },
})
