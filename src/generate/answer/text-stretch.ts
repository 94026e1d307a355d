import type { Sampled } from '../../contract/index.js'
import { thoughtBudget } from '../thinking.js'
import type { TextPiece } from './output.js'
import { logprobOf } from './sampling.js'
import type { Stretch, Writing } from './stretch.js'

/** Free text: it ends at a stop, and where the model opens a call, or thinks first. */
export class TextStretch implements Stretch {
  readonly #answer: Writing
  /** Text that is there already. */
  readonly #written: string
  /** Tokens before it. */
  readonly #from: number
  /** Nothing of it has been shown: a thought may still come first. */
  #fresh = true

  constructor(answer: Writing, written: string) {
    this.#answer = answer
    this.#written = written
    this.#from = answer.log.generated
  }

  begin(): void {
    const { out, mustGoOn, thought } = this.#answer
    out.beginText(this.#needles(!mustGoOn), this.#beginnings(), thought !== undefined)
    if (this.#written !== '') this.#shown(out.content(new TextEncoder().encode(this.#written)))
  }

  take(sampled: Sampled): void {
    const { plan, log, out, markers, stops, mustGoOn } = this.#answer
    const { tokenizer } = plan.text
    const { token } = sampled
    if (stops.has(token)) {
      this.#answer.end('stop', token)
      return
    }
    log.append([token])
    if (this.#fresh && this.#mayThink && token === this.#thoughtToken) {
      const { open } = plan.text.thoughtMarks!
      this.#think(tokenizer.bytes(token).length > 0 ? '' : open.slice(tokenizer.name(token).length))
    } else if (token === markers.control) {
      out.endText()
      this.#answer.insert({ kind: 'call', written: tokenizer.name(token) })
    } else {
      const piece = out.content(tokenizer.bytes(token), logprobOf(sampled, tokenizer, plan.call))
      if (mustGoOn && !this.#answer.mustGoOn) out.watchFor(this.#needles(true))
      this.#shown(piece)
    }
  }

  /** Where free text ends: at a tool call, and at stops once the answer may end. */
  #needles(mayEnd: boolean): string[] {
    const { plan, markers } = this.#answer
    const { mayOpen, trigger } = markers
    return [...(mayEnd ? plan.call.stop : []), ...(mayOpen && trigger !== '' ? [trigger] : [])]
  }

  /** What free text may begin with that is none. */
  #beginnings(): string[] {
    const { plan, markers } = this.#answer
    const { toolFormat, thoughtMarks } = plan.text
    const call = markers.mayOpen && toolFormat.bare ? [toolFormat.bare] : []
    // One thought an answer: after it the mark would be text.
    return this.#mayThink ? [...call, thoughtMarks!.open.trimEnd()] : call
  }

  get #mayThink(): boolean {
    const { plan, thought } = this.#answer
    return plan.text.thoughtMarks !== undefined && plan.call.prompt === undefined && thought === undefined
  }

  /** The token that a thought's mark begins with, where it is a token of its own. */
  get #thoughtToken(): number | undefined {
    const { tokenizer, thoughtMarks } = this.#answer.plan.text
    const [first, ...rest] = tokenizer.encodeMarker(thoughtMarks!.open.trimEnd())
    return rest.length === 0 || tokenizer.special.has(first!) ? first : undefined
  }

  /** The text is none yet: it begins once more behind a thought. */
  #think(lead: string, written?: string): void {
    const { plan, remaining } = this.#answer
    const { call, text, shortest } = plan
    const budget = thoughtBudget(call, remaining, text.endOfThought.length + shortest)
    this.#answer.insert({ kind: 'thought', budget, lead, ...(written && { written }) }, { kind: 'text' })
  }

  /** It has been shown; it may have come to its end. */
  #shown(piece: TextPiece): void {
    const { plan, markers, log } = this.#answer
    const { mayOpen, trigger } = markers
    const { toolFormat, thoughtMarks } = plan.text
    this.#fresh &&= piece.text.trim() === ''
    if (piece.found === undefined) return
    if (this.#mayThink && piece.found === thoughtMarks!.open.trimEnd()) this.#think('', piece.rest)
    else if (mayOpen && piece.found === toolFormat.bare) {
      // The grammar writes the call from its beginning, in its own spacing.
      log.drop(log.generated - this.#from)
      this.#answer.insert({ kind: 'call' })
    } else if (mayOpen && piece.found === trigger) {
      this.#answer.cut(piece.rest)
      this.#answer.insert({ kind: 'call', written: piece.found })
    } else this.#answer.end('stop', undefined, piece.found)
  }
}
