/**
 * The documentation for those who let a machine read, beside the site's own pages: `llms.txt`, which says in a line what
 * each page is about, and every page as Markdown under its address with `.md`. `npm run docs` writes them, into
 * docs/.vitepress/dist.
 */
import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { sectionsOf } from '../docs/.vitepress/sections.js'
import { packages } from './install-lines.js'
import { SOURCE_ARCHIVE } from './source.js'

const docs = fileURLToPath(new URL('../docs', import.meta.url))

const FRONT = /^---\n([\s\S]*?)\n---\n/

/** A page without its front matter, with what it includes from elsewhere in the repository. */
export function pageText(path: string): string {
  const text = readFileSync(path, 'utf8').replace(FRONT, '')
  return text
    .replace(/<!--@include: (\S+)-->/g, (_, from: string) => readFileSync(join(dirname(path), from), 'utf8'))
    .replace(/(?<=\]\()[^)\s]+/g, (link) => atSite(link, '.md'))
}

/** A link to a file that one of the pages includes is a link to that page. */
export const atSite = (link: string, ending: string): string =>
  link
    .replace(/^(?:\.\.\/)+bench\/RESULTS\.md/, `/benchmarks${ending}`)
    .replace(/^(?:\.\.\/)+bench\/SCALING\.md/, `/SCALING${ending}`)

/** What a page says of itself: its description, else its first sentence. */
export function aboutPage(source: string): string {
  const described = /^description: '(.*)'$/m.exec(FRONT.exec(source)?.[1] ?? '')?.[1]
  if (described !== undefined) return described.replaceAll("''", "'")
  const prose = source.split('\n').find((line) => /^[A-Z`*[]/.test(line)) ?? ''
  const plain = prose.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
  return /^(?:`[^`]*`|[^`])*?\.(?=\s|$)/.exec(plain)?.[0] ?? plain
}

/** The same of a page that lies there, which may be nothing but what it includes. */
export function aboutPageAt(path: string): string {
  const source = readFileSync(path, 'utf8')
  return aboutPage(FRONT.test(source) ? source : pageText(path))
}

/** Pages that other pages name and no section has. */
const FIRST = [
  { text: 'What it is, and how to install it', link: '/index' },
  { text: 'Try it', link: '/try' },
]

/** All files, by their paths in the site. */
export function machineReadable(folder = docs): Map<string, string> {
  const files = new Map<string, string>()
  const lines = [
    '# local-v1',
    '',
    "> An embeddable TypeScript library that serves an OpenAI-compatible `/v1` on the user's own device: language models on WebGPU or the CPU, with JSON that always satisfies the caller's schema. Nothing that is sent leaves the machine.",
    '',
    'Start with [the page for coding agents](/guides/for-agents.md). Every page of this site is also available as Markdown: add `.md` to its address.',
    ...(packages().note === ''
      ? []
      : [
          '',
          `The packages are not on npm yet: install them from [the source](/${SOURCE_ARCHIVE}), as each page says.`,
        ]),
  ]
  for (const { text: title, items } of [{ text: 'First pages', items: FIRST }, ...sectionsOf(folder)]) {
    if (items.length === 0) continue
    lines.push('', `## ${title}`, '')
    for (const { text, link } of items) {
      const path = join(folder, `${link}.md`)
      files.set(`${link}.md`, pageText(path))
      lines.push(`- [${text}](${link}.md): ${aboutPageAt(path)}`)
    }
  }
  files.set('/llms.txt', `${lines.join('\n')}\n`)
  return files
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const files = machineReadable()
  for (const [path, text] of files) {
    const file = join(docs, '.vitepress/dist', path)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, text)
  }
  console.log(`${files.size} files for machines`)
}
