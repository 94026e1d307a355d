/**
 * `npm run bench`: what `local-v1 bench` does, from the sources, and beside others in the same rounds:
 * `--peers FOLDER`, in whose `node_modules` node-llama-cpp is installed, measures llama.cpp on the same weights and
 * threads; `--webllm-lib FILE` measures WebLLM and our own core on weights made up for that compiled library.
 * `--device webgpu` takes the machine's GPU, and SwiftShader where there is none; LOCAL_V1_VULKAN names another.
 */
import { Command } from 'commander'
import { type BenchOptions, bench, benchOrder } from '../src/cli/bench.js'
import { withBench, withUpstream } from '../src/cli/bench-options.js'
import { besides, type PeerOptions } from './peers/index.js'
import { softwareWhereNone } from './profile/find-gpu.js'
import { version } from './version.js'

await withUpstream(withBench(new Command('bench')))
  .option(
    '--peers <folder>',
    'where node-llama-cpp is installed: llama.cpp on the CPU beside us, on the same weights and threads',
  )
  .option('--webllm-lib <file>', 'a compiled library: WebLLM beside us, on weights made up for it')
  .option('--webllm <file>', "WebLLM's module in the version of that library (that of node_modules)")
  .action(async ({ peers, webllmLib, webllm, ...options }: BenchOptions & PeerOptions) => {
    if (options.device?.includes('webgpu')) await softwareWhereNone()
    const { order, candidates, remove } = await besides(benchOrder(options, version), { peers, webllmLib, webllm })
    try {
      await bench(options, order, candidates)
    } finally {
      await remove()
    }
  })
  .parseAsync()
