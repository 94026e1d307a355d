/**
 * `npm run bench:kit -- OUT`: packs OUT/local-v1-kit.tar.gz, which tries and measures every kernel on a GPU machine that
 * has nothing installed and no network: `tar xzf local-v1-kit.tar.gz && local-v1-kit/run.sh RESULTS`.
 */
import { mkdir } from 'node:fs/promises'
import { Command } from 'commander'
import { pack } from './pack.js'

await new Command('bench:kit')
  .description('pack what tries and measures the kernels on a GPU machine without a network')
  .argument('<out>', 'the folder that the archive is written to')
  .action(async (out: string) => {
    await mkdir(out, { recursive: true })
    const { file, bytes } = await pack(out)
    console.log(`${file}: ${(bytes / 1e6).toFixed(1)} MB for Linux on x64.`)
    console.log('There: tar xzf local-v1-kit.tar.gz && local-v1-kit/run.sh RESULTS')
  })
  .parseAsync()
