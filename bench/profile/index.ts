/**
 * `npm run bench:profile`: where a prompt and a step of decoding go, dispatch by dispatch.
 * `--device webgpu` takes the machine's GPU, and SwiftShader where there is none; LOCAL_V1_VULKAN names another.
 */
import { writeFile } from 'node:fs/promises'
import process from 'node:process'
import { Command, Option } from 'commander'
import { count } from '../../src/cli/arguments.js'
import { endProgress, progress } from '../../src/cli/bench.js'
import { nanoFolder } from '../../src/cli/engine.js'
import { NANO } from '../../src/models/index.js'
import { version } from '../version.js'
import { profiled } from './carry-out.js'
import { findGpu } from './find-gpu.js'
import { printed } from './table.js'

interface Options {
  readonly model: string
  readonly device: 'webgpu' | 'cpu'
  readonly kernels?: 'hardware' | 'software'
  readonly prompt: number
  readonly batch: number
  readonly steps: number
  readonly json?: string
}

await new Command('bench:profile')
  .description('where a prompt and a step of decoding go, dispatch by dispatch')
  .option('-m, --model <id>', 'local-v1/nano, a Hugging Face id, a folder, or made-up/<shape>', NANO)
  .addOption(new Option('--device <name>', 'where it runs').choices(['webgpu', 'cpu']).default('webgpu'))
  .addOption(
    new Option(
      '--kernels <name>',
      'kernels as they are cut for GPUs, or for GPUs in software (as the adapter wants)',
    ).choices(['hardware', 'software']),
  )
  .option('--prompt <tokens>', 'tokens of the prompt, and behind each step', count(1, 100_000), 128)
  .option('--batch <number>', 'sequences side by side', count(1, 64), 1)
  .option('--steps <number>', 'steps that are timed, and as many that are not', count(1, 10_000), 20)
  .option('--json <file>', 'write what was measured')
  .action(async ({ model, device, kernels, json, ...options }: Options) => {
    const profile = await profiled({
      version,
      model: model === NANO ? { id: NANO, from: nanoFolder() } : model,
      device,
      ...(kernels && { kernels }),
      ...(device === 'webgpu' && { gpu: await findGpu() }),
      ...options,
      progress,
    })
    endProgress()
    console.log(printed(profile))
    if (json) await writeFile(json, `${JSON.stringify(profile, null, 2)}\n`)
  })
  .parseAsync()
process.exit()
