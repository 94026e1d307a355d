/** `npm run bench:deno`: what `npm run bench` does, in Deno. Takes the same options. */
import { Command } from 'commander'
import { type BenchOptions, benchOrder, checkFiles, publish } from '../../src/cli/bench.js'
import { withBench } from '../../src/cli/bench-options.js'
import { version } from '../version.js'
import { benchInDeno } from './run.js'

await withBench(new Command('bench:deno'))
  .action(async (options: BenchOptions) => {
    await checkFiles(options)
    await publish(await benchInDeno(benchOrder(options, version)), options)
  })
  .parseAsync()
