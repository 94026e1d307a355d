/**
 * `npm run check:newcomer`: follows each page of docs/start and docs/recipes that has steps from an empty folder, as
 * somebody new would, and says how long it took to the first strict answer. What npm has not got yet is taken from here, packed. `-- node` follows those pages
 * alone whose name has that.
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
import { type Running, start } from '../test/support/spawn.js'

const LIMIT_MS = 60_000
const PORT = '18080'
const root = fileURLToPath(new URL('../', import.meta.url))
const run = promisify(execFile)
const wanted = process.argv.slice(2)

/** The packages as they will be published. */
async function packed(folder: string): Promise<Record<string, string>> {
  const paths: Record<string, string> = {}
  for (const [name, from] of [
    ['local-v1', root],
    ['local-v1-nano', join(root, 'models/nano')],
  ] as const) {
    const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder]
    const [{ filename }] = JSON.parse((await run('npm', pack, { cwd: from })).stdout) as [{ filename: string }]
    paths[name] = join(folder, filename)
  }
  return paths
}

/** The page's own command, but for what is not on npm yet and the port. */
function said(code: string, tarballs: Record<string, string>): string {
  const install = /^(npm install|bun add) .*$/gm
  return code
    .replace(install, (line) => line.replace(/(?<= )local-v1(-nano)?(?= |$)/g, (name) => tarballs[name] ?? name))
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${PORT}`)
    .replaceAll('--port 8080', `--port ${PORT}`)
}

async function follow(page: string, tarballs: Record<string, string>): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), `local-v1-${basename(page, '.md')}-`))
  const steps = codeBlocks(await readFile(join(root, page), 'utf8')).filter(({ words }) => words[0] === 'step')
  const paths = [join(root, 'node_modules/.bin'), dirname(denoPath()), process.env.PATH]
  const env = { ...process.env, PORT, PATH: paths.join(':'), NODE_ENV: '' }
  let server: Running | undefined
  const began = performance.now()
  try {
    for (const step of steps) server = (await take(step, folder, env, tarballs)) ?? server
    return performance.now() - began
  } finally {
    await server?.stop('SIGTERM')
    await rm(folder, { recursive: true, force: true })
  }
}

async function take(
  { language, words: [, what = '', where = ''], code }: CodeBlock,
  folder: string,
  env: NodeJS.ProcessEnv,
  tarballs: Record<string, string>,
): Promise<Running | undefined> {
  if (language !== 'sh') {
    await mkdir(dirname(join(folder, what)), { recursive: true })
    await writeFile(join(folder, what), code.replaceAll('127.0.0.1:8080', `127.0.0.1:${PORT}`))
    return undefined
  }
  const command = said(code, tarballs)
  if (what === 'serve') {
    const server = start('sh', ['-c', `cd '${folder}' && exec ${command.trim()}`], env as Record<string, string>)
    await server.line(/listening|local-v1 is ready/)
    return server
  }
  // What serves a folder for ever is stood in for; what builds it is run.
  const serves = what === 'page' && /^npx serve /.test(command)
  const { stdout } = serves
    ? { stdout: '' }
    : await run('sh', ['-c', `set -e\n${command}`], { cwd: folder, env, maxBuffer: 2 ** 24 })
  if (what === 'order') expectOrder(stdout)
  if (what === 'answer') expectOrder(JSON.parse(stdout).choices[0].message.content)
  if (what === 'page') await visit(join(folder, where))
  return undefined
}

function expectOrder(text: string): void {
  const { quantity, product } = JSON.parse(text) as { quantity: unknown; product: unknown }
  if (!Number.isInteger(quantity) || typeof product !== 'string') throw new Error(`This is no order: ${text}`)
}

async function visit(folder: string): Promise<void> {
  const headers = { 'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'require-corp' }
  const server = await serveFiles(await filesIn(folder), '', headers)
  const browser = await launchChromium({ webgpu: false })
  try {
    const page = await browser.newPage()
    await page.goto(server.origin)
    const whole = 'document.querySelector("output")?.textContent?.match(/"quantity":-?\\d+}/)'
    await page.waitForFunction(whole, undefined, { timeout: 30_000 })
    expectOrder((await page.locator('output').textContent()) ?? '')
  } finally {
    await browser.close()
    await server.close()
  }
}

if (!existsSync(join(root, 'dist/index.d.ts'))) throw new Error('npm run build comes first.')
const store = await mkdtemp(join(tmpdir(), 'local-v1-packed-'))
const tarballs = await packed(store)
let faults = 0
for (const page of ['docs/start', 'docs/recipes'].flatMap((folder) => pagesIn(root, folder))) {
  const name = basename(page, '.md')
  const isStepped = /^```\w+ step/m.test(await readFile(join(root, page), 'utf8'))
  if (!isStepped || (wanted.length > 0 && !wanted.some((word) => name.includes(word)))) continue
  try {
    const took = await follow(page, tarballs)
    if (took > LIMIT_MS) faults++
    console.log(`${took > LIMIT_MS ? 'SLOW' : 'yes '}  ${name}: ${(took / 1000).toFixed(1)} s`)
  } catch (error) {
    faults++
    const { stderr = '', message } = error as { stderr?: string; message: string }
    console.log(`NO    ${name}: ${message}\n${stderr}`)
  }
}
await rm(store, { recursive: true })
process.exit(faults === 0 ? 0 : 1)
