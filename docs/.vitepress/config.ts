import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'
import { aboutPageAt, atSite } from '../../scripts/llms.js'
import { SOURCE_ARCHIVE } from '../../scripts/source.js'
import { sectionsOf } from './sections.js'

const docs = fileURLToPath(new URL('..', import.meta.url))
const description = "An OpenAI-compatible /v1 on the user's own device"
/** Where the pages will be, which those who unfold links to them want in full. */
const site = process.env.SITE?.replace(/\/?$/, '/')

/** For places that show no Markdown. */
const plain = (text: string) => text.replaceAll('`', '')

export default defineConfig({
  title: 'local-v1',
  description,
  lang: 'en',
  cleanUrls: true,
  transformPageData(pageData) {
    if (pageData.filePath !== '') pageData.description = plain(aboutPageAt(join(docs, pageData.filePath)))
  },
  transformHead: ({ pageData }) => [
    ['meta', { property: 'og:type', content: 'website' }],
    ['meta', { property: 'og:site_name', content: 'local-v1' }],
    ['meta', { property: 'og:title', content: pageData.title || 'local-v1' }],
    ['meta', { property: 'og:description', content: pageData.description || description }],
    ['meta', { name: 'twitter:card', content: site ? 'summary_large_image' : 'summary' }],
    ...(site ? [['meta', { property: 'og:image', content: `${site}playground/picture.png` }] as const] : []),
  ],
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
      // What a page includes has another address here than in the repository.
      md.core.ruler.push('included_pages', ({ tokens }) => {
        for (const link of tokens.flatMap(({ children }) => children ?? [])) {
          const href = link.type === 'link_open' ? link.attrGet('href') : null
          if (href) link.attrSet('href', atSite(href, ''))
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
      // A file of the site, written behind the pages.
      { text: 'Source', link: `/${SOURCE_ARCHIVE}`, target: '_self', noIcon: true },
    ],
    sidebar: sectionsOf(docs).map(({ text, items }) => ({
      text,
      items: items.map((item) => ({ ...item, text: plain(item.text) })),
    })),
  },
})
