import type { ChatCall, Engine, Part, Usage } from '../../contract/index.js'
import { NO_USAGE } from '../wire/usage.js'

/** Answers of one request that an engine makes at a time, one call's at least: it does as many side by side as it can. */
const AT_ONCE = 16

/** A call for each prompt as one: the choices of each follow those of the one before it, and usage is added up. */
export async function* generateEach(
  engine: Engine,
  call: ChatCall,
  prompts: readonly NonNullable<ChatCall['prompt']>[],
): AsyncGenerator<Part> {
  const n = call.n / prompts.length
  const usages = new Array<Usage>(prompts.length).fill(NO_USAGE)
  let fingerprint: string | undefined
  const running = new Map<number, AsyncIterator<Part>>()
  const coming = new Map<number, Promise<{ readonly at: number; readonly result: IteratorResult<Part> }>>()
  const ask = (at: number) => {
    const next = running.get(at)!.next()
    coming.set(
      at,
      next.then((result) => ({ at, result })),
    )
  }
  let begun = 0
  const begin = () => {
    const at = begun++
    running.set(at, engine.generate({ ...call, n, prompt: prompts[at]! })[Symbol.asyncIterator]())
    ask(at)
  }
  try {
    while (begun < Math.min(Math.max(1, Math.floor(AT_ONCE / n)), prompts.length)) begin()
    while (coming.size > 0) {
      const { at, result } = await Promise.race(coming.values())
      coming.delete(at)
      if (result.done) {
        running.delete(at)
        if (begun < prompts.length) begin()
        continue
      }
      ask(at)
      const part = result.value
      if (part.type !== 'usage') yield { ...part, choice: at * n + (part.choice ?? 0) }
      else {
        usages[at] = part.usage
        fingerprint = part.fingerprint ?? fingerprint
      }
    }
    yield { type: 'usage', usage: usages.reduce(added), ...(fingerprint !== undefined && { fingerprint }) }
  } finally {
    // One has failed, or nobody waits: the others end too.
    for (const each of coming.values()) each.catch(() => undefined)
    await Promise.allSettled([...running.values()].map((each) => each.return?.()))
  }
}

function added(a: Usage, b: Usage): Usage {
  const reasoningTokens = (a.reasoningTokens ?? 0) + (b.reasoningTokens ?? 0)
  return {
    promptTokens: a.promptTokens + b.promptTokens,
    completionTokens: a.completionTokens + b.completionTokens,
    cachedTokens: a.cachedTokens + b.cachedTokens,
    ...(reasoningTokens > 0 && { reasoningTokens }),
  }
}
