import type { Sampled } from '../../contract/index.js'
import type { Mask } from './guided.js'
import { GuidedStretch } from './guided-stretch.js'
import type { Stretch, Writing } from './stretch.js'

/** A model that cannot stop calling is stopped. */
const MOST_CALLS = 32

/** A tool call, behind its marker. */
export class CallStretch extends GuidedStretch {
  readonly #written: string

  /** `written`: what of its marker is there already. */
  constructor(answer: Writing, written = '') {
    super(answer, answer.plan.text.toolFormat.grammar(answer.plan.call))
    this.#written = written
  }

  begin(): void {
    const { log, markers, out } = this.answer
    log.append(markers.opening(this.#written))
    if (this.guided.shortest > this.answer.remaining) this.answer.end('length')
    else out.beginCall()
  }

  protected override completed(): void {
    const { markers, out, plan, log, remaining } = this.answer
    // A model that says the same again would go on with it.
    const isNew = out.endCall()
    const { closing, next, separator, shortest, shortestNext } = markers
    const isList = separator.length > 0
    const mayGoOn = isNew && plan.call.parallelToolCalls && (isList || next.length > 0) && out.calls < MOST_CALLS
    if (!mayGoOn || closing.length + (isList ? shortestNext : shortest) > remaining) {
      this.answer.end('tool_calls')
      return
    }
    if (!isList) log.append(closing)
    this.answer.insert({ kind: 'between' })
  }

  protected override bytesOf(token: number): Uint8Array {
    return this.answer.plan.text.bytesInCall(token)
  }

  protected override show(bytes: Uint8Array): void {
    this.answer.out.callBytes(bytes)
  }
}

/** After a call: the model chooses between the end and the next one. */
export class BetweenStretch implements Stretch {
  readonly #answer: Writing

  constructor(answer: Writing) {
    this.#answer = answer
  }

  mask(mask: Mask): Uint32Array {
    const { next, separator, closing } = this.#answer.markers
    return mask.only(separator.length > 0 ? [separator[0]!, closing[0]!] : [...this.#answer.plan.text.ends, next[0]!])
  }

  take({ token }: Sampled): void {
    const { next, separator } = this.#answer.markers
    if (token === separator[0]) this.#open(separator)
    else if (token === next[0]) this.#open(next)
    else this.#answer.end('tool_calls')
  }

  /** Begins a call whose whole marker is certain now. */
  #open(marker: readonly number[]): void {
    this.#answer.log.append(marker)
    this.#answer.insert({ kind: 'call', written: this.#answer.plan.text.toolFormat.open })
  }
}
