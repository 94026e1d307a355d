/** What `/v1/completions` tells of a prompt (`echo` with `logprobs`), beside what llama.cpp thinks of it by the same file. */
import { webgpu } from '../../src/engines/webgpu/index.js'
import { createV1 } from '../../src/index.js'
import { probabilitiesOf } from '../models/llama-cpp.js'

/** Nats. Keys and values are kept in f16 by us, in f32 by llama.cpp, which rounds activations to f16 beside f16 weights. */
const BOUND = 3e-2
const TOP = 5
/** As harnesses ask, which score texts, and with an answer behind the prompt. */
const ROOMS = [0, 3]

export interface Echo {
  /** Tokens of prompts that were compared. */
  readonly tokens: number
  /** Of each token, and of the likeliest in its place. */
  readonly worst: number
  readonly good: boolean
}

interface Completion {
  readonly choices: readonly {
    readonly logprobs: {
      readonly token_logprobs: readonly (number | null)[]
      readonly top_logprobs: readonly (Readonly<Record<string, number>> | null)[]
    }
  }[]
}

/** `tokens` are the prompt's. */
export async function checkEcho(path: string, tokens: readonly number[], peers: string): Promise<Echo> {
  const theirs = await probabilitiesOf(peers, path, { of: {}, tokens, count: tokens.length })
  const engine = webgpu({ models: [{ id: 'made/up', from: path }], device: 'cpu', log: () => {} })
  const v1 = createV1({ engine, keys: 'none' })
  try {
    let [compared, worst] = [0, 0]
    for (const max_tokens of ROOMS) {
      const body = { model: 'made/up', prompt: tokens, echo: true, logprobs: TOP, max_tokens, temperature: 0 }
      const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
      const answer = await v1.fetch(new Request('http://localhost/v1/completions', init))
      if (answer.status !== 200) throw new Error(await answer.text())
      const { token_logprobs: logprobs, top_logprobs: top } = ((await answer.json()) as Completion).choices[0]!.logprobs
      if (logprobs[0] !== null || logprobs.length < tokens.length)
        throw new Error(`It tells of ${logprobs.length} tokens.`)
      for (let i = 1; i < tokens.length; i++) {
        const shares = theirs[i - 1]!
        const own = Math.log(shares.get(tokens[i]!)!)
        const best = [...shares.values()].sort((a, b) => b - a).slice(0, TOP)
        const named = [own, ...best.map((share) => Math.log(share))]
        // By name: of pieces of a letter, which share one, the likeliest is told.
        const far = Object.values(top[i]!).map((nats) => Math.min(...named.map((each) => Math.abs(each - nats))))
        const first = Math.max(...Object.values(top[i]!)) - named[1]!
        worst = Math.max(worst, Math.abs(logprobs[i]! - own), Math.abs(first), ...far)
        compared++
      }
    }
    return { tokens: compared, worst, good: worst < BOUND && compared === ROOMS.length * (tokens.length - 1) }
  } finally {
    await v1.close()
  }
}
