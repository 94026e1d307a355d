import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { publicTypes } from '../scripts/public-types.js'
import { passedAsItIs } from './support/packed.js'

const run = promisify(execFile)
const root = new URL('..', import.meta.url)
const manifest = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as {
  exports: Record<string, { types: string; default: string } | string>
  peerDependencies: Record<string, string>
  scripts: Record<string, string>
}
const entries = Object.entries(manifest.exports).flatMap(([name, target]) =>
  typeof target === 'string' ? [] : [{ name, ...target }],
)

/** What each entry may cost who takes all of it, compressed: what is added to one is seen here. */
const LIMITS: Readonly<Record<string, number>> = {
  // The grammar engine is two thirds of it; all endpoints together are the rest.
  '.': 228_000,
  './browser': 594_000,
  // What points at values, and the readers of numbers and dates.
  './core': 507_500,
  './webgpu': 507_500,
  './webllm': 235_500,
  './webllm/worker': 243_500,
  './llama-cpp': 259_000,
  './structured': 110_000,
  './messages': 26_500,
  './ollama': 33_500,
  './service-worker': 11_500,
  './express': 7_400,
  './fastify': 7_400,
  './upstream': 11_000,
  './react': 7_500,
  './prompt-api': 4_500,
  './vite': 3_000,
  './extract': 3_800,
  './ai-sdk': 3_150,
  './testing': 2_000,
  './next': 1_600,
  './hono': 1_000,
  './deno': 1_000,
}

/** What runs in servers and build tools alone. */
const OF_NODE = new Set(['./express', './fastify', './vite', './next'])

/** What stands beside a service or asks one, and loads none itself. */
const SLIGHT = [
  ...[
    './react',
    './ai-sdk',
    './express',
    './fastify',
    './hono',
    './next',
    './deno',
    './vite',
    './extract',
    './service-worker',
  ],
  ...['./prompt-api', './upstream', './testing'],
]

/** All files that a runtime reads before an entry can be used: what it imports, and what that imports. */
function loadedBy(file: URL, seen = new Map<string, Buffer>()): Map<string, Buffer> {
  if (seen.has(file.href)) return seen
  const code = readFileSync(file)
  seen.set(file.href, code)
  const imports = /^(?:import|export)\b(?:[^'"]*?\bfrom)?\s*["'](\.[^"']+)["']/gm
  for (const [, path] of code.toString().matchAll(imports)) loadedBy(new URL(path!, file), seen)
  return seen
}

const bundles = new Map<string, ReturnType<typeof bundle>>()

/** One entry with everything it imports, as a page gets it. */
function bundled(entry: string, platform: 'browser' | 'node' = 'browser') {
  const key = `${platform} ${entry}`
  const made = bundles.get(key) ?? bundle(entry, platform)
  bundles.set(key, made)
  return made
}

function bundle(entry: string, platform: 'browser' | 'node') {
  return build({
    entryPoints: [new URL(entry, root).pathname],
    bundle: true,
    minify: true,
    format: 'esm',
    platform,
    write: false,
    metafile: true,
    logLevel: 'error',
    // The optional peers are asked for only where they are installed.
    external: ['node:*', ...Object.keys(manifest.peerDependencies)],
  })
}

describe.skipIf(passedAsItIs('test/package.test.ts'))('the built package', () => {
  let folder: string
  let packed: { filename: string; size: number; files: { path: string }[] }
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'local-v1-pack-'))
    // Without scripts: `prepack` would build anew, under the feet of tests that use the build.
    const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder]
    ;[packed] = JSON.parse((await run('npm', pack, { cwd: root })).stdout) as [typeof packed]
  })
  afterAll(() => rm(folder, { recursive: true }))

  it('has every file that its exports name', async () => {
    for (const { types, default: file } of entries) {
      expect((await stat(new URL(types, root))).size).toBeGreaterThan(0)
      expect((await stat(new URL(file, root))).size).toBeGreaterThan(0)
    }
  })

  it('has the core under two names: it runs on processors too', () => {
    expect(manifest.exports['./core']).toEqual(manifest.exports['./webgpu'])
  })

  it('asks nobody who installs its file to allow a script: what builds a clone is run in a clone alone', () => {
    const asked = ['preinstall', 'install', 'postinstall', 'prepare'].filter((name) => name in manifest.scripts)
    expect([asked, manifest.scripts.postprepare]).toEqual([[], 'npm run build'])
  })

  it('exports these names and no others', async () => {
    const names: Record<string, string[]> = {}
    for (const { name, default: file } of entries) {
      names[name] = Object.keys((await import(new URL(file, root).href)) as object).sort()
    }
    expect(names).toMatchSnapshot()
  })

  // The file for plain pages has all that others have.
  const inOrder = [...entries].sort((a, b) => Number(a.name === './browser') - Number(b.name === './browser'))
  const types = publicTypes(inOrder.map(({ name, types }) => [name, fileURLToPath(new URL(types, root))]))
  it.each([...types])('gives these types, and changes them only where it says so: %s', async (name, text) => {
    const file = name === '.' ? 'index' : name.slice(2).replaceAll('/', '-')
    await expect(text).toMatchFileSnapshot(`__snapshots__/types/${file}.d.ts.txt`)
  })

  it('is in order for package managers', async () => {
    const { messages } = await publint({ pkgDir: root.pathname, strict: true })
    expect(messages.map((message) => formatMessage(message, manifest))).toEqual([])
  })

  it.each(['package.json', 'models/nano/package.json'])(
    'is published as it stands: npm corrects nothing in %s',
    async (path) => {
      const folder = await mkdtemp(join(tmpdir(), 'local-v1-fix-'))
      try {
        const written = readFileSync(new URL(path, root), 'utf8')
        await writeFile(join(folder, 'package.json'), written)
        await run('npm', ['pkg', 'fix'], { cwd: folder })
        expect(JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))).toEqual(JSON.parse(written))
      } finally {
        await rm(folder, { recursive: true })
      }
    },
  )

  it('has types that resolve the way its code does', async () => {
    // It exits with 1 where something does not resolve; the profile leaves out what only CommonJS would ask for.
    const attw = ['attw', join(folder, packed.filename), '--profile', 'esm-only', '--format', 'ascii']
    await run('npx', attw, { cwd: root }).catch(({ stdout }: { stdout: string }) => expect.fail(stdout))
  }, 600_000)

  const inBrowsers = entries.filter(({ name }) => name !== './express' && name !== './fastify' && name !== './vite')
  it.each(inBrowsers.map(({ name, default: file }) => [name, file] as const))(
    '%s imports nothing of Node where a browser loads it',
    async (_, file) => {
      const { metafile } = await bundled(file)
      const outside = Object.values(metafile.outputs).flatMap(({ imports }) => imports)
      expect(outside.filter(({ kind, path }) => kind === 'import-statement' && path.startsWith('node:'))).toEqual([])
    },
  )

  it.each([
    ["export { install } from './dist/service-worker.js'", 8100],
    ["export { indexedDbUsage } from './dist/index.js'", 5000],
    ["export { memoryUsage, V1Error } from './dist/index.js'", 5000],
    // JSON Schema alone, without other grammars.
    ["export { compile, Vocabulary } from './dist/structured.js'", 96_500],
    ["export { extract } from './dist/extract.js'", 4000],
    ["export { useChat, useDecision, useModel, useObject } from './dist/react.js'", 6900],
    ["export { localV1 } from './dist/ai-sdk.js'", 3150],
    ["export { promptApi } from './dist/prompt-api.js'", 5000],
  ])('costs who takes a part of it that part: %s', async (contents, limit) => {
    const { outputFiles } = await build({
      stdin: { contents, resolveDir: root.pathname },
      bundle: true,
      minify: true,
      format: 'esm',
      write: false,
      logLevel: 'error',
      external: ['node:*', 'react', '@ai-sdk/openai-compatible'],
    })
    expect(gzipSync(outputFiles[0]!.contents).length).toBeLessThan(limit)
  })

  // Unlike a bundle, a runtime reads all of a file of which one name is taken.
  it.each(entries.filter(({ name }) => SLIGHT.includes(name)).map(({ name, default: file }) => [name, file] as const))(
    'has whoever imports %s load less than 20 KB, compressed',
    (_, file) => {
      const files = [...loadedBy(new URL(file, root)).values()]
      expect(gzipSync(Buffer.concat(files)).length).toBeLessThan(20_000)
    },
  )

  it('has whoever imports the service load all of it', () => {
    expect(loadedBy(new URL('dist/index.js', root)).size).toBeGreaterThan(3)
  })

  it('is small to install, whatever is added to it', () => {
    expect(packed.size).toBeLessThan(1_687_500)
    // The playground's page, and nothing that only we need.
    expect(packed.files.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['dist/playground/app.js', 'dist/browser.js']),
    )
    expect(packed.files.filter(({ path }) => !/^(dist\/|package\.json$|README|LICENSE|CHANGELOG)/.test(path))).toEqual(
      [],
    )
  })

  it.each(entries.map(({ name, default: file }) => [name, file] as const))(
    'costs who takes all of it no more than is said here: %s',
    async (name, file) => {
      const { outputFiles } = await bundled(file, OF_NODE.has(name) ? 'node' : 'browser')
      expect(gzipSync(outputFiles[0]!.contents).length).toBeLessThan(LIMITS[name] ?? 0)
    },
  )
})
