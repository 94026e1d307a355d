import type { Sampled } from '../../contract/index.js'
import type { Segment } from './plan.js'
import type { Stretch, Writing } from './stretch.js'
import { Thought } from './thought.js'

/** A thought: it ends at its mark, with its budget, or with the model's wish to end, which is its mark then. */
export class ThoughtStretch implements Stretch {
  readonly #answer: Writing
  readonly #thought: Thought
  readonly #written: string

  constructor(answer: Writing, { budget, lead = '', written = '' }: Extract<Segment, { kind: 'thought' }>) {
    const { thoughtMarks, tokenizer } = answer.plan.text
    this.#answer = answer
    this.#thought = new Thought(thoughtMarks!, tokenizer, budget, lead)
    this.#written = written
    answer.thought = this.#thought
  }

  begin(): void {
    this.#answer.out.thought(this.#thought.say(this.#written))
    if (this.#thought.spent) this.#close()
  }

  take({ token }: Sampled): void {
    const { plan, log, out, stops, following } = this.#answer
    // It ends the answer, unless something must be said.
    if (stops.has(token) && following?.kind === 'text') this.#answer.end('stop', token)
    else if (plan.text.ends.has(token) && token !== this.#thought.closing) this.#close()
    else {
      log.append([token])
      const { text, closed, rest } = this.#thought.push(token)
      out.thought(text)
      if (closed) this.#closed(rest)
      else if (this.#thought.spent) this.#close()
    }
  }

  end(): void {
    this.#answer.out.thought(this.#thought.end())
  }

  /** Ends it in the model's place. */
  #close(): void {
    this.end()
    this.#answer.write(this.#answer.plan.text.endOfThought)
    this.#answer.next()
  }

  /** The model has written the mark; `rest` came after it in the same token. */
  #closed(rest: string): void {
    const { plan, following } = this.#answer
    if (following!.kind === 'text') {
      this.#answer.next(rest)
      return
    }
    this.#answer.cut(rest)
    this.#answer.write(plan.text.tokenizer.encodeMarker(plan.text.thoughtMarks!.gap))
    this.#answer.next()
  }
}
