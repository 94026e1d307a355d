/**
 * Decode speed of the CPU device beside wllama (llama.cpp as WebAssembly) on the same 4-bit weights and threads, in
 * turn, in one page of a headless Chromium. wllama is no dependency of this repository: install it anywhere and say
 * where, `tsx bench/cpu/wllama.ts --peers <folder with node_modules> [--shape SmolLM2-135M] [--threads 2]`.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { bundle } from '../../test/support/bundle.js'
import { launchChromium } from '../../test/support/chromium.js'
import { listen } from '../../test/support/serve.js'
import { writeGguf } from './gguf.js'
import { randomSource, SHAPES } from './shapes.js'
import type { PageResult } from './wllama-page.js'

const { values: options } = parseArgs({
  options: {
    peers: { type: 'string' },
    shape: { type: 'string', default: 'SmolLM2-135M' },
    threads: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '4' },
    steps: { type: 'string', default: '40' },
  },
})
if (!options.peers) throw new Error('Say where @wllama/wllama is installed: --peers <folder>.')

const of = SHAPES.find(({ name }) => name === options.shape)!
const folder = mkdtempSync(join(tmpdir(), 'gguf-'))
const wllama = join(options.peers, 'node_modules/@wllama/wllama/esm')
const model = join(folder, 'model.gguf')
await writeGguf(model, of, randomSource(of, 512), 512)
const files: Record<string, () => string | Buffer> = {
  '/': () => '<script type="module" src="/main.js"></script>',
  '/wllama.js': () => readFileSync(join(wllama, 'index.js')),
  '/wllama.wasm': () => readFileSync(join(wllama, 'wasm/wllama.wasm')),
  '/model.gguf': () => readFileSync(model),
  '/cpu-worker.js': () => readFileSync(new URL('../../src/engines/webgpu/device/cpu/cpu-worker.js', import.meta.url)),
}
const main = await bundle('bench/cpu/wllama-page.ts')
const types: Record<string, string> = { js: 'text/javascript', wasm: 'application/wasm', '/': 'text/html' }
const server = await listen((request, response) => {
  response.setHeader('cross-origin-opener-policy', 'same-origin')
  response.setHeader('cross-origin-embedder-policy', 'require-corp')
  const body = request.url === '/main.js' ? main : files[request.url!]?.()
  if (body === undefined) return void response.writeHead(404).end()
  response.setHeader('content-type', types[request.url!.split('.').pop()!] ?? 'application/octet-stream')
  response.end(body)
})
const browser = await launchChromium({ webgpu: false })
try {
  const page = await browser.newPage()
  page.on('console', (message) => message.type() === 'error' && console.error(message.text()))
  await page.goto(server.origin)
  await page.waitForFunction('globalThis.compare !== undefined')
  const call = `compare(${JSON.stringify(of.name)}, ${Number(options.threads)}, ${Number(options.rounds)}, ${Number(options.steps)})`
  const { device, ours, theirs } = (await page.evaluate(call)) as PageResult
  const median = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1]!
  console.table([
    {
      model: of.name,
      threads: options.threads,
      device,
      'tokens/s': median(ours).toFixed(1),
      wllama: median(theirs).toFixed(1),
      ratio: (median(ours) / median(theirs)).toFixed(2),
      'best against best': (Math.max(...ours) / Math.max(...theirs)).toFixed(2),
    },
  ])
} finally {
  await browser.close()
  await server.close()
  rmSync(folder, { recursive: true, force: true })
}
