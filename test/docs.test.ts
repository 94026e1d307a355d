import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path/posix'
import { describe, expect, test } from 'vitest'
import { pages } from '../scripts/install-lines.js'

const root = new URL('../', import.meta.url)
const { scripts } = JSON.parse(textOf('package.json')) as { scripts: Readonly<Record<string, string>> }
const PAGES = ['README.md', 'CONTRIBUTING.md', 'RELEASING.md', ...pages()]

/** `src/…` and the like, alone between backticks. */
const PATH = /`((?:src|test|adapters|apps|scripts|bench|docs|examples|models)\/[\w./-]*)`/g
/** Those that scripts make. */
const MADE = ['docs/reference', 'apps/playground/dist']
const LINK = /\]\(([^)\s]+)\)/g
const SCRIPT = /npm run ([\w:-]*\w)(?![\w:.])/g

/** Sentences about what a page names and is not there. */
function missing(page: string, text: string): string[] {
  const prose = text.replace(/^```[\s\S]*?^```/gm, '')
  const paths = found(PATH, text).filter((path) => !MADE.includes(path) && !isThere(path))
  const links = found(LINK, prose).filter((link) => !/^[a-z]+:/.test(link) && !leads(page, link))
  const commands = found(SCRIPT, text).filter((name) => !Object.hasOwn(scripts, name))
  return [...paths, ...links, ...commands.map((name) => `npm run ${name}`)]
}

const found = (pattern: RegExp, text: string) => [...new Set([...text.matchAll(pattern)].map(([, name]) => name!))]
const isThere = (path: string) => existsSync(new URL(path, root))

/** Whether a link of a page leads to a file of ours, and to a heading in it where it names one. */
function leads(page: string, link: string): boolean {
  const [path = '', heading] = link.split('#')
  const file = path === '' ? page : normalize(join(dirname(page), path))
  if (!isThere(file)) return false
  if (heading === undefined) return true
  const headings = textOf(file).matchAll(/^#+ (.*)$/gm)
  const onSite = [page, file].every((each) => each.startsWith('docs/'))
  return [...headings].some(([, title]) => (onSite ? onTheSite(title!) : onGitHub(title!)) === heading)
}

/** How a heading is named in an address: by VitePress, and by GitHub. */
const plain = (title: string) =>
  title
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .trim()
    .toLowerCase()
const onTheSite = (title: string) =>
  plain(title)
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '')
const onGitHub = (title: string) =>
  plain(title)
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

test.each(PAGES)('every path, link and script that %s names is there', (page) => {
  expect(missing(page, textOf(page))).toEqual([])
})

describe('what is not there', () => {
  test.each([
    ['a path', 'see `src/nowhere.ts`', 'src/nowhere.ts'],
    ['a path in a table', '| `apps/nowhere` |', 'apps/nowhere'],
    ['a file', '[x](guides/nowhere.md)', 'guides/nowhere.md'],
    ['a file above', '[x](../nowhere.md#terms)', '../nowhere.md#terms'],
    ['a heading of another page', '[x](how-it-works.md#nowhere)', 'how-it-works.md#nowhere'],
    ['a heading of its own', '[x](#nowhere)', '#nowhere'],
    ['a script', '`npm run check:nowhere -- x`', 'npm run check:nowhere'],
  ])('is found out: %s', (_, text, named) => {
    expect(missing('docs/interface.md', text)).toEqual([named])
  })

  test('is not what is', () => {
    const text =
      '`src/index.ts` [x](how-it-works.md#a-chat-request) [y](../README.md) `npm run check:...` [z](https://a.b/c) `npm run lint`.'
    expect(missing('docs/interface.md', text)).toEqual([])
  })
})

/** What listens, with the beginning of what it is told. */
const listening = (text: string) =>
  [...text.matchAll(/(?:\b(?:Deno|Bun)\.serve|^serve|\.listen)\([\s\S]{1,120}/gm)].map(([call]) => call)

test('whatever is shown listens on this machine alone', () => {
  const shown = [
    'README.md',
    'CONTRIBUTING.md',
    'RELEASING.md',
    ...['docs', 'examples', 'adapters'].flatMap(filesBelow),
  ]
  const calls = shown
    .filter((name) => /\.(md|ts|tsx|mjs)$/.test(name) && !/\.test(-helper)?\.ts$/.test(name))
    .flatMap((name) => listening(textOf(name)).map((call) => ({ name, call })))
  expect(calls.length).toBeGreaterThan(8)
  expect(calls.filter(({ call }) => !call.includes("'127.0.0.1'"))).toEqual([])
})

test('and what listens on every address would be found', () => {
  expect(listening('x\nDeno.serve(deno(v1))\n')).toHaveLength(1)
  expect(listening('app.listen(8080)')).toHaveLength(1)
  expect(listening('serve({ fetch: app.fetch })')).toHaveLength(1)
})

function filesBelow(folder: string): string[] {
  return readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' })
    .filter((name) => !name.includes('node_modules'))
    .map((name) => `${folder}/${name}`)
}

function textOf(name: string): string {
  return readFileSync(new URL(name, root), 'utf8')
}
