/**
 * What a mounted `/v1` does to the application around it: an application in Node (Express), Deno and Bun with default
 * options, whose own route is asked all the time, idle and while chats run; with the engine in its worker and without, in
 * turns within one run. `npm run build`, then
 * `[BUN=path] npm run bench:host -- [-m made-up/SmolLM2-135M-like] [--device cpu] [--runtime deno] [--rounds 3]`.
 *
 * Of the own route it tells by the clock and, in brackets on Linux, what the loop itself computed and idled before the
 * answer: a busy machine lengthens only the former. Speed, first token and processor time are
 * the best of rounds in which nobody asks the own route: noise only adds.
 */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Command, Option } from 'commander'
import type { Time } from '../../scripts/hostile-clients/ready.js'
import { SHAPES, syntheticSource } from '../../src/bench/shapes.js'
import { writeGguf } from '../peers/gguf.js'
import type { AppOptions, Runtime } from './app.js'
import { App, RUNTIMES } from './running.js'

interface Options {
  readonly model: string[]
  readonly device: AppOptions['device'][]
  readonly runtime: Runtime[]
  readonly chats: string
  readonly tokens: string
  readonly rounds: string
}

interface Round {
  readonly tokensPerSecond: number
  readonly first: number
  /** Milliseconds of a processor for each token, of all threads of the application. */
  readonly computed: number
  /** The same of who asks, which has to be somewhere too. */
  readonly asking: number
}

const NANO = fileURLToPath(new URL('../../models/nano', import.meta.url))
const IDLE_MS = 2000

async function placeOf(model: string): Promise<{ path: string; remove(): Promise<void> }> {
  if (model === 'local-v1/nano') return { path: NANO, remove: async () => {} }
  const shape = SHAPES[model.replace('made-up/', '')]
  return shape ? writeGguf(model, syntheticSource(shape), 2048) : { path: model, remove: async () => {} }
}

/** What is asked of the own route while `work` is done. */
async function beside<T>(app: App, work: () => Promise<T>): Promise<{ own: Time[]; done: T }> {
  const child = fork(new URL('./own-route.ts', import.meta.url), [app.origin, `${app.pid}`])
  const readTimes = (): Promise<Time[]> =>
    new Promise((resolve) => {
      child.once('message', (times) => resolve(times as Time[]))
      child.send('times')
    })
  // The first ones find a connection to be made.
  while ((await readTimes()).length < 3) await new Promise((resolve) => setTimeout(resolve, 100))
  await readTimes()
  const done = await work()
  const own = await readTimes()
  child.disconnect()
  return { own, done }
}

async function measureRound(app: App, chats: number, tokens: number): Promise<Round> {
  const before = await app.spent()
  const here = process.cpuUsage()
  const began = performance.now()
  const answers = await Promise.all(Array.from({ length: chats }, () => app.chat(tokens)))
  const seconds = (performance.now() - began) / 1000
  const { user, system } = process.cpuUsage(here)
  const after = await app.spent()
  const firsts = answers.map(({ first }) => first).sort((a, b) => a - b)
  const written = answers.reduce((sum, answer) => sum + answer.tokens, 0)
  return {
    tokensPerSecond: written / seconds,
    first: firsts[firsts.length >> 1]!,
    computed: (after.processorMs - before.processorMs) / written,
    asking: (user + system) / 1000 / written,
  }
}

function at(times: readonly Time[], share: number, of: keyof Time): number {
  const sorted = times.map((time) => time[of]).sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

function ownRoute(times: readonly Time[]): string {
  const each = [0.5, 0.9, 0.99].map((p) => `${at(times, p, 'clock').toFixed(1)} (${at(times, p, 'own').toFixed(1)})`)
  return each.map((text) => text.padStart(17)).join('')
}

const line = (name: string, times: readonly Time[], rest = '') =>
  console.log(`  ${name.padEnd(26)}${ownRoute(times)}   ${rest}`)

async function measure(runtime: Runtime, model: string, device: AppOptions['device'], options: Options): Promise<void> {
  const { path, remove } = await placeOf(model)
  const apps = new Map<string, App>()
  try {
    for (const worker of [true, false]) {
      apps.set(worker ? 'worker' : 'no worker', await App.start(runtime, { model: path, device, worker }))
    }
    console.log(`\n${runtime}: ${model} on ${[...apps.values()][0]!.device}`)
    console.log(`  own route, ms: clock (own)${['p50', 'p90', 'p99'].map((p) => p.padStart(17)).join('')}`)
    for (const [name, app] of apps) {
      await app.chat(4)
      line(`${name}, idle`, (await beside(app, () => new Promise((resolve) => setTimeout(resolve, IDLE_MS)))).own)
    }
    for (const chats of options.chats.split(',').map(Number)) {
      // Not while the own route is asked: whoever answers it more often would have less time for its chats.
      const rounds = new Map([...apps.keys()].map((name) => [name, [] as Round[]]))
      for (let i = 0; i < Number(options.rounds); i++) {
        for (const [name, app] of apps) rounds.get(name)!.push(await measureRound(app, chats, Number(options.tokens)))
      }
      const best = [...rounds.values()].map((all) => ({
        speed: Math.max(...all.map(({ tokensPerSecond }) => tokensPerSecond)),
        first: Math.min(...all.map(({ first }) => first)),
        computed: Math.min(...all.map(({ computed }) => computed)),
        asking: Math.min(...all.map(({ asking }) => asking)),
      }))
      for (const [i, [name, app]] of [...apps].entries()) {
        const { own } = await beside(app, async () => {
          for (let round = 0; round < Number(options.rounds); round++)
            await measureRound(app, chats, Number(options.tokens))
        })
        const { speed, first, computed, asking } = best[i]!
        const figures = `${speed.toFixed(1)} tokens/s, first token ${first.toFixed(0)} ms`
        line(
          `${name}, ${chats} chats`,
          own,
          `${figures}, ${computed.toFixed(2)} ms of a processor a token, ${asking.toFixed(2)} of who asks`,
        )
      }
      const [on, off] = best as [(typeof best)[0], (typeof best)[0]]
      const ratio = (of: keyof typeof on) => (on[of] / off[of]).toFixed(3)
      console.log(
        `  worker to none: speed ${ratio('speed')}, first token ${ratio('first')}, processor ${ratio('computed')}`,
      )
    }
    for (const [name, app] of apps) {
      console.log(`  ${name}: ${((await app.spent()).resident / 1e6).toFixed(0)} MB resident`)
    }
  } finally {
    for (const app of apps.values()) app.stop()
    await remove()
  }
}

await new Command('bench:host')
  .option('-m, --model <name...>', 'local-v1/nano, made-up/SHAPE or a path', [
    'local-v1/nano',
    'made-up/SmolLM2-135M-like',
    'made-up/Llama-3.2-1B-like',
  ])
  .addOption(new Option('--device <name...>', 'where').choices(['cpu', 'webgpu']).default(['cpu']))
  .addOption(new Option('--runtime <name...>', 'of the application').choices(RUNTIMES).default(RUNTIMES))
  .option('--chats <list>', 'at the same time', '2,8')
  .option('--tokens <count>', 'of each answer', '64')
  .option('--rounds <count>', 'of each', '3')
  .action(async (options: Options) => {
    for (const model of options.model) {
      for (const device of options.device) {
        for (const runtime of options.runtime) await measure(runtime, model, device, options)
      }
    }
  })
  .parseAsync()
process.exit(0)
