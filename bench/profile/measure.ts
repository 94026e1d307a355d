/** Profiles one model on one device: a prompt and steps of decoding, timed and untimed in turn. */
import type { SampleSettings, Sequence, StepInput } from '../../src/contract/token-model.js'
import type { Device } from '../../src/device/contract.js'
import type { Core } from '../../src/models/core.js'
import type { WeightSource } from '../../src/models/files/source.js'
import { loadCore } from '../../src/models/load.js'
import type { Current, Timed, Timer } from './operation.js'
import { mean, type Outside, type Part, quickest, rowsOf, sum } from './profile.js'
import { type Seen, watch } from './watched-device.js'

export interface ProfileOptions {
  /** Tokens of the prompt. */
  readonly prompt: number
  /** Sequences side by side. */
  readonly batch: number
  /** Steps of each kind. */
  readonly steps: number
  /** See `ModelOptions`. */
  readonly quantize?: 'q4f16_1'
  readonly progress?: (message: string) => void
}

export interface OpenedDevice {
  readonly device: Device
  readonly timer: Timer
  readonly current: Current
}

/** Top-p, as most chats ask for it: greedy decoding would hide what drawing costs. */
export const SAMPLE: SampleSettings = {
  ...{ temperature: 0.8, topP: 0.95, seed: 1, index: 0, presencePenalty: 0, frequencyPenalty: 0 },
}
/** Enough for kernels to be compiled and code to be warm. */
const WARM = 3

export async function profileModel(
  { device, timer, current }: OpenedDevice,
  weights: WeightSource,
  { prompt, batch, steps, quantize, progress = () => {} }: ProfileOptions,
): Promise<Part[]> {
  const seen: Seen[] = []
  const watched = watch(device, current, timer, (pass) => seen.push(pass))
  const contextLength = prompt + steps + 16
  const core = await loadCore(watched, weights, {
    contextLength,
    cacheTokens: batch * contextLength,
    maxBatch: batch,
    ...(quantize && { quantize }),
  })
  try {
    const run = new Run(core, timer, seen, device.info.kind === 'cpu')
    progress(`a prompt of ${prompt}`)
    const reading = await run.part(`a prompt of ${prompt} tokens`, steps, () => run.prompt(prompt))
    progress(`decoding x${batch}`)
    return [reading, await run.decoding(prompt, batch, steps)]
  } finally {
    await core.close()
  }
}

interface Taken {
  readonly milliseconds: number
  readonly passes: readonly Seen[]
}

class Run {
  readonly #core: Core
  readonly #timer: Timer
  readonly #seen: Seen[]
  readonly #computes: boolean

  /** `computes`: the device computes in `submit`. */
  constructor(core: Core, timer: Timer, seen: Seen[], computes: boolean) {
    this.#core = core
    this.#timer = timer
    this.#seen = seen
    this.#computes = computes
  }

  /** Timed and untimed steps in turn, so that what else the machine does falls on both alike. */
  async part(title: string, steps: number, step: () => Promise<unknown>): Promise<Part> {
    for (let i = 0; i < WARM; i++) await step()
    const timed: (readonly Timed[])[] = []
    const slow: Taken[] = []
    const plain: Taken[] = []
    for (let i = 0; i < steps; i++) {
      plain.push(await this.#take(step))
      this.#timer.on = true
      try {
        slow.push(await this.#take(step))
      } finally {
        this.#timer.on = false
      }
      timed.push(await this.#timer.collect())
    }
    const rows = rowsOf(timed)
    return {
      title,
      rows,
      milliseconds: sum(rows.map(({ milliseconds }) => milliseconds)),
      unprofiled: lasting(plain),
      profiled: lasting(slow),
      outside: this.#outside(quickest(plain, ({ milliseconds }) => milliseconds)),
    }
  }

  async #take(step: () => Promise<unknown>): Promise<Taken> {
    this.#seen.length = 0
    const start = performance.now()
    await step()
    return { milliseconds: performance.now() - start, passes: [...this.#seen] }
  }

  #outside(taken: readonly Taken[]): Outside[] {
    const of = (read: (pass: Seen) => number) => mean(taken.map(({ passes }) => sum(passes.map(read))))
    const within = of((pass) => pass.recording + pass.submitting + pass.waiting)
    const own = mean(taken.map(({ milliseconds }) => milliseconds)) - within
    const [submitting, waiting] = this.#computes
      ? ['computing', 'letting the event loop turn']
      : ['submitting', 'waiting for the device and its answer']
    return [
      { what: 'recording', milliseconds: of((pass) => pass.recording) },
      { what: submitting, milliseconds: of((pass) => pass.submitting) },
      { what: waiting, milliseconds: of((pass) => pass.waiting) },
      { what: 'JavaScript around it', milliseconds: own },
    ]
  }

  async prompt(length: number): Promise<void> {
    const sequence = this.#core.open()
    try {
      await this.#append(sequence, length, true)
    } finally {
      sequence.close()
    }
  }

  async #append(sequence: Sequence, length: number, sampled: boolean): Promise<void> {
    const { maxChunk, vocabSize } = this.#core
    for (let at = 0; at < length; at += maxChunk) {
      const tokens = Array.from(
        { length: Math.min(maxChunk, length - at) },
        (_, i) => (at + i) % Math.min(1000, vocabSize),
      )
      const last = at + maxChunk >= length
      await this.#core.step([{ sequence, tokens, ...(last && sampled && { sample: SAMPLE }) }])
    }
  }

  async decoding(behind: number, batch: number, steps: number): Promise<Part> {
    const core = this.#core
    const sequences: Sequence[] = []
    try {
      for (let i = 0; i < batch; i++) {
        const sequence = core.open()
        sequences.push(sequence)
        await this.#append(sequence, behind, false)
      }
      const mask = new Uint32Array(Math.ceil(core.vocabSize / 32)).fill(0xffffffff)
      const inputs = (masked: boolean): StepInput[] =>
        sequences.map((sequence, i) => ({
          sequence,
          tokens: [7],
          sample: { ...SAMPLE, seed: i, ...(masked && { mask }) },
        }))
      const back = () => {
        for (const sequence of sequences) sequence.truncate(behind)
      }
      const step = (masked = false) => core.step(inputs(masked)).then(back)
      const title = `a step of decoding, x${batch}, ${behind} tokens behind`
      const part = await this.part(title, steps, () => step())
      const more = [
        await this.#masked(step, steps, mask.byteLength * batch),
        await this.#ahead(inputs(false), steps, back),
      ]
      return { ...part, outside: [...part.outside, ...more] }
    } finally {
      for (const sequence of sequences) sequence.close()
    }
  }

  /** What a grammar's mask adds, uploads included. */
  async #masked(step: (masked: boolean) => Promise<unknown>, steps: number, bytes: number): Promise<Outside> {
    const bare: Taken[] = []
    const masked: Taken[] = []
    await step(true)
    for (let i = 0; i < steps; i++) {
      bare.push(await this.#take(() => step(false)))
      masked.push(await this.#take(() => step(true)))
    }
    const milliseconds = lasting(masked) - lasting(bare)
    return {
      what: `what masks of ${(bytes / 1024).toFixed(1)} KiB add to a step`,
      milliseconds,
    }
  }

  /** Without waiting for each token's way back. */
  async #ahead(inputs: readonly StepInput[], steps: number, back: () => void): Promise<Outside> {
    const walk = async () => {
      for await (const _ of this.#core.run(inputs, steps));
    }
    const walks: Taken[] = []
    for (let i = 0; i < WARM + 1; i++) {
      walks.push(await this.#take(walk))
      back()
    }
    return { what: 'a step where several are in flight', milliseconds: lasting(walks) / steps }
  }
}

function lasting(taken: readonly Taken[]): number {
  return mean(quickest(taken, ({ milliseconds }) => milliseconds).map(({ milliseconds }) => milliseconds))
}
