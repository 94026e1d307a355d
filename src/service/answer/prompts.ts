import type { ChatCall, Part, Usage } from '../../contract/index.js'
import { PartQueue } from '../../platform/index.js'
import { Leavable } from '../stream/abort.js'
import type { Service } from './service.js'

/** Answers of one request that an engine makes at a time, one call's at least: it does as many side by side as it can. */
const AT_ONCE = 16

/** The next part of a prompt's answer, undefined at its end, or why there is none. */
type Come = { readonly at: number } & ({ readonly part: Part | undefined } | { readonly error: unknown })

/**
 * A call for each prompt as one: the choices of each follow those of the one before it, and usage is added up. `late` hears
 * of each that did not end.
 */
export async function* generateEach(
  { engine, patience }: Service,
  call: ChatCall,
  prompts: readonly NonNullable<ChatCall['prompt']>[],
  late: () => void,
): AsyncGenerator<Part> {
  const n = call.n / prompts.length
  const open = prompts.map(() => n)
  const usages = new Map<number, Usage>()
  let fingerprint: string | undefined
  const running = new Map<number, Leavable<Part>>()
  // Each hears by a signal of its own that nobody waits: Node warns of a signal that more than ten listen to.
  const ends: AbortController[] = []
  const end = () => {
    for (const each of ends) each.abort(call.signal.reason)
  }
  call.signal.addEventListener('abort', end)
  // Of each the next part: all would be waited for anew for each that comes. One that fails is heard of once somebody asks.
  const come = new PartQueue<Come>(prompts.length, () => {})
  const ask = (at: number) => {
    const told = (part: Part | undefined) => come.push({ at, part })
    running.get(at)!.ask(told, (error) => come.push({ at, error }), open[at] === 0 ? patience : undefined)
  }
  let begun = 0
  const begin = () => {
    const at = begun++
    const own = new AbortController()
    ends.push(own)
    if (call.signal.aborted) own.abort(call.signal.reason)
    const each = { ...call, n, prompt: prompts[at]!, signal: own.signal }
    running.set(at, new Leavable(engine.generate(each)))
    ask(at)
  }
  try {
    while (begun < Math.min(Math.max(1, Math.floor(AT_ONCE / n)), prompts.length)) begin()
    while (running.size > 0) {
      for (const one of (await come.take())!) {
        if ('error' in one) throw one.error
        const { at, part } = one
        if (part === undefined) {
          const over = running.get(at)!
          running.delete(at)
          if (!over.ended) {
            late()
            ends[at]!.abort()
            void over.leave()
          }
          if (begun < prompts.length) begin()
          continue
        }
        if (part.type === 'finish') open[at]!--
        ask(at)
        if (part.type === 'usage') {
          usages.set(at, part.usage)
          fingerprint = part.fingerprint ?? fingerprint
          continue
        }
        const { choice = 0 } = part
        if (!(choice >= 0 && choice < n))
          throw new Error(`The engine sent a ${part.type} for choice ${choice} of ${n}.`)
        yield { ...part, choice: at * n + choice }
      }
    }
    // What is not told is counted by its pieces, as that of one prompt is.
    if (usages.size === 0) return
    const usage = [...usages.values()].reduce(added)
    yield { type: 'usage', usage, ...(fingerprint !== undefined && { fingerprint }) }
  } finally {
    call.signal.removeEventListener('abort', end)
    // One has failed, or nobody waits: the others end too, which by `return` alone they do with their next part.
    end()
    await Promise.all([...running.values()].map((each) => each.leave()))
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
