import type { Sampled } from '../../contract/index.js'
import type { Channels } from '../channels.js'
import { thoughtBudget, thoughtWish } from '../thinking.js'
import { maskOnly } from './guided.js'
import type { Segment } from './plan.js'
import type { Stretch, Writing } from './stretch.js'

/** The head of a message, whose channel the model chooses: it thinks, says something, or calls. */
export class ChannelStretch implements Stretch {
  readonly #answer: Writing
  readonly #channels: Channels
  /** By the first token of a channel's name: the name, and what follows it. */
  readonly #ways: ReadonlyMap<number, { readonly name: readonly number[]; readonly segments: readonly Segment[] }>
  /** What it begins with in any case. */
  readonly #opening: readonly number[]
  /** The most tokens of a head. */
  readonly #longest: number
  #begun = false

  constructor(answer: Writing, again = false) {
    const { tokenizer, channels } = answer.plan.text
    this.#answer = answer
    this.#channels = channels!
    const { open, close, thought, final, called } = this.#channels
    const { mayOpen } = answer.markers
    this.#opening = tokenizer.encodeMarker((again ? this.#channels.again : '') + open)
    const head: Segment = { kind: 'literal', text: close }
    const ways: [name: string, segments: readonly Segment[]][] = [[final, [head, { kind: 'text' }]]]
    const thoughts = this.#thoughts()
    if (thoughts) ways.push([thought, [head, ...thoughts]])
    if (mayOpen) ways.push([called, [{ kind: 'call', written: open + called }]])
    const named = ways.map(([text, segments]) => ({ name: tokenizer.encodeContinuation(text), segments }))
    this.#ways = new Map(named.map((way) => [way.name[0]!, way]))
    const names = Math.max(...named.map(({ name }) => name.length))
    this.#longest = this.#opening.length + names + tokenizer.encodeMarker(close).length
  }

  /** What may come before anything is said; undefined: nothing, or it was there. */
  #thoughts(): readonly Segment[] | undefined {
    const { plan, thought, remaining } = this.#answer
    const { call, text } = plan
    if (thought !== undefined || text.thoughtMarks === undefined || thoughtWish(call) === 'be brief') return undefined
    const { again, open, final, close } = this.#channels
    const rest = text.endOfThought.length + text.tokenizer.encodeMarker(again + open + final + close).length
    const budget = thoughtBudget(call, remaining, rest + plan.shortest)
    if (budget < 1) return undefined
    return [
      { kind: 'thought', budget },
      { kind: 'channel', again: true },
    ]
  }

  mask(mask: Uint32Array): Uint32Array {
    return maskOnly(mask, this.#ways.keys())
  }

  advance(): boolean {
    const { remaining } = this.#answer
    if (!this.#begun) {
      if (remaining <= this.#longest) {
        this.#answer.end('length')
        return true
      }
      this.#begun = true
      this.#answer.write(this.#opening)
    }
    const [only, ...others] = this.#ways.values()
    if (others.length > 0) return false
    this.#answer.write(only!.name)
    this.#answer.insert(...only!.segments)
    return true
  }

  take({ token }: Sampled): void {
    const { name, segments } = this.#ways.get(token)!
    this.#answer.log.append([token])
    this.#answer.write(name.slice(1))
    this.#answer.insert(...segments)
  }
}
