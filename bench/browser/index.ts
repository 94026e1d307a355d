/**
 * `npm run bench:browser`: what `npm run bench` does, in a page of a headless Chromium; the same options. `--peers FOLDER`,
 * in whose `node_modules` wllama is installed, measures that on the same devices, weights and threads, or notes why it does
 * not run there. With `--page FOLDER` it writes the page instead, as static files that any https host can serve to any
 * device.
 */
import { Command } from 'commander'
import { type BenchOptions, benchOrder, checkFiles, progress, publish } from '../../src/cli/bench.js'
import { withBench } from '../../src/cli/bench-options.js'
import { version } from '../version.js'
import { benchInBrowser } from './run.js'
import { writeSite } from './site.js'

interface BrowserOptions extends BenchOptions {
  readonly page?: string
  readonly peers?: string
}

await withBench(new Command('bench:browser'))
  .option('--page <folder>', 'write the page as static files, for another device, and measure nothing')
  .option(
    '--peers <folder>',
    'where @wllama/wllama is installed: beside us on the same devices (--device webgpu: on that GPU), weights and threads',
  )
  .action(async ({ page, peers, ...options }: BrowserOptions) => {
    if (page !== undefined) {
      await writeSite(page)
      console.log(`Any https host (or localhost) can serve ${page} now; no headers are needed.`)
      return
    }
    await checkFiles(options)
    await publish(await benchInBrowser(benchOrder(options, version), progress, peers), options)
  })
  .parseAsync()
