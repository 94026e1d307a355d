/** The code that a table is given away as does what the table does: each is run, over texts of a table of the page. */
import { execFile, spawnSync } from 'node:child_process'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Place } from '../../apps/playground/page/code.js'
import { tableCode } from '../../apps/playground/page/table/code.js'
import { tableExamples } from '../../apps/playground/page/table/examples.js'
import { bodyFor } from '../../apps/playground/page/table/filling.js'
import { bundle } from '../support/bundle.js'
import { sharedChromium } from '../support/chromium.js'
import { PROGRAM } from '../support/cli.js'
import { filesIn } from '../support/folder.js'
import { ownFolder } from '../support/own-folder.js'
import { type Listening, serveFiles } from '../support/serve.js'
import { printed, type Running, start } from '../support/spawn.js'
import { canUnpack } from '../support/unpack.js'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../', import.meta.url))
const has = (program: string, ...args: string[]) => spawnSync(program, args).status === 0
const hasCurl = has('curl', '--version')
const hasPython = has('python3', '--version')

const MODEL = 'local-v1/nano'
const { sentence, fields, texts } = tableExamples[0]!
/** What a shell, a program and a page each write in a way of their own. */
const wanted = { sentence: `${sentence.slice(0, -1)},\nas it's "said" \\ there.`, fields }

/** What the Python client does of itself, of Python's own library, for where it is not installed. */
const STAND_IN = `
import json, types, urllib.request
def named(value):
    if isinstance(value, dict):
        return types.SimpleNamespace(**{key: named(each) for key, each in value.items()})
    return [named(each) for each in value] if isinstance(value, list) else value
class OpenAI:
    def __init__(self, base_url, api_key):
        self.base_url, self.api_key = base_url, api_key
        self.chat = types.SimpleNamespace(completions=self)
    def create(self, **body):
        headers = {"content-type": "application/json", "authorization": "Bearer " + self.api_key}
        request = urllib.request.Request(self.base_url + "/chat/completions", json.dumps(body).encode(), headers)
        return named(json.load(urllib.request.urlopen(request)))
`

type Document = Readonly<Record<string, unknown>>

describe('the code of a table', () => {
  const folder = ownFolder()
  let pages: Listening
  let serving: Running
  let origin: string
  const files: Record<string, string | Uint8Array> = {}
  /** As the page itself asks for it, a row for each text. */
  let rows: readonly Document[]

  const codeOf = (name: string, place: Partial<Place> = {}) => {
    const request = { wanted, model: MODEL, evidence: true, limit: { max_tokens: 400 }, text: texts[0]! }
    return tableCode(request, { project: '', origin, served: true, ...place }).find((each) => each.name === name)!.code
  }

  beforeAll(async () => {
    await mkdir(join(folder, 'node_modules/.bin'), { recursive: true })
    await symlink(PROGRAM, join(folder, 'node_modules/.bin/local-v1'))
    for (const [i, text] of texts.entries()) await writeFile(join(folder, `${i}.txt`), text)
    pages = await serveFiles(files)
    const command = [PROGRAM, 'serve', '--device', 'cpu', '--port', '0', '--cors', pages.origin]
    serving = start(process.execPath, command, { NO_COLOR: '1' })
    origin = await printed(serving, /url\s+(http:\/\/127\.0\.0\.1:\d+)\/v1/)
    rows = await Promise.all(
      texts.map(async (text) => {
        const body = JSON.stringify(bodyFor(text, wanted, MODEL, true))
        const headers = { 'content-type': 'application/json' }
        const response = await fetch(`${origin}/v1/chat/completions`, { method: 'POST', headers, body })
        const { choices } = (await response.json()) as { choices: { message: { content: string } }[] }
        return JSON.parse(choices[0]!.message.content) as Document
      }),
    )
    expect(rows.map(({ stars }) => stars)).toEqual([4, 2, 5, 3, 1, 5])
  })
  afterAll(async () => {
    await serving?.stop()
    await pages?.close()
  })

  test.skipIf(!hasCurl)('for curl answers the first text, with how sure each value is (needs curl)', async () => {
    const { stdout } = await run('bash', ['-c', codeOf('curl')], { cwd: folder })
    const [choice] = (JSON.parse(stdout) as { choices: { message: { content: string }; evidence: object }[] }).choices
    expect(JSON.parse(choice!.message.content)).toEqual(rows[0])
    expect(Object.keys(choice!.evidence).sort()).toEqual(fields.map(({ name }) => `/${name}`).sort())
  })

  test('for the terminal writes a line for each file', async () => {
    await run('bash', ['-c', codeOf('Terminal')], { cwd: folder })
    const lines = (await readFile(join(folder, 'rows.jsonl'), 'utf8')).trim().split('\n')
    expect(lines.map((line) => JSON.parse(line))).toEqual(rows.map((row, i) => ({ file: `${i}.txt`, ...row })))
  })

  test.skipIf(!hasPython)('for Python prints a line for each file (needs python3)', async () => {
    await writeFile(join(folder, 'table.py'), codeOf('Python'))
    if (!has('python3', '-c', 'import openai')) await writeFile(join(folder, 'openai.py'), STAND_IN)
    const names = texts.map((_, i) => `${i}.txt`)
    const { stdout } = await run('python3', ['table.py', ...names], { cwd: folder })
    const lines = stdout.trim().split('\n')
    expect(lines.map((line) => JSON.parse(line))).toEqual(rows)
  })

  describe.skipIf(!canUnpack)('for React (npm has Chromium for Linux on x64)', () => {
    test.each([
      ['that asks a server', true],
      ['with the model in its own page', false],
    ])('renders a row for each text in a page %s', async (_, served) => {
      await writeFile(join(folder, 'table.tsx'), codeOf('React', { served }))
      const page = `
          import { StrictMode } from 'react'
          import { createRoot } from 'react-dom/client'
          import { Table } from ${JSON.stringify(join(folder, 'table.tsx'))}
          const texts = ${JSON.stringify(texts)}
          createRoot(document.querySelector('main')!).render(<StrictMode><Table texts={texts} /></StrictMode>)`
      const { outputFiles } = await build({
        stdin: { contents: page, loader: 'tsx', resolveDir: root },
        tsconfig: join(root, 'examples/tsconfig.json'),
        nodePaths: [join(root, 'node_modules')],
        alias: {
          'local-v1/extract': join(root, 'adapters/extract.ts'),
          'local-v1/service-worker': join(root, 'adapters/service-worker/index.ts'),
        },
        bundle: true,
        format: 'esm',
        jsx: 'automatic',
        target: 'es2022',
        write: false,
        external: ['node:*'],
        // React warns of what is wrong in its development build alone.
        define: { 'process.env.NODE_ENV': '"development"' },
      })
      const html = '<!doctype html><title>table</title><main></main><script type="module" src="/page.js"></script>'
      Object.assign(files, { '/index.html': html, '/page.js': outputFiles[0]!.contents })
      if (!served) {
        files['/v1.js'] = await bundle('test/browser/nano-worker.ts')
        const nano = await filesIn(join(root, 'models/nano'))
        for (const [path, bytes] of Object.entries(nano)) files[`/nano${path}`] = bytes
      }
      const browser = await sharedChromium()
      try {
        const tab = await browser.newPage()
        const faults: string[] = []
        tab.on('pageerror', (error) => faults.push(error.message))
        tab.on('console', (message) => {
          // A page of this test has no icon.
          if (message.type() === 'error' && !/favicon/.test(message.location().url)) faults.push(message.text())
        })
        await tab.goto(pages.origin)
        const cells = () =>
          tab.locator('tbody tr').evaluateAll((all) => all.map((row) => [...row.children].map((td) => td.textContent)))
        const expected = rows.map((row) => fields.map(({ name }) => String(row[name])))
        await expect.poll(cells, { timeout: 90_000 }).toEqual(expected)
        expect(await tab.locator('thead th').allTextContents()).toEqual(fields.map(({ name }) => name))
        expect(faults).toEqual([])
      } finally {
        await browser.close()
      }
    })
  })
})
