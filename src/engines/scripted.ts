import {
  type Capabilities,
  type ChatCall,
  type DecideCall,
  type DecideQuestion,
  type DetokenizeCall,
  type EmbedCall,
  type Engine,
  type ModelInfo,
  type Part,
  type TokenizeCall,
  textOf,
} from '../contract/index.js'
import { assertOptions, type OptionNames, wait } from '../platform/index.js'

/** What happens next: a part, an error, a wait of so many milliseconds. */
export type Step = Part | Error | { readonly type: 'wait'; readonly ms: number }

/** What a model does for a request. */
export type Script = readonly Step[] | string | ((call: ChatCall) => Script | Iterable<Step> | AsyncIterable<Step>)

export interface ScriptedOptions {
  /** The script of each model. A text is sent word by word, then the answer ends. */
  readonly models: Readonly<Record<string, Script>>
  /**
   * What the models can and cannot do.
   * @default as every model
   */
  readonly capabilities?: Capabilities
  /**
   * The vector of an input, a text or tokens, for models whose `capabilities` say `embeddings`.
   * @default no embeddings
   */
  readonly embed?: (input: string | readonly number[], dimensions: number | undefined) => ArrayLike<number>
  /**
   * How likely each option of a question is, on any scale, for models whose `capabilities` have `decisions`; undefined: the
   * question is refused.
   * @default no decisions
   */
  readonly decide?: (question: DecideQuestion, state: DecideCall['state']) => readonly number[] | undefined
  /**
   * The mean wait before each word of a text, in milliseconds; single waits vary with the seed.
   * @default 0
   */
  readonly delayMs?: number
  /**
   * The same seed gives the same delays.
   * @default 1
   */
  readonly seed?: number
}

const OPTIONS: OptionNames<ScriptedOptions> = {
  models: true,
  capabilities: true,
  embed: true,
  decide: true,
  delayMs: true,
  seed: true,
}

const FINGERPRINT = 'fp_scripted'

/** An engine that answers from a script, without a model: for tests of applications. */
export function scripted(options: ScriptedOptions): Engine {
  assertOptions('scripted', options, OPTIONS)
  const { models, capabilities, embed, decide, delayMs = 0, seed = 1 } = options
  const infos: ModelInfo[] = Object.entries(models).map(([id, script]) => ({
    id,
    ownedBy: 'scripted',
    ...(capabilities && { capabilities }),
    ...(typeof script === 'string' && { fingerprint: FINGERPRINT }),
  }))
  const random = mulberry32(seed)
  return {
    version: 2,
    models: infos,
    async *generate(call) {
      const script = Object.hasOwn(models, call.model) ? models[call.model] : undefined
      if (script === undefined) throw new Error(`There is no script for the model '${call.model}'.`)
      for await (const step of stepsOf(script, call, () => delayMs * 2 * random())) {
        call.signal.throwIfAborted()
        if (step instanceof Error) throw step
        if (step.type === 'wait') await wait(step.ms, call.signal)
        else yield step
      }
    },
    ...(embed && {
      embed: async ({ inputs, dimensions }: EmbedCall) => ({
        vectors: inputs.map((input) => embed(input, dimensions)),
        promptTokens: inputs.reduce((sum, input) => sum + tokensOf(input).length, 0),
      }),
    }),
    ...(decide && {
      decide: async ({ state, questions }: DecideCall) => ({
        answers: questions.map((question) => {
          const likely = decide(question, state)
          if (likely === undefined) return { refused: true } as const
          const sum = likely.reduce((total, one) => total + one, 0)
          return { probabilities: likely.map((one) => one / sum) }
        }),
        usage: {
          promptTokens: tokensOf(JSON.stringify([state, questions])).length,
          completionTokens: 0,
          cachedTokens: 0,
        },
      }),
    }),
    tokenize: async (call: TokenizeCall) => {
      const text = 'prompt' in call ? call.prompt : call.messages.map(({ content }) => textOf(content)).join('\n')
      const tokens = tokensOf(text)
      return { tokens, texts: tokens.map((byte) => String.fromCharCode(byte)) }
    },
    detokenize: async ({ tokens }: DetokenizeCall) =>
      new TextDecoder('utf-8', { ignoreBOM: true }).decode(Uint8Array.from(tokens)),
    tokenizerInfo: async () => ({ tokenizer_class: 'ByteTokenizer' }),
  }
}

/** A script has no vocabulary: its tokens are bytes. */
const tokensOf = (input: string | readonly number[]): readonly number[] =>
  typeof input === 'string' ? [...new TextEncoder().encode(input)] : input

function stepsOf(script: Script, call: ChatCall, delay: () => number): Iterable<Step> | AsyncIterable<Step> {
  if (typeof script === 'string') return inWords(script, call, delay)
  if (typeof script !== 'function') return script
  const made = script(call)
  return typeof made === 'string' || typeof made === 'function' ? stepsOf(made, call, delay) : made
}

/** A text as a model would say it: a word at a time, up to the limit, once for each choice. */
function* inWords(
  text: string,
  { n, maxTokens, messages, prompt = '' }: ChatCall,
  delay: () => number,
): Generator<Step> {
  const words = text.match(/\s*\S+|\s+$/g) ?? []
  const spoken = words.slice(0, maxTokens)
  for (const word of spoken) {
    const ms = delay()
    if (ms > 0) yield { type: 'wait', ms }
    for (let choice = 0; choice < n; choice++) yield { type: 'text-delta', choice, text: word }
  }
  const reason = spoken.length < words.length ? 'length' : 'stop'
  for (let choice = 0; choice < n; choice++) yield { type: 'finish', choice, reason }
  const promptLength = typeof prompt === 'string' ? prompt.split(/\s+/).filter(Boolean).length : prompt.length
  const promptTokens = messages.reduce((sum, { content }) => sum + textOf(content).split(/\s+/).length, promptLength)
  const usage = { promptTokens, completionTokens: spoken.length * n, cachedTokens: 0 }
  yield { type: 'usage', usage, fingerprint: FINGERPRINT }
}

/** A small generator of random numbers in [0, 1) that every runtime computes alike. */
function mulberry32(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}
