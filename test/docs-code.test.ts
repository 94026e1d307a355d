import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { referencePages } from '../scripts/reference.js'
import { wordPieces } from '../src/generate/testing/word-pieces.test-helper.js'
import { bge } from './oracles/encoders/bert.js'
import { writeEncoder } from './oracles/files/repository.js'
import { type CodeBlock, codeBlocks, pagesIn, runnable } from './support/code-blocks.js'
import { expectTyped } from './support/types-of-examples.js'

/**
 * The code of the documentation site. After its language a block says what holds it: `node` (it runs, and prints what it
 * says; `node on` goes on where the one before it ended), `check` (the types allow it), `cli` (the command line knows
 * it), `step` (`npm run check:newcomer` follows it).
 */
const run = promisify(execFile)
const root = fileURLToPath(new URL('..', import.meta.url))
const out = join(root, 'test-output/docs')
const LESSONS = ['docs/masks.md', 'docs/decode.md']
const pages = [...LESSONS, ...['start', 'guides', 'recipes'].flatMap((folder) => pagesIn(root, `docs/${folder}`))]
const blocks = pages.flatMap((page) =>
  joined(codeBlocks(readFileSync(join(root, page), 'utf8'))).map((block) => ({ page, ...block })),
)

/** Blocks that go on are one with those before them. */
function joined(blocks: readonly CodeBlock[]): CodeBlock[] {
  const all: CodeBlock[] = []
  for (const block of blocks) {
    const before = all.at(-1)
    if (block.words[1] === 'on' && before) all[all.length - 1] = { ...before, code: `${before.code}\n${block.code}` }
    else all.push(block)
  }
  return all
}

const held = (how: string) => blocks.filter(({ words }) => words[0] === how)
const fileOf = ({ page, line, language }: CodeBlock & { page: string }) =>
  join(out, `${page.replaceAll('/', '-')}-${line}.${language}`)

/** What the pages' models are in the tests: made-up weights, where Hugging Face's own libraries would keep them. */
const hub = join(out, 'hub')

async function writeHub(): Promise<void> {
  const revision = '0'.repeat(40)
  for (const { id, of } of [{ id: 'BAAI/bge-small-en-v1.5', of: bge }]) {
    const at = `${hub}/models--${id.replace('/', '--')}`
    await mkdir(`${at}/refs`, { recursive: true })
    await writeFile(`${at}/refs/main`, revision)
    await writeEncoder(of, `${at}/snapshots/${revision}`, wordPieces())
  }
}

describe('the documentation', () => {
  beforeAll(async () => {
    await rm(out, { recursive: true, force: true })
    await mkdir(out, { recursive: true })
    await writeHub()
    for (const block of [...held('node'), ...held('check')]) {
      await writeFile(fileOf(block), `${block.code}${block.words[0] === 'check' ? '\nexport {}\n' : ''}`)
    }
  })

  it('has pages, and no code that nothing holds', () => {
    expect(pages.length).toBeGreaterThan(15)
    const loose = blocks.filter(
      ({ language, words }) => language !== 'txt' && !/^(node|check|cli|step)$/.test(words[0] ?? ''),
    )
    expect(loose.map(({ page, line }) => `${page}:${line}`)).toEqual([])
  })

  it('has only code that the types allow', async () => {
    await expectTyped(root, [...held('node'), ...held('check')].map(fileOf))
  })

  it.each(held('node').map((block) => [`${block.page}:${block.line}`, block] as const))('%s runs', async (_, block) => {
    const { stdout } = await run(process.execPath, [await runnable(fileOf(block), block.code)], {
      cwd: root,
      env: { ...process.env, NO_COLOR: '1', HF_HUB_CACHE: hub },
      timeout: 240_000,
    })
    const promised = [...block.code.matchAll(/^\/\/ prints (.*)$/gm)].map(([, text]) => text)
    expect(promised.length).toBeGreaterThan(0)
    expect(stdout.trim()).toBe(promised.join('\n'))
  })

  it('has only commands and options that the command line knows', async () => {
    const commands = held('cli').flatMap(({ code }) =>
      [...code.matchAll(/^npx (?:--no )?local-v1 (.*)$/gm)].map(([, words]) => words!),
    )
    expect(commands.length).toBeGreaterThan(0)
    for (const command of commands) {
      const words = command.split(' ')
      const names = words[0] === 'models' ? words.slice(0, 2) : words.slice(0, 1)
      const { stdout } = await run(process.execPath, ['dist/cli.js', ...names, '--help'], { cwd: root })
      expect(stdout, command).toContain(`local-v1 ${names.join(' ')}`)
      for (const option of words.filter((word) => word.startsWith('--'))) expect(stdout, command).toContain(option)
    }
  })

  it('has a cure for every code of an error', () => {
    const sources = ['src', 'adapters'].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => `${folder}/${name}`),
    )
    const codes = sources
      .filter((path) => !/\.test(-helper)?\.ts$/.test(path))
      .flatMap((path) => [...readFileSync(join(root, path), 'utf8').matchAll(/\bcode: '([a-z_]+)'/g)])
      .map(([, code]) => code!)
    const page = readFileSync(join(root, 'docs/guides/errors.md'), 'utf8')
    expect([...new Set(codes)].filter((code) => !page.includes(`\`${code}\``))).toEqual([])
  })

  it('tells every option and type of every entry point, in words', async () => {
    const pages = await referencePages()
    const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { exports: object }
    expect(pages.size).toBe(Object.keys(exports).length - ['./package.json', './browser'].length)
    const bare: string[] = []
    for (const [name, page] of pages) {
      for (const part of page.split(/^## /m).slice(1)) {
        const [head, body = ''] = part.split('\n\n')
        // A function or an option without a word is no help; what a type is, its text may say.
        if (/^```ts\nfunction/.test(body)) bare.push(`${name}: ${head}`)
        for (const [, option, words] of /Options/.test(head!)
          ? part.matchAll(/^\| `(\w+\??)` \| .* \| (.*) \|$/gm)
          : [])
          if (words!.trim() === '') bare.push(`${name}: ${head}.${option}`)
      }
    }
    expect(bare).toEqual([])
  })

  it('has links that lead somewhere', () => {
    const broken = pages.flatMap((page) =>
      [...readFileSync(join(root, page), 'utf8').matchAll(/\]\((\.{1,2}\/[^)#]+)\)/g)]
        .map(([, link]) => join(dirname(page), link!))
        .filter((path) => !existsSync(join(root, path)) && !existsSync(join(root, `${path}.md`))),
    )
    expect(broken).toEqual([])
  })
})
