/**
 * `npm run bench`: what `local-v1 bench` does, from the sources.
 */
import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { bench } from '../src/cli/bench.js'
import { withBench } from '../src/cli/bench-options.js'

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }

await withBench(new Command('bench'))
  .action((options) => bench(options, version))
  .parseAsync()
