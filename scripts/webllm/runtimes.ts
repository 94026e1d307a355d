/** Brings the checks into each runtime, and their lines back. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { build } from 'esbuild'
import type { Page } from 'playwright-core'
import { launchChromiumIn } from '../../test/support/chromium.js'
import { denoPath } from '../../test/support/deno.js'
import { type Listening, serveFiles } from '../../test/support/serve.js'
import { start } from '../../test/support/spawn.js'
import { swiftshaderEnv, useSwiftshader } from '../../test/support/swiftshader.js'
import type { Wanted } from './checks.js'
import type { bothPaces } from './speed.js'

export type Runtime = 'node' | 'deno' | 'page' | 'worker' | 'service-worker'
export const RUNTIMES: readonly Runtime[] = ['node', 'deno', 'page', 'worker', 'service-worker']

const root = fileURLToPath(new URL('../../', import.meta.url))
/** Where scripts still find `webgpu`. */
const cache = join(root, 'node_modules/.cache/local-v1')

export interface Bench {
  readonly server: Listening
  readonly folder: string
  close(): Promise<void>
}

/** Serves the model and the bundled scripts, which also lie in a folder. `library` is WebLLM's module. */
export async function setUpBench(model: Readonly<Record<string, Uint8Array>>, library: string): Promise<Bench> {
  await mkdir(cache, { recursive: true })
  const folder = await mkdtemp(join(cache, 'check-webllm-'))
  const bundled = {
    'main.js': 'scripts/webllm/main.ts',
    'speed-thread.js': 'scripts/webllm/speed-thread.ts',
    'service-worker.js': 'scripts/webllm/service-worker.ts',
    'webllm-worker.js': 'src/engines/webllm/worker/webllm-worker.ts',
  }
  const scripts: Record<string, string> = {}
  for (const [name, entry] of Object.entries(bundled)) {
    scripts[`/${name}`] = await script(entry, library)
    await writeFile(join(folder, name), scripts[`/${name}`]!)
  }
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
  const server = await serveFiles({
    '/index.html': '<!doctype html><script type="module" src="/main.js"></script>',
    ...scripts,
    ...model,
  })
  return {
    server,
    folder,
    async close() {
      await server.close()
      await rm(folder, { recursive: true })
    },
  }
}

async function script(entry: string, library: string): Promise<string> {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [entry],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    external: ['node:*', 'webgpu'],
    alias: { '@mlc-ai/web-llm': library },
    logLevel: 'error',
  })
  return outputFiles[0]!.text
}

/** Whether all checks hold there; `say` is told line by line. */
export function runIn(runtime: Runtime, bench: Bench, wanted: Wanted, say: (line: string) => void): Promise<boolean> {
  if (runtime === 'node') return inProcess(process.execPath, [], bench, wanted, say)
  if (runtime === 'deno') {
    const flags = ['run', '--allow-all', '--no-lock', '--no-config', '--node-modules-dir=manual']
    return inProcess(denoPath(), flags, bench, wanted, say)
  }
  return inChromium(runtime, bench, wanted, say)
}

async function inProcess(
  program: string,
  flags: string[],
  { folder }: Bench,
  wanted: Wanted,
  say: (line: string) => void,
): Promise<boolean> {
  const env = await swiftshaderEnv()
  // Another software GPU than SwiftShader has libraries of its own.
  const paths = [env.LD_LIBRARY_PATH, process.env.LD_LIBRARY_PATH].filter(Boolean).join(':')
  const running = start(program, [...flags, join(folder, 'main.js'), JSON.stringify(wanted)], {
    ...env,
    LD_LIBRARY_PATH: paths,
  })
  let shown = 0
  const tell = () => {
    const lines = running.output().split('\n')
    for (; shown < lines.length - 1; shown++) if (/^(ok|FAIL| {5}|all|not)/.test(lines[shown]!)) say(lines[shown]!)
  }
  const timer = setInterval(tell, 500)
  const { code } = await running.exit
  clearInterval(timer)
  tell()
  const whole = code === 0 && /^all hold$/m.test(running.output())
  if (!whole) say(running.output().slice(-2000))
  return whole
}

async function inChromium(
  runtime: 'page' | 'worker' | 'service-worker',
  bench: Bench,
  wanted: Wanted,
  say: (line: string) => void,
): Promise<boolean> {
  return onPage(bench, say, (page) => {
    if (runtime === 'service-worker') return inServiceWorker(page, wanted)
    const how = runtime === 'worker' ? ('worker' as const) : ('here' as const)
    return page.evaluate(
      (wanted) => (globalThis as unknown as { check(wanted: unknown): Promise<boolean> }).check(wanted),
      { ...wanted, how },
    )
  })
}

async function onPage<T>(
  { server }: Bench,
  say: (line: string) => void,
  action: (page: Page) => Promise<T>,
): Promise<T> {
  // A script of WebLLM's size is too large for a profile in memory.
  const profile = await mkdtemp(join(cache, 'check-webllm-profile-'))
  const browser = await launchChromiumIn(profile)
  try {
    const page = await browser.newPage()
    page.on('console', (message) => say(message.text()))
    await page.goto(server.origin)
    return await action(page)
  } finally {
    await browser.close()
    await rm(profile, { recursive: true, force: true })
  }
}

function inServiceWorker(page: Page, wanted: Wanted): Promise<boolean> {
  return page.evaluate(async (wanted) => {
    await navigator.serviceWorker.register('/service-worker.js', { type: 'module' })
    const { active } = await navigator.serviceWorker.ready
    const over = new Promise<boolean>((resolve) => {
      navigator.serviceWorker.onmessage = ({ data }) => {
        console.log(data)
        if (data === 'all hold') resolve(true)
        else if (data === 'not all hold' || String(data).startsWith('FAIL ')) resolve(false)
      }
    })
    active!.postMessage(wanted)
    return over
  }, wanted)
}

type Paces = Awaited<ReturnType<typeof bothPaces>>

/** Decoded tokens per second, by WebLLM's own chat and by ours, in Node or in a page. */
export async function speedIn(runtime: 'node' | 'page', bench: Bench): Promise<{ theirs: number; ours: number }> {
  const { theirs, ours } = await (runtime === 'node' ? pacesInNode(bench) : pacesOnPage(bench))
  return { theirs: theirs.tokens / theirs.seconds, ours: ours.tokens / ours.seconds }
}

async function pacesInNode({ folder, server }: Bench): Promise<Paces> {
  await useSwiftshader()
  const thread = new Worker(join(folder, 'speed-thread.js'), { stdout: true })
  thread.stdout?.resume()
  try {
    return await new Promise<Paces>((resolve, reject) => {
      thread.once('message', resolve)
      thread.once('error', reject)
      thread.postMessage(server.origin)
    })
  } finally {
    await thread.terminate()
  }
}

function pacesOnPage(bench: Bench): Promise<Paces> {
  return onPage(
    bench,
    () => {},
    (page) =>
      page.evaluate(
        (origin) => (globalThis as unknown as { bothPaces(origin: string): Promise<Paces> }).bothPaces(origin),
        bench.server.origin,
      ),
  )
}
