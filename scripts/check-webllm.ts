/**
 * The WebLLM engine over the real WebLLM: `npm run check:webllm -- --lib gpt2-q0f16-ctx1k_cs1k-webgpu.wasm`.
 *
 * `--lib` is a compiled library that fits the version of WebLLM (`--webllm` names the module of another one). `--model`
 * is a folder in MLC's form with weights for it; without one, weights are made up in the shapes that the library names.
 * `--in node,deno,page,worker,service-worker` says where. A library that needs shader-f16 finds it in no Chromium over
 * SwiftShader: LOCAL_V1_CHROMIUM names another one, LOCAL_V1_VULKAN another Vulkan for Node and Deno. `--only a,b` takes
 * the checks whose names contain one of these. `--speed node,page` compares with WebLLM's own chat there, with `--in ""`
 * without any checks.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { madeUpModel } from './made-up-weights.js'
import { RUNTIMES, type Runtime, runIn, setUpBench, speedIn } from './webllm/runtimes.js'

const { values } = parseArgs({
  options: {
    lib: { type: 'string' },
    model: { type: 'string' },
    webllm: { type: 'string' },
    in: { type: 'string' },
    only: { type: 'string' },
    context: { type: 'string', default: '256' },
    chunk: { type: 'string', default: '1' },
    speed: { type: 'string', default: '' },
  },
})
if (values.lib === undefined) throw new Error('Say which compiled library: --lib <file.wasm>')
const runtimes = (values.in?.split(',').filter(Boolean) ?? RUNTIMES) as readonly Runtime[]
const unknown = runtimes.filter((runtime) => !RUNTIMES.includes(runtime))
if (unknown.length > 0) throw new Error(`--in knows ${RUNTIMES.join(', ')}, not ${unknown.join(', ')}`)
const contextLength = Number(values.context)

const wasm = await readFile(values.lib)
// Token by token: a GPU in software is no faster with many at once, and would compile twice as much.
const sizes = { context_window_size: contextLength, prefill_chunk_size: Number(values.chunk) }
const files = values.model === undefined ? await madeUpModel(wasm, sizes) : await folderFiles(values.model)
const served = [...files].map(([name, bytes]) => [`/model/resolve/main/${name}`, bytes] as const)
const library = resolve(values.webllm ?? fileURLToPath(import.meta.resolve('@mlc-ai/web-llm')))
const bench = await setUpBench({ ...Object.fromEntries(served), '/model.wasm': wasm }, library)

let whole = true
for (const runtime of runtimes) {
  console.log(`\n${runtime}`)
  const start = performance.now()
  const wanted = { origin: bench.server.origin, how: 'default' as const, contextLength, only: values.only?.split(',') }
  const holds = await runIn(runtime, bench, wanted, console.log).catch((error: unknown) => {
    console.log(`FAIL ${String(error)}`)
    return false
  })
  console.log(
    `${holds ? 'all hold' : 'NOT all hold'} in ${runtime}, ${((performance.now() - start) / 1000).toFixed(0)} s`,
  )
  whole &&= holds
}
for (const runtime of ['node', 'page'] as const) {
  if (!values.speed.split(',').includes(runtime)) continue
  try {
    const { theirs, ours } = await speedIn(runtime, bench)
    const [own, other] = [ours, theirs].map((rate) => rate.toFixed(2))
    console.log(
      `\n${runtime}: WebLLM's own chat ${other} tokens/s, ours over it ${own} (x${(ours / theirs).toFixed(2)})`,
    )
  } catch (error) {
    console.log(`FAIL the speed in ${runtime}: ${String(error)}`)
    whole = false
  }
}
await bench.close()
process.exit(whole ? 0 : 1)

async function folderFiles(folder: string): Promise<Map<string, Uint8Array>> {
  const names = await readdir(folder)
  return new Map(await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name))] as const)))
}
