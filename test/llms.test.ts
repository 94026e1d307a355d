import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { aboutPage, machineReadable, pageText } from '../scripts/llms.js'
import { pagesIn } from './support/code-blocks.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const files = machineReadable()
const list = files.get('/llms.txt')!
const links = [...list.matchAll(/^- \[(.+?)\]\((\/.+?\.md)\): (.*)$/gm)].map(([, title, link, about]) => ({
  title,
  link: link!,
  about: about!,
}))

describe('the documentation for machines', () => {
  it('lists every page of the start, the guides and the recipes', () => {
    const pages = ['start', 'guides', 'recipes'].flatMap((folder) => pagesIn(root, `docs/${folder}`))
    expect(links.map(({ link }) => `docs${link}`)).toEqual(expect.arrayContaining(pages))
  })

  it('has each page that it lists, once, and says what it is about', () => {
    expect(new Set(links.map(({ link }) => link)).size).toBe(links.length)
    expect([...files.keys()].filter((path) => path !== '/llms.txt').sort()).toEqual(
      links.map(({ link }) => link).sort(),
    )
    for (const { link, about } of links) expect(about, link).toMatch(/\S.{15,}/)
  })

  it('begins as llmstxt.org says: a title, then what it is in a quotation', () => {
    expect(list).toMatch(/^# local-v1\n\n> \S/)
    expect(existsSync(join(root, 'docs/guides/for-agents.md'))).toBe(true)
    expect(list).toContain('(/guides/for-agents.md)')
  })

  it('has pages whole: without front matter, and with what they include', () => {
    for (const [path, text] of files) {
      expect(text, path).not.toMatch(/^---\n/)
      expect(text, path).not.toContain('@include')
    }
    expect(files.get('/benchmarks.md')).toContain('# ')
    expect(files.get('/guides/strict-json.md')).toContain('```ts node')
  })
})

describe('a page', () => {
  const made: string[] = []
  afterAll(() => Promise.all(made.map((folder) => rm(folder, { recursive: true }))))

  async function page(text: string, beside: Record<string, string> = {}): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'local-v1-llms-'))
    made.push(folder)
    await mkdir(join(folder, 'docs'))
    for (const [name, content] of Object.entries(beside)) await writeFile(join(folder, name), content)
    await writeFile(join(folder, 'docs/page.md'), text)
    return pageText(join(folder, 'docs/page.md'))
  }

  it('takes in what it names', async () => {
    expect(await page('---\norder: 1\n---\n# A\n\n<!--@include: ../b.md-->\n', { 'b.md': 'B here' })).toBe(
      '# A\n\nB here\n',
    )
  })

  it.each([
    ['its description', "---\norder: 1\ndescription: 'What it''s for.'\n---\n# T\n\nIt begins. So.", "What it's for."],
    ['its first sentence', '# T\n\nIt does `a. b` and [more](./x.md). And another.', 'It does `a. b` and more.'],
  ])('says what it is about by %s', (_, source, about) => expect(aboutPage(source)).toBe(about))

  it('of the start, the guides and the recipes has a description', () => {
    for (const path of ['start', 'guides', 'recipes'].flatMap((folder) => pagesIn(root, `docs/${folder}`)))
      expect(readFileSync(join(root, path), 'utf8'), path).toMatch(/^---\n(?:.*\n)*description: '.{20,150}'\n/)
  })
})
