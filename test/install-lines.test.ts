import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { installs, noteFor, packages, pages, withPackages } from '../scripts/install-lines.js'
import { codeBlocks } from './support/code-blocks.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const textOf = (page: string) => readFileSync(join(root, page), 'utf8')

describe('how the documentation installs local-v1', () => {
  it.each(pages())('%s says what docs/packages.json says (npm run docs:install)', (page) => {
    expect(withPackages(page, textOf(page), packages())).toBe(textOf(page))
  })

  it('is changed in one place, and back', () => {
    const published = { 'local-v1': 'local-v1', 'local-v1-nano': 'local-v1-nano', npx: 'npx local-v1', note: '' }
    const installing = pages().filter((page) => codeBlocks(textOf(page)).some(({ code }) => installs(code)))
    expect(installing.length).toBeGreaterThan(10)
    for (const page of installing) {
      const later = withPackages(page, textOf(page), published)
      expect(later).toMatch(/^(npm install|bun add) local-v1 local-v1-nano( |$)/m)
      expect(later).not.toContain(noteFor(page, packages()))
      expect(withPackages(page, later, packages())).toBe(textOf(page))
    }
  })

  it('has no option of ours right behind the name, which npx --no would take for one of npm', () => {
    for (const page of pages()) expect(textOf(page), page).not.toMatch(/npx --no local-v1 -/)
  })

  it('fetches nothing under our names while they are not ours', () => {
    if (packages().note === '') return
    for (const page of pages()) {
      for (const { code, line } of codeBlocks(textOf(page))) {
        expect(code, `${page}:${line}`).not.toMatch(/npx local-v1|(install|add)[^\n]* local-v1(-nano)?( |$)/m)
      }
    }
  })
})
