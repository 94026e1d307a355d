import type { DecideCall, Decided, Decision } from '../../engine.js'
import { inTurns } from '../../platform/turns.js'
import type { ChatText } from '../chat-text.js'
import type { Scheduler } from '../run/scheduler.js'
import type { Slot } from '../run/slot.js'
import type { TokenModel } from '../token-model.js'
import { tooLong } from '../too-long.js'
import { QuestionLane, StateLane } from './lanes.js'
import { piecesOf } from './pieces.js'
import { type AskedTokens, DecidePrompt } from './prompt.js'
import { logSum, type Walk } from './trie.js'

export interface DecideParts {
  readonly model: TokenModel
  readonly text: ChatText
  readonly scheduler: Scheduler
  /** Tokens that one sequence may have. */
  readonly capacity: number
}

/** What was thought about the state before it was asked about. */
export interface SharedThought {
  readonly text: string
  readonly tokens: number
}

/**
 * The probability of each option is that of its whole text behind the question, over those of all options. The state is
 * read once, the questions share it; what one of them answers hangs on no other.
 */
export async function decide(call: DecideCall, parts: DecideParts, thought?: SharedThought): Promise<Decided> {
  const { text, capacity } = parts
  const prompt = await inTurns(DecidePrompt.of(call, text, thought?.text ?? '', capacity), call.signal)
  const asked: AskedTokens[] = []
  for (const [i, question] of call.questions.entries()) {
    // Said before the next one is taken apart.
    for (const one of await inTurns(prompt.asked(question, i, call.order), call.signal)) {
      if (one.length > capacity) throw tooLong(capacity, one.length)
      asked.push(one)
    }
  }
  const found = await new Reading(prompt.state, asked, parts).whole(call.signal)
  const state = prompt.state.length
  const read = asked.reduce((sum, { stem, trie }) => sum + stem.length - state + trie.tokens, state)
  return {
    answers: call.questions.map((_, i) => meanOf(asked.filter(({ question }) => question === i))),
    usage: {
      promptTokens: read,
      completionTokens: thought?.tokens ?? 0,
      cachedTokens: found,
      ...(thought && { reasoningTokens: thought.tokens }),
    },
    fingerprint: parts.model.fingerprint,
  }
}

/** Over the orders in which a question was asked. */
function meanOf(asked: readonly AskedTokens[]): Decision {
  const each = asked.map(({ trie }) => {
    const scores = trie.scores()
    const all = logSum(scores)
    return { mass: Math.exp(all), probabilities: scores.map((score) => Math.exp(score - all)) }
  })
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const probabilities = each[0]!.probabilities.map((_, i) => mean(each.map((one) => one.probabilities[i]!)))
  const sum = probabilities.reduce((total, probability) => total + probability, 0)
  return {
    probabilities: probabilities.map((one) => one / sum),
    optionMass: Math.min(1, mean(each.map(({ mass }) => mass))),
  }
}

/** One call on its way through the scheduler: a few questions at a time beside whatever else runs there. */
class Reading {
  readonly #parts: DecideParts
  readonly #state: StateLane
  readonly #slots: Slot[] = []
  readonly #todo: AskedTokens[]
  /** Of questions that are under way: what options go on with, ahead of the next question. */
  readonly #walks: (() => QuestionLane)[] = []
  #running = 0
  #resolve!: () => void
  #reject!: (error: unknown) => void
  readonly #done: Promise<void>

  constructor(state: readonly number[], asked: readonly AskedTokens[], parts: DecideParts) {
    this.#parts = parts
    this.#todo = asked.filter(({ trie }) => trie.open)
    this.#done = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    this.#state = new StateLane(state, piecesOf([state.length], parts.model), this.#reject)
  }

  /** Resolves, with the tokens of the state that were there already, once everything is answered. */
  async whole(signal: AbortSignal): Promise<number> {
    const { scheduler } = this.#parts
    const leave = () => this.#reject(signal.reason)
    signal.throwIfAborted()
    signal.addEventListener('abort', leave)
    try {
      this.#slots.push(...scheduler.add([this.#state]))
      this.#fill()
      await this.#done
      this.#state.finished = true
      scheduler.poke()
      return this.#state.found
    } finally {
      signal.removeEventListener('abort', leave)
      await scheduler.cancel(this.#slots.filter(({ lane }) => !lane.finished))
    }
  }

  /** As many lanes as may run at once: what options go on with first, so that their question is soon over. */
  #fill(): void {
    const { model, scheduler } = this.#parts
    while (this.#running < model.maxBatch) {
      const lane = this.#walks.shift()?.() ?? this.#next()
      if (lane === undefined) break
      this.#running++
      this.#slots.push(...scheduler.add([lane], this.#slots[0]!))
    }
    if (this.#running === 0) this.#resolve()
  }

  #next(): QuestionLane | undefined {
    const asked = this.#todo.shift()
    if (asked === undefined) return undefined
    return this.#lane(asked, (lane) => this.#open(lane, asked, asked.trie.walks()))
  }

  #lane({ stem, trie }: AskedTokens, done: (lane: QuestionLane) => void): QuestionLane {
    const pieces = piecesOf([this.#state.reads, stem.length], this.#parts.model)
    return new QuestionLane(stem, trie, pieces, done, this.#reject)
  }

  /** A question has been read: what its options go on with is read behind it, the first by its own lane. */
  #open(lane: QuestionLane, asked: AskedTokens, [first, ...others]: readonly Walk[]): void {
    if (first === undefined) {
      this.#over(lane)
      return
    }
    let left = 1 + others.length
    const done = (one: QuestionLane) => {
      left--
      if (one !== lane) this.#over(one)
      if (left === 0) this.#over(lane)
      // Others go on from it.
      else if (one === lane) this.#hold(lane)
    }
    lane.next = done
    lane.go(first)
    for (const walk of others) {
      this.#walks.push(() => {
        const other = this.#lane(asked, done)
        other.go(walk)
        return other
      })
    }
    this.#fill()
  }

  #hold(lane: QuestionLane): void {
    lane.paused = true
    this.#running--
    this.#fill()
  }

  #over(lane: QuestionLane): void {
    lane.end()
    if (!lane.paused) this.#running--
    this.#fill()
  }
}
