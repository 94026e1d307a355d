/**
 * `npm run check:bundlers`: builds a page with its service worker, and a server, with every bundler, from the packed
 * tarball, and runs what comes out: the page in Chromium, the server in Node. The table becomes docs/bundlers.md.
 * Nothing that it needs is a dependency of ours: it is installed in a folder of its own, `-- --in FOLDER` to keep it.
 * `-- webpack` builds with those alone whose name has that, and leaves the rows of the others as they are.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import type { Browser } from 'playwright-core'
import { launchChromium } from '../test/support/chromium.js'
import { filesIn } from '../test/support/folder.js'
import { freePort } from '../test/support/port.js'
import { serveFiles } from '../test/support/serve.js'
import { start } from '../test/support/spawn.js'
import { type Fixture, fixtures } from './bundlers/fixtures.js'

const run = promisify(execFile)
/** Ends what hangs; a build on a busy machine takes minutes of the clock, and is no fault for it. */
const LIMIT = 1_200_000
const root = fileURLToPath(new URL('../', import.meta.url))
const ISOLATED = { 'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'require-corp' }
const PACKAGES = [
  ...['webpack@5', 'webpack-cli', '@rspack/core', '@rspack/cli', 'rollup', '@rollup/plugin-node-resolve'],
  ...[
    '@rollup/plugin-commonjs',
    '@rollup/plugin-json',
    'esbuild',
    'vite',
    'parcel',
    'next@16',
    'react',
    'react-dom',
    'typescript@5.9',
    'workbox-build',
    'workbox-precaching',
    '@types/react',
    '@types/node',
    'bun',
  ],
]

const { values, positionals } = parseArgs({ options: { in: { type: 'string' } }, allowPositionals: true })
const folder = values.in ?? (await mkdtemp(join(tmpdir(), 'local-v1-bundlers-')))
await mkdir(folder, { recursive: true })
const say = (command: string, cwd: string) =>
  run('sh', ['-c', command], {
    cwd,
    maxBuffer: 2 ** 26,
    timeout: LIMIT,
    env: { ...process.env, NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1' },
  })

/** The packages as they are published; npm takes a tarball of the same name for what it has, unless it is taken out. */
async function installAll(): Promise<void> {
  if (!existsSync(join(folder, 'package.json'))) await writeFile(join(folder, 'package.json'), '{ "private": true }')
  const missing = PACKAGES.filter((name) => !existsSync(join(folder, 'node_modules', name.replace(/(?<=.)@.*/, ''))))
  const packed = []
  for (const from of [root, join(root, 'models/nano')]) {
    const { stdout } = await run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder], {
      cwd: from,
    })
    packed.push(...(JSON.parse(stdout) as { filename: string }[]).map(({ filename }) => `./${filename}`))
  }
  await rm(join(folder, 'node_modules/local-v1'), { recursive: true, force: true })
  await run('npm', ['install', '--no-audit', '--no-fund', '--force', '--omit=optional-peer', ...packed, ...missing], {
    cwd: folder,
  })
}

async function page(browser: Browser, url: string): Promise<string> {
  const context = await browser.newContext()
  try {
    const page = await context.newPage()
    const faults: string[] = []
    page.on('pageerror', (error) => faults.push(error.message))
    await page.goto(url)
    await page.waitForFunction('globalThis.outcome !== undefined', undefined, { timeout: LIMIT }).catch(() => {
      throw new Error(`The page did not start: ${faults.join('; ')}`)
    })
    const { document, device } = (await page.evaluate('globalThis.outcome')) as { document: object; device: string }
    if (!Number.isInteger((document as { stars: unknown }).stars)) throw new Error(JSON.stringify(document))
    return device
  } finally {
    await context.close()
  }
}

async function outcomeOf(here: string, { outcome }: Fixture, browser: Browser): Promise<string> {
  const nano = join(folder, 'node_modules/local-v1-nano/')
  if ('server' in outcome) {
    const env = { ...process.env, NANO: nano }
    // Away from every node_modules: one file must be enough.
    const alone = await mkdtemp(join(tmpdir(), 'local-v1-alone-'))
    await cp(join(here, dirname(outcome.server)), alone, { recursive: true })
    const { stdout } = await run('node', [join(alone, outcome.server.split('/').pop()!)], { env, timeout: LIMIT })
    await rm(alone, { recursive: true })
    return stdout.trim()
  }
  if ('page' in outcome) {
    const files = await filesIn(join(here, outcome.page))
    for (const [path, bytes] of Object.entries(await filesIn(nano))) files[`/nano${path}`] = bytes
    const server = await serveFiles(files, '', ISOLATED)
    try {
      return await page(browser, server.origin)
    } finally {
      await server.close()
    }
  }
  await cp(nano, join(here, 'public/nano'), { recursive: true })
  const port = await freePort()
  const [program, ...args] = outcome.serves.replace('PORT', String(port)).split(' ')
  const server = start(
    'sh',
    ['-c', `cd '${here}' && exec ${[program, ...args].join(' ')}`],
    { NANO: nano },
    { group: true },
  )
  try {
    await server.line(/Ready/)
    const device = await page(browser, `http://localhost:${port}/`)
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'local-v1/nano', max_tokens: 4, messages: [{ role: 'user', content: 'Hi' }] }),
    })
    if (!response.ok) throw new Error(`the route handler: ${response.status} ${await response.text()}`)
    const { data } = (await (await fetch(`http://127.0.0.1:${port}/api/v1/models`)).json()) as {
      data: { metadata: { device_name: string; worker?: boolean; worker_reason?: string } }[]
    }
    const { worker, worker_reason } = data[0]!.metadata
    if (!worker) throw new Error(`the route handler computes in Next's own thread: ${worker_reason}`)
    return `${device} (page), ${data[0]!.metadata.device_name} (server)`
  } finally {
    await server.stop('SIGTERM')
  }
}

async function attempt(fixture: Fixture, browser: Browser): Promise<{ worked: boolean; result: string }> {
  const here = join(folder, 'fixtures', fixture.name.replace(/\W+/g, '-'))
  await rm(here, { recursive: true, force: true })
  try {
    const files = { 'package.json': '{ "private": true, "type": "module" }', ...fixture.files }
    for (const [name, text] of Object.entries(files)) {
      await mkdir(dirname(join(here, name)), { recursive: true })
      await writeFile(join(here, name), text)
    }
    await symlink(join(folder, 'node_modules'), join(here, 'node_modules'))
    for (const command of fixture.commands) await say(command, here)
    return { worked: true, result: await outcomeOf(here, fixture, browser) }
  } catch (error) {
    const { stdout = '', stderr = '', message } = error as { stdout?: string; stderr?: string; message: string }
    return { worked: false, result: [message, stdout, stderr].join('\n').trim() }
  }
}

await installAll()
const browser = await launchChromium({ webgpu: false })
const rows = new Map<string, string>()
let faults = 0
for (const fixture of fixtures) {
  if (positionals.length > 0 && !positionals.some((word) => fixture.name.toLowerCase().includes(word))) continue
  const { version } = JSON.parse(await readFile(join(folder, 'node_modules', fixture.package, 'package.json'), 'utf8'))
  const { worked, result } = await attempt(fixture, browser)
  if (!worked) faults++
  console.log(`${worked ? 'yes' : 'NO '}  ${fixture.name} (${version}): ${result}`)
  rows.set(
    fixture.name,
    `| ${fixture.name} | ${version} | ${worked ? 'yes' : 'no'} | ${worked ? result : result.split('\n')[0]} |`,
  )
}
await browser.close()
const file = join(root, 'docs/bundlers.md')
const [before = '', table = ''] = (await readFile(file, 'utf8')).split('<!-- check:bundlers -->')
const head = ['| Bundler | Version | Builds and runs | The CPU device, asked for 3 threads |', '|---|---|---|---|']
const kept = new Map(table.split('\n').map((row) => [row.split('|')[1]?.trim() ?? '', row]))
const lines = fixtures.flatMap(({ name }) => rows.get(name) ?? kept.get(name) ?? [])
await writeFile(file, `${before}<!-- check:bundlers -->\n\n${[...head, ...lines].join('\n')}\n`)
if (!values.in) await rm(folder, { recursive: true, force: true })
process.exit(faults === 0 ? 0 : 1)
