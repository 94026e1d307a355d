/**
 * How long a model takes from a warm disk to the CPU device, beside reading its bytes, and how much memory that takes at
 * its peak beyond what stays. In a process of its own, on a made-up model in Q4_0.
 */
import { spawnSync } from 'node:child_process'
import { open } from 'node:fs/promises'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { SHAPES, syntheticSource } from '../src/bench/shapes.js'
import { openCpuDevice } from '../src/engines/webgpu/cpu/index.js'
import { loadCore } from '../src/engines/webgpu/model/load.js'
import { openRepository } from '../src/repository/open.js'
import { writeGguf } from './peers/gguf.js'

const MB = 1e6
const RUNS = 3

async function readAll(path: string): Promise<number> {
  const file = await open(path)
  const chunk = new Uint8Array(1 << 22)
  const start = performance.now()
  let bytes = 0
  for (let read = -1; read !== 0; bytes += read) read = (await file.read(chunk, 0, chunk.length, bytes)).bytesRead
  const ms = performance.now() - start
  await file.close()
  return ms
}

/** In the child: one load, with nothing before it that would have made the heap large. */
async function measure(path: string): Promise<void> {
  await readAll(path)
  const readMs = Math.min(await readAll(path), await readAll(path))
  const device = await openCpuDevice({ threads: 1 })
  const start = performance.now()
  const options = { report: () => {}, signal: new AbortController().signal, cache: false } as const
  const { weights } = await openRepository({ kind: 'folder', path }, options)
  const core = await loadCore(device, weights, { contextLength: 512, maxBatch: 1 })
  const loadMs = performance.now() - start
  const peak = process.resourceUsage().maxRSS * 1024
  globalThis.gc?.()
  // Freed memory goes back to the system a moment later.
  await new Promise((resolve) => setTimeout(resolve, 100))
  const stays = process.memoryUsage().rss
  await core.close()
  console.log(JSON.stringify({ readMs, loadMs, peak, stays }))
}

const [shape = 'SmolLM2-135M-like', child] = process.argv.slice(2)
if (child) {
  await measure(child)
} else {
  const { path, remove } = await writeGguf(`made-up/${shape}`, syntheticSource(SHAPES[shape]!), 512)
  const { size } = await (await open(path)).stat()
  const self = fileURLToPath(import.meta.url)
  for (let run = 0; run < RUNS; run++) {
    const args = ['--expose-gc', ...process.execArgv, self, shape, path]
    const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
    if (!stdout) throw new Error(stderr)
    const { readMs, loadMs, peak, stays } = JSON.parse(stdout) as Record<'readMs' | 'loadMs' | 'peak' | 'stays', number>
    const times = `read ${readMs.toFixed(0)} ms, loaded ${loadMs.toFixed(0)} ms (${(loadMs / readMs).toFixed(1)} times)`
    const memory = `peak ${((peak - stays) / MB).toFixed(0)} MB above the ${(stays / MB).toFixed(0)} MB that stay`
    console.log(`${shape}, ${(size / MB).toFixed(0)} MB: ${times}; ${memory}`)
  }
  await remove()
}
process.exit(0)
