/**
 * `npm run check:newcomer`: follows each page of docs/start and docs/recipes that has steps from an empty folder, as
 * somebody new would, with the very lines of the page, and says how long it took to the first strict answer. Beside that
 * folder lies what `npm run pack` makes in a clone. The table becomes docs/platforms.md. `-- node` follows that page alone (or several), and leaves the rows of the
 * others as they are.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { launchChromium } from '../test/support/chromium.js'
import { type CodeBlock, codeBlocks, pagesIn } from '../test/support/code-blocks.js'
import { denoPath } from '../test/support/deno.js'
import { filesIn } from '../test/support/folder.js'
import { serveFiles } from '../test/support/serve.js'
import { printed, type Running, start } from '../test/support/spawn.js'
import { packInto } from './pack.js'

const LIMIT_MS = 60_000
const PORT = '18080'
const root = fileURLToPath(new URL('../', import.meta.url))
const run = promisify(execFile)
const wanted = process.argv.slice(2)

interface Followed {
  readonly ms: number
  /** What it was followed with. */
  readonly versions: string
  readonly order: string
}

/** The page's own lines, but for the port. */
const withPort = (code: string): string =>
  code.replaceAll(/(127\.0\.0\.1|localhost):8080/g, `$1:${PORT}`).replaceAll(/(--port|-p) 8080/g, `$1 ${PORT}`)

/** Programs that a page takes for granted, of npm's packages: nothing else that is installed here may help. */
async function programs(folder: string): Promise<string> {
  await writeFile(join(folder, 'package.json'), '{ "private": true }')
  await run('npm', ['install', 'bun'], { cwd: folder })
  await run(process.execPath, ['node_modules/bun/install.js'], { cwd: folder })
  return [join(folder, 'node_modules/.bin'), dirname(denoPath()), process.env.PATH].join(':')
}

async function follow(page: string, store: string, path: string): Promise<Followed> {
  // Beside the clone, whose packages are what the page installs.
  const folder = await mkdtemp(join(store, `${basename(page, '.md')}-`))
  const steps = codeBlocks(await readFile(join(root, page), 'utf8')).filter(({ words }) => words[0] === 'step')
  const env: NodeJS.ProcessEnv = { ...process.env, PORT, PATH: path, NEXT_TELEMETRY_DISABLED: '1' }
  // What npm itself sets for its scripts is not there for a newcomer.
  for (const name of Object.keys(env)) if (/^(npm_|NODE_ENV$|INIT_CWD$)/.test(name)) delete env[name]
  let server: Running | undefined
  let order = ''
  const began = performance.now()
  try {
    for (const step of steps) {
      const came = await take(step, folder, env)
      if (typeof came === 'string') order = came
      else server = came ?? server
    }
    const ms = performance.now() - began
    if (order === '') throw new Error('It ended without an answer.')
    return { ms, order, versions: (await versionsIn(folder, steps, env)).join(', ') }
  } finally {
    await server?.stop('SIGTERM')
    await rm(folder, { recursive: true, force: true })
  }
}

async function take(
  { language, words: [, what = '', where = ''], code }: CodeBlock,
  folder: string,
  env: NodeJS.ProcessEnv,
): Promise<Running | string | undefined> {
  if (language !== 'sh') {
    await mkdir(dirname(join(folder, what)), { recursive: true })
    await writeFile(join(folder, what), withPort(code))
    return undefined
  }
  const command = withPort(code)
  if (what === 'serve') {
    const server = start('sh', ['-c', `cd '${folder}' && exec ${command.trim()}`], env as Record<string, string>, {
      group: true,
    })
    await inTime(printed(server, /(listening|local-v1 is ready|Ready in)/), server.output)
    return server
  }
  // What serves a folder for ever is stood in for; what builds it is run.
  const serves = what === 'page' && /^npx serve /.test(command)
  const { stdout } = serves
    ? { stdout: '' }
    : await run('sh', ['-c', `set -e\n${command}`], { cwd: folder, env, maxBuffer: 2 ** 24, timeout: 3 * LIMIT_MS })
  if (what === 'order') return orderIn(stdout)
  if (what === 'answer') return orderIn(JSON.parse(stdout).choices[0].message.content)
  if (what === 'page') return await visit(join(folder, where))
  return undefined
}

/** What never comes is a fault of its own, and not a check without an end. */
async function inTime(promise: Promise<unknown>, output: () => string): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`It did not start: ${output()}`)), 3 * LIMIT_MS)
  })
  await Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

function orderIn(text: string): string {
  const order = JSON.parse(text) as { quantity: unknown; product: unknown }
  if (!Number.isInteger(order.quantity) || typeof order.product !== 'string')
    throw new Error(`This is no order: ${text}`)
  return JSON.stringify(order)
}

/** The runtime, and what was installed beside us. */
async function versionsIn(folder: string, steps: readonly CodeBlock[], env: NodeJS.ProcessEnv): Promise<string[]> {
  const commands = steps.filter(({ language }) => language === 'sh').map(({ code }) => code)
  const inPage = steps.some(({ words }) => words[1] === 'page')
  const runtime = inPage
    ? undefined
    : (['deno', 'bun'].find((name) => commands.join('\n').includes(`${name} `)) ?? 'node')
  const versions: string[] = []
  if (runtime) {
    const { stdout } = await run(runtime, ['--version'], { env })
    versions.push(`${runtime[0]!.toUpperCase()}${runtime.slice(1)} ${/\d[\d.]*/.exec(stdout)}`)
  } else versions.push(`Chromium ${chromiumVersion}`)
  const { dependencies = {}, devDependencies = {} } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
  for (const name of Object.keys({ ...dependencies, ...devDependencies })) {
    if (name.startsWith('local-v1') || name.startsWith('@types/')) continue
    const { version } = JSON.parse(await readFile(join(folder, 'node_modules', name, 'package.json'), 'utf8'))
    versions.push(`${name} ${version}`)
  }
  return versions
}

let chromiumVersion = ''

async function visit(folder: string): Promise<string> {
  const headers = { 'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'require-corp' }
  const server = await serveFiles(await filesIn(folder), '', headers)
  const browser = await launchChromium({ webgpu: false })
  chromiumVersion = browser.version()
  try {
    const page = await browser.newPage()
    await page.goto(server.origin)
    const whole = 'document.querySelector("output")?.textContent?.match(/"quantity":-?\\d+}/)'
    await page.waitForFunction(whole, undefined, { timeout: 30_000 })
    return orderIn((await page.locator('output').textContent()) ?? '')
  } finally {
    await browser.close()
    await server.close()
  }
}

if (!existsSync(join(root, 'dist/index.d.ts'))) throw new Error('npm run build comes first.')
const store = await mkdtemp(join(tmpdir(), 'local-v1-packed-'))
packInto(join(store, 'local-v1/packed'))
const path = await programs(store)
const rows = new Map<string, string>()
let faults = 0
const stepped: { page: string; name: string; title: string }[] = []
for (const page of ['docs/start', 'docs/recipes'].flatMap((folder) => pagesIn(root, folder))) {
  const text = await readFile(join(root, page), 'utf8')
  if (!/^```\w+ step/m.test(text)) continue
  stepped.push({ page, name: basename(page, '.md'), title: /^# (.*)$/m.exec(text)?.[1] ?? page })
}
const row = (words: readonly string[]) => `| ${words.join(' | ')} |`
for (const { page, name, title } of stepped) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  const link = `[${title}](${page.replace('docs/', './')})`
  try {
    const { ms, order, versions } = await follow(page, store, path)
    const inTime = ms <= LIMIT_MS
    if (!inTime) faults++
    console.log(`${inTime ? 'yes ' : 'SLOW'}  ${name}: ${(ms / 1000).toFixed(1)} s, ${order}, ${versions}`)
    rows.set(title, row([link, versions, inTime ? 'yes' : '**no**', `${Math.ceil(ms / 1000)} s`, `\`${order}\``]))
  } catch (error) {
    faults++
    const { stderr = '', message } = error as { stderr?: string; message: string }
    console.log(`NO    ${name}: ${message}\n${stderr}`)
    rows.set(title, row([link, '', '**no**', '', message.split('\n')[0]!.replaceAll('|', '/')]))
  }
}
await rm(store, { recursive: true })
const file = join(root, 'docs/platforms.md')
const [before = '', table = ''] = (await readFile(file, 'utf8')).split('<!-- check:newcomer -->')
const head = [row(['Page', 'With', 'Within 60 s', 'First strict answer', 'Result']), '|---|---|---|---|---|']
const kept = new Map(table.split('\n').map((line) => [/^\| \[(.*?)\]/.exec(line)?.[1] ?? '', line]))
const lines = stepped.flatMap(({ title }) => rows.get(title) ?? kept.get(title) ?? [])
await writeFile(file, `${before}<!-- check:newcomer -->\n\n${[...head, ...lines].join('\n')}\n`)
process.exit(faults === 0 ? 0 : 1)
