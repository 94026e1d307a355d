import type { DecideCall, TokenModel } from '../../contract/index.js'
import type { LanePieces } from '../answer/lane.js'
import type { Scheduler } from '../run/scheduler.js'
import type { Slot } from '../run/slot.js'
import { QuestionLane, RowsLane, StateLane, type StemLane } from './lanes.js'
import { isLong, stretchPieces } from './pieces.js'
import type { Rows } from './rows.js'
import type { OptionTrie, Walk } from './trie.js'

export interface ReadingParts {
  readonly model: TokenModel
  readonly scheduler: Scheduler
}

interface OptionQuestion {
  readonly stem: readonly number[]
  readonly trie: OptionTrie
}

/** Read by the tokens of its options, or by what a head of the model makes of some of its places. */
export type ReadQuestion = OptionQuestion | { readonly stem: readonly number[]; readonly rows: Rows }

/**
 * Reads all questions. Each stem begins with the state, which is read once; returns how many tokens of it had been read
 * by an earlier request.
 */
export function readQuestions(
  state: readonly number[],
  questions: readonly ReadQuestion[],
  parts: ReadingParts,
  call: Pick<DecideCall, 'signal' | 'caller'>,
): Promise<number> {
  return new Reading(state, questions, parts).whole(call)
}

/** One call on its way through the scheduler: a few questions at a time beside whatever else runs there. */
class Reading {
  readonly #parts: ReadingParts
  readonly #state: StateLane
  readonly #slots: Slot[] = []
  readonly #todo: ReadQuestion[]
  /** Of questions that are under way: the rest of their options, ahead of the next question. */
  readonly #walks: (() => QuestionLane)[] = []
  #running = 0
  #resolve!: () => void
  #reject!: (error: unknown) => void
  readonly #done: Promise<void>

  constructor(state: readonly number[], questions: readonly ReadQuestion[], parts: ReadingParts) {
    this.#parts = parts
    this.#todo = questions.filter((one) => 'rows' in one || one.trie.open)
    this.#done = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    this.#state = new StateLane(state, stretchPieces([state.length], parts.model), this.#reject)
  }

  /** Resolves, with the tokens of the state that were there already, once everything is answered. */
  async whole({ signal, caller }: Pick<DecideCall, 'signal' | 'caller'>): Promise<number> {
    const { scheduler } = this.#parts
    const leave = () => this.#reject(signal.reason)
    signal.throwIfAborted()
    signal.addEventListener('abort', leave)
    try {
      this.#slots.push(...scheduler.add([this.#state], { caller }))
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

  /** As many lanes as may run at once: the rest of options first, so that their question is soon over. */
  #fill(): void {
    const { model, scheduler } = this.#parts
    while (this.#running < model.maxBatch) {
      const lane = this.#walks.shift()?.() ?? this.#next()
      if (lane === undefined) break
      this.#running++
      this.#slots.push(...scheduler.add([lane], { first: this.#slots[0]! }))
    }
    if (this.#running === 0) this.#resolve()
  }

  #next(): StemLane | undefined {
    const question = this.#todo.shift()
    if (question === undefined) return undefined
    if ('rows' in question) return this.#rows(question.stem, question.rows)
    return this.#lane(question, (lane) => this.#open(lane, question, question.trie.walks()))
  }

  #rows(stem: readonly number[], rows: Rows): StemLane {
    const pieces = stretchPieces([this.#state.reads, rows.first, stem.length], this.#parts.model)
    return new RowsLane(stem, rows, pieces, (lane) => this.#over(lane), this.#reject)
  }

  #lane({ stem, trie }: OptionQuestion, done: (lane: QuestionLane) => void): QuestionLane {
    const pieces = stretchPieces([this.#state.reads, stem.length], this.#parts.model)
    return new QuestionLane(stem, trie, pieces, done, this.#reject)
  }

  /** A question has been read: the rest of its options is read behind it, the first by its own lane. */
  #open(lane: QuestionLane, question: OptionQuestion, [first, ...others]: readonly Walk[]): void {
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
    const long = [first, ...others].some(({ stops }) => isLong(stops))
    const pieces = ({ stops }: Walk) => this.#piecesOf(question.stem, long ? stops : [])
    lane.go(first, pieces(first), long)
    for (const walk of others) {
      this.#walks.push(() => {
        const other = this.#lane(question, done)
        other.go(walk, pieces(walk), long)
        return other
      })
    }
    this.#fill()
  }

  /** Of long options from one place to the next where some part, whichever walk comes there first; else a few tokens. */
  #piecesOf(stem: readonly number[], stops: readonly number[]): LanePieces | undefined {
    const behind = stops.map((stop) => stem.length + stop)
    return stretchPieces([this.#state.reads, stem.length, ...behind], this.#parts.model)
  }

  #hold(lane: QuestionLane): void {
    lane.paused = true
    this.#running--
    this.#fill()
  }

  #over(lane: StemLane): void {
    lane.end()
    if (!lane.paused) this.#running--
    this.#fill()
  }
}
