import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface PageLink {
  readonly text: string
  /** From the site's root, without an ending. */
  readonly link: string
}

export interface Section {
  readonly text: string
  readonly items: readonly PageLink[]
}

/** What the site has, in the order in which it is shown; `docs` is its folder. */
export function sectionsOf(docs: string): Section[] {
  return [
    { text: 'Start', items: pagesOf(docs, 'start') },
    { text: 'Guides', items: pagesOf(docs, 'guides') },
    { text: 'Recipes', items: pagesOf(docs, 'recipes') },
    { text: 'Options and types', items: pagesOf(docs, 'reference') },
    {
      text: 'Reference',
      items: [
        { text: 'The interface', link: '/interface' },
        { text: 'JSON Schema', link: '/json-schema' },
        { text: 'Grammars', link: '/grammars' },
        { text: 'Evidence', link: '/evidence' },
        { text: 'Decisions', link: '/decisions' },
        { text: 'Extractions', link: '/extractions' },
        { text: 'Platforms', link: '/platforms' },
        { text: 'Browsers', link: '/browsers' },
        { text: 'Bundlers', link: '/bundlers' },
        { text: 'Clients', link: '/clients' },
        { text: 'Benchmarks', link: '/benchmarks' },
        { text: 'How fast on which device', link: '/SCALING' },
        { text: 'How it works', link: '/how-it-works' },
        { text: 'A token mask, step by step', link: '/masks' },
        { text: 'The decode loop, step by step', link: '/decode' },
        { text: 'Adding a part', link: '/adding' },
      ],
    },
  ]
}

/** The pages of a folder by their own titles; `order` of a page's front matter says where it stands. */
function pagesOf(docs: string, folder: string): PageLink[] {
  return pageNames(join(docs, folder))
    .map((name) => {
      const text = readFileSync(join(docs, folder, `${name}.md`), 'utf8')
      const title = /^# (.*)$/m.exec(text)?.[1] ?? name
      return { order: Number(/^order: (\d+)$/m.exec(text)?.[1] ?? 99), text: title, link: `/${folder}/${name}` }
    })
    .sort((a, b) => a.order - b.order)
    .map(({ text, link }) => ({ text, link }))
}

/** Of a folder that is not written yet none. */
function pageNames(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith('.md'))
      .map((name) => name.slice(0, -3))
  } catch {
    return []
  }
}
