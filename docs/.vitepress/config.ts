import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'

const docs = fileURLToPath(new URL('..', import.meta.url))

/** The pages of a folder by their own titles; `order` of a page's front matter says where it stands. */
function pagesOf(folder: string): { text: string; link: string }[] {
  const pages = readdirSync(docs + folder).filter((name) => name.endsWith('.md'))
  return pages
    .map((name) => {
      const text = readFileSync(`${docs}${folder}/${name}`, 'utf8')
      const title = /^# (.*)$/m.exec(text)?.[1] ?? name
      return {
        order: Number(/^order: (\d+)$/m.exec(text)?.[1] ?? 99),
        text: title,
        link: `/${folder}/${name.slice(0, -3)}`,
      }
    })
    .sort((a, b) => a.order - b.order)
    .map(({ text, link }) => ({ text, link }))
}

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
    sidebar: [
      { text: 'Start', items: pagesOf('start') },
      { text: 'Guides', items: pagesOf('guides') },
      { text: 'Recipes', items: pagesOf('recipes') },
      { text: 'Options and types', items: pagesOf('reference') },
      {
        text: 'Reference',
        items: [
          { text: 'The interface', link: '/interface' },
          { text: 'JSON Schema', link: '/json-schema' },
          { text: 'Grammars', link: '/grammars' },
          { text: 'Platforms', link: '/platforms' },
          { text: 'Browsers', link: '/browsers' },
          { text: 'Bundlers', link: '/bundlers' },
          { text: 'Clients', link: '/clients' },
          { text: 'Benchmarks', link: '/benchmarks' },
          { text: 'What an answer costs', link: '/SCALING' },
          { text: 'How it works', link: '/how-it-works' },
          { text: 'Adding to it', link: '/adding' },
        ],
      },
    ],
  },
})
