import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runnable } from './support/code-blocks.js'
import { printed, type Running, start } from './support/spawn.js'
import { expectTyped } from './support/types-of-examples.js'

/**
 * The README's code runs. A block says after its language what runs it (`ts node`, `ts server`, `ts check`,
 * `sh server`, `json answer`); one that says nothing fails, so that no block is left out by accident.
 */

const run = promisify(execFile)
const root = new URL('..', import.meta.url)
const readme = readFileSync(new URL('README.md', root), 'utf8')

interface Block {
  readonly line: number
  readonly runner: string
  readonly code: string
}

const blocks: Block[] = [...readme.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)].map((match) => ({
  line: readme.slice(0, match.index).split('\n').length,
  runner: match[1]!.trim(),
  code: match[2]!,
}))
const of = (runner: string) => blocks.filter((block) => block.runner === runner)

/** A copy inside the package, where `local-v1` is this package's own build. */
async function asFile({ line, code }: Block, ending = ''): Promise<string> {
  await mkdir(new URL('test-output/readme/', root), { recursive: true })
  const file = new URL(`test-output/readme/line-${line}.ts`, root)
  await writeFile(file, code + ending)
  return file.pathname
}

describe('README', () => {
  it('has a runner for every block', () => {
    const known = ['sh install', 'sh test', 'sh server', 'json answer', 'ts node', 'ts server', 'ts check']
    for (const block of blocks) expect(known, `line ${block.line}`).toContain(block.runner)
  })

  it('shows what its first example of the client prints', () => {
    expect(of('ts node')[0]?.code).toMatch(/^\/\/ prints \{/m)
  })

  it('opens with the two commands', () => {
    expect(of('sh install').map(({ code }) => code.trim())).toEqual(['npm install && npm start'])
    expect(of('sh test').map(({ code }) => code.trim())).toEqual(['npm install && npm test'])
  })

  it('is read at one go: under 200 lines, none of them long', () => {
    const lines = readme.split('\n')
    expect(lines.length).toBeLessThan(200)
    expect(lines.filter((line) => line.length > 300)).toEqual([])
  })

  it('has only code that the types allow', async () => {
    const files = await Promise.all(
      blocks.filter(({ runner }) => runner.startsWith('ts ')).map((block) => asFile(block, '\nexport {}\n')),
    )
    await expectTyped(root, files)
  })

  describe('quick start', () => {
    let server: Running
    let url: string

    beforeAll(async () => {
      const { scripts } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as {
        scripts: Record<string, string>
      }
      const [node, ...args] = scripts.start!.split(' ')
      expect(node).toBe('node')
      // What `npm start` runs, on a port that is free here.
      server = start(process.execPath, [...args, '--port', '0'], { NO_COLOR: '1' })
      url = await printed(server, /url\s+(http:\/\/127\.0\.0\.1:\d+)/)
    })
    afterAll(() => server.stop())

    const cases = of('sh server').map((command, i) => [command.line, command, of('json answer')[i]] as const)

    it.each(cases)('line %i is answered with what is printed below it', async (_, { code }, answer) => {
      const { stdout } = await run('bash', ['-c', code.replaceAll('http://127.0.0.1:8080', url)])
      expect(JSON.parse(stdout)).toEqual(JSON.parse(answer!.code))
    })

    it.each(of('ts node').map((block) => [block.line, block] as const))('line %i runs in Node', async (_, block) => {
      const code = block.code.replaceAll('http://127.0.0.1:8080', url)
      const file = await runnable(await asFile({ ...block, code }), code)
      const env = { ...process.env, README_TEST: '1', NO_COLOR: '1' }
      const { stdout } = await run(process.execPath, [file], { cwd: root, env, timeout: 240_000 })
      const promised = [...block.code.matchAll(/^\/\/ prints (.*)$/gm)].map(([, text]) => text)
      if (promised.length > 0) expect(stdout.trim()).toBe(promised.join('\n'))
    })
  })

  it.each(of('ts server').map((block) => [block.line, block] as const))('line %i serves in Node', async (_, block) => {
    // On a port that is free here; it prints its address once it listens.
    const code = block.code.replace('listen(8080', 'listen(0')
    const server = start(process.execPath, [await runnable(await asFile({ ...block, code }), code)])
    await printed(server, /(http:)/)
    await server.stop()
  })
})
