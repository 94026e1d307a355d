/**
 * `npm run bench`: what `local-v1 bench` does, from the sources, and beside others: `--peers FOLDER`, in whose
 * `node_modules` node-llama-cpp is installed, measures llama.cpp on the same weights and threads, in the same rounds.
 */
import { Command } from 'commander'
import { type BenchOptions, bench, orderOf } from '../src/cli/bench.js'
import { withBench } from '../src/cli/bench-options.js'
import { usefulThreads } from '../src/engines/webgpu/device/cpu/team.js'
import { offeredModel } from '../src/engines/webgpu/location.js'
import { openRepository } from '../src/engines/webgpu/weights/open.js'
import type { Order } from './harness/elsewhere.js'
import { isMadeUp, openMadeUp } from './harness/made-up.js'
import { llamaCandidate } from './peers/llama.js'
import { version } from './version.js'

interface DevOptions extends BenchOptions {
  readonly peers?: string
}

async function main({ peers, ...options }: DevOptions): Promise<void> {
  if (peers === undefined) return bench(options, version)
  const llama = await llamaBeside(orderOf(options, version), peers)
  try {
    await bench(options, version, [llama])
  } finally {
    await llama.remove()
  }
}

async function llamaBeside({ models, threads, settings }: Order, peers: string) {
  const model = offeredModel(models[0]!)
  const { promptLengths, batches, tokens } = settings
  const open = () =>
    openRepository(model.location, { report: () => {}, signal: new AbortController().signal, cache: undefined })
  const { weights } = isMadeUp(model.id) ? openMadeUp(model.id) : await open()
  return llamaCandidate({
    peers,
    model: model.id,
    weights,
    threads: threads ?? usefulThreads(),
    sequences: Math.max(...batches),
    context: Math.ceil((Math.max(...promptLengths) + tokens) * 1.2) + 32,
  })
}

await withBench(new Command('bench'))
  .option('--peers <folder>', 'where node-llama-cpp is installed: llama.cpp beside us, on the same weights and threads')
  .action(main)
  .parseAsync()
