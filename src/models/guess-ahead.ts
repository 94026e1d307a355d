/** Guesses by the head that a model has for it, on copies of the sequences, which are gone afterwards. */
import type { GuessInput, Guessing, Sampled, StepInput } from '../contract/index.js'
import { Changes, type PassParts } from './run-pass.js'
import { sampleRowOf } from './sampling.js'
import type { PagedSequence } from './sequence.js'

/** A sequence that is still guessed for. */
interface Turn {
  readonly input: number
  readonly sequence: PagedSequence
  /** The slot of what the model keeps of it. */
  readonly from: number
  readonly given: GuessInput
}

export async function* guessAhead(
  parts: PassParts,
  batch: readonly StepInput[],
  slots: readonly number[],
  /** Whether there is room for one token more of each. */
  mayGoOn: (sequences: readonly PagedSequence[]) => boolean,
): Guessing {
  const copies = batch.map(({ sequence }) => (sequence as PagedSequence).lookAhead())
  try {
    let turns = batch.flatMap(({ sequence, tokens, sample }, input): Turn[] => {
      if (!sample) throw new TypeError('`guess` draws for every sequence of its batch.')
      return sequence.readAlong ? [{ ...copies[input]!, input, given: { tokens, sample } }] : []
    })
    if (turns.length === 0) return
    /** Which row of the last pass is of which input; undefined: there was none. */
    let rows: readonly number[] | undefined
    for (;;) {
      // In each pass is a token of everybody, who would else lose what the head has made of the one before.
      const length = Math.min(...turns.map(({ given }) => given.tokens.length))
      turns = turns.filter(({ given }) => given.tokens.length === length)
      let drawn: readonly Sampled[] = []
      for (let i = 0; i < length; i++) {
        if (!mayGoOn(turns.map(({ sequence }) => sequence))) return
        const before = rows && Int32Array.from(turns, ({ input }) => rows!.indexOf(input))
        rows = turns.map(({ input }) => input)
        drawn = await guessOnce(parts, turns, i, before, i === length - 1 ? slots : undefined)
      }
      const results = new Array<Sampled | undefined>(batch.length).fill(undefined)
      for (const [k, { input }] of turns.entries()) results[input] = drawn[k]
      const next = yield results
      turns = turns.flatMap((turn) => {
        const given = next[turn.input]
        return given ? [{ ...turn, given }] : []
      })
      if (turns.length === 0) return
    }
  } finally {
    for (const { sequence } of copies) sequence.close()
  }
}

/** The token at `at` of each through the head; `slots`: something is drawn. */
async function guessOnce(
  { device, decoder, sampler, kept }: PassParts,
  turns: readonly Turn[],
  at: number,
  before: Int32Array | undefined,
  slots: readonly number[] | undefined,
): Promise<readonly Sampled[]> {
  const changes = new Changes()
  const spans = turns.map(({ sequence, from, given }) => {
    const span = changes.append(sequence, Int32Array.of(given.tokens[at]!))
    return { ...span, state: { from, to: Math.max(0, from) } }
  })
  const pass = device.begin({ spans, sampler })
  changes.record(pass, kept.caches)
  decoder.guess(pass, before, slots !== undefined)
  if (slots)
    decoder.sample(
      pass,
      sampler,
      turns.map(({ given, input }) => sampleRowOf(given.sample, slots[input]!)),
    )
  return pass.submit()
}
