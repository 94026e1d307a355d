import { type Command, InvalidArgumentError, Option } from 'commander'
import { type BenchPart, PARTS } from '../bench/index.js'
import { collect, count, notEmpty } from './arguments.js'
import { REVECTORIZE } from './engine-options.js'

/** The options of `local-v1 bench` and of `npm run bench`. */
export function withBench(command: Command): Command {
  return command
    .description('measure how fast models answer here, and where the time goes')
    .option(
      '-m, --model <id>',
      'what to measure: local-v1/nano, a Hugging Face id, a folder, or made-up/<shape>; repeatable',
      collect,
    )
    .addOption(new Option('--engine <name>', 'what runs the models').choices(['webgpu']).default('webgpu'))
    .addOption(
      new Option('--device <name>', 'where they run; repeatable: cpu and webgpu side by side')
        .choices(['auto', 'webgpu', 'cpu'])
        .argParser(device),
    )
    .option('--threads <number>', 'threads of the CPU device', count(1, 64))
    .option(...REVECTORIZE)
    .option('--only <list>', `the parts to measure, separated by commas: ${PARTS.join(',')}`, parts)
    .option('--rounds <number>', 'measured rounds, after a warm-up round (5)', count(1, 1000))
    .option('--prompt-lengths <list>', 'tokens of the prompts (32,128,512)', counts(1, 1_000_000))
    .option('--batch <list>', 'answers in parallel (1,4,8)', counts(1, 64))
    .option('--tokens <number>', 'tokens of each answer (64)', count(2, 100_000))
    .option('--no-documents', 'measure decisions without strict JSON for the same answers')
    .addOption(
      new Option(
        '--clock <name>',
        'processor: count the processor time of this process, if other programs are busy (use --threads 1)',
      )
        .choices(['wall', 'processor'])
        .default('wall'),
    )
    .option('--quick', 'one prompt length, short answers, two rounds')
    .option('--json <file>', 'write every value that was measured')
    .option('--svg <file>', 'write a chart')
    .option('--cache <folder>', 'the folder of downloaded models', notEmpty)
}

/** Another service beside our own core: only where this process measures itself. */
export function withUpstream(command: Command): Command {
  return command
    .option('--upstream <url>', 'another /v1 to compare with: its first model (its key: UPSTREAM_API_KEY)')
    .option('--upstream-model <id>', 'the model of --upstream')
}

function counts(least: number, most: number): (value: string) => number[] {
  const one = count(least, most)
  return (value) => value.split(',').map(one)
}

function parts(value: string): BenchPart[] {
  return value.split(',').map((name) => {
    const part = PARTS.find((known) => known === name)
    if (part === undefined) throw new InvalidArgumentError(`Choose from ${PARTS.join(', ')}.`)
    return part
  })
}

function device(value: string, before: string[] = []): string[] {
  if (!['auto', 'webgpu', 'cpu'].includes(value))
    throw new InvalidArgumentError('Allowed choices are auto, webgpu, cpu.')
  return [...before, value]
}
