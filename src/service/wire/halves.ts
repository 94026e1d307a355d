import type { Part } from '../../contract/index.js'

const SURROGATE = /[\ud800-\udfff]/
const LONE = /\p{Surrogate}/gu

/**
 * Parts whose texts have whole characters: an engine may cut one in two, and half of one is no text, which strict parsers
 * refuse. The first half waits for the second; one that stays alone is told as U+FFFD, and at the end of a text not at all.
 */
export class Halves {
  readonly #waiting = new Map<string, string>()

  joined(part: Part): Part {
    if (part.type !== 'text-delta' && part.type !== 'reasoning-delta' && part.type !== 'tool-call-delta') return part
    const said = part.type === 'tool-call-delta' ? part.arguments : part.text
    if (this.#waiting.size === 0 && !SURROGATE.test(said)) return part
    const key = `${part.type} ${part.choice} ${'index' in part ? part.index : ''}`
    const text = (this.#waiting.get(key) ?? '') + said
    const half = /[\ud800-\udbff]$/.exec(text)?.[0] ?? ''
    this.#waiting.delete(key)
    if (half) this.#waiting.set(key, half)
    const whole = text.slice(0, text.length - half.length).replace(LONE, '\ufffd')
    return part.type === 'tool-call-delta' ? { ...part, arguments: whole } : { ...part, text: whole }
  }
}
