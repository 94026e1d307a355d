/** `npm run bench`: what `local-v1 bench` does, from the sources. */
import { Command } from 'commander'
import { type BenchOptions, bench } from '../src/cli/bench.js'
import { withBench } from '../src/cli/bench-options.js'
import { version } from './version.js'

await withBench(new Command('bench'))
  .action((options: BenchOptions) => bench(options, version))
  .parseAsync()
