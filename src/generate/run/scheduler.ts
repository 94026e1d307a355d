import { type Sampled, type Sequence, type StepInput, type TokenModel, UNDRAWN, V1Error } from '../../contract/index.js'
import { beginSteps, breathe, during } from '../../platform/index.js'
import type { Lane } from '../answer/lane.js'
import { type DraftedStep, Drafting } from '../drafts/drafting.js'
import type { DraftWriter, Guesser } from '../drafts/guesser.js'
import type { DraftMode } from '../drafts/mode.js'
import type { Drafted } from '../drafts/path.js'
import { Ahead } from './ahead.js'
import {
  compose,
  draftedInput,
  inputOf,
  isPrepared,
  nextSettings,
  type Row,
  roomLeft,
  stepsAhead,
  stepsToRead,
} from './batch.js'
import { isCacheFull, modelFailed, notNumbers, quietly } from './failure.js'
import { Memory, serves } from './memory.js'
import { inLine, MAY_BE_PASSED, makeSlot, needsLittle, promptIsIn, type Slot, sync } from './slot.js'

/** How a step goes on. */
interface Running {
  /** That may be taken without reading back what is drawn. */
  readonly steps: number
  /** Whether the next pass may begin before it is known how its tokens are drawn, and for how many steps. */
  readonly mayFollow: boolean
  readonly most: number | undefined
}

/**
 * Runs all answers of one model side by side: whoever is ready gets its next token in the same step, prompts come in
 * chunks in between. It alone touches sequences, between steps.
 */
export class Scheduler {
  readonly #model: TokenModel
  readonly #memory: Memory
  readonly #ahead: number
  /** Undefined: the model draws one token of an answer a step. */
  readonly #drafting: Drafting | undefined
  /** How often guesses were right; undefined where none are made. */
  readonly guesses: Drafting['counts'] | undefined
  /** What made the model unusable; every later call fails with it. */
  failure: unknown
  readonly #begun = new Ahead()
  #waiting: Slot[] = []
  /** Each has a sequence. */
  #running: Slot[] = []
  #work: Promise<void> | undefined
  #stepping = false
  #steps = 0
  #wake: (() => void) | undefined

  /**
   * `ahead`: steps that the model may run ahead of what was read back, where it can; `drafts`: whether it guesses, and
   * `small`: by what else, too.
   */
  constructor(model: TokenModel, ahead: number, drafts: DraftMode = 'never', small?: Guesser) {
    this.#model = model
    this.#ahead = model.run === undefined ? 1 : ahead
    this.#memory = new Memory(model)
    this.#drafting = drafts !== 'never' && (model.maxSamples ?? 0) > 1 ? new Drafting(model, drafts, small) : undefined
    this.guesses = this.#drafting?.counts
  }

  get idle(): boolean {
    return this.#running.length + this.#waiting.length === 0
  }

  /** Queues the choices of one call, whose that is; `first`: more of those that it has already. */
  add(lanes: readonly Lane[], { caller, first }: { readonly caller?: string | undefined; readonly first?: Slot } = {}) {
    if (this.failure !== undefined) throw this.failure
    const slots: Slot[] = []
    for (const lane of lanes) slots.push(makeSlot(lane, first ?? slots[0], caller))
    this.#waiting.push(...slots)
    this.poke()
    return slots
  }

  /** Ends the slots and frees what they hold, after the step that is running. */
  async cancel(slots: readonly Slot[]): Promise<void> {
    for (const slot of slots) slot.cancelled = !slot.lane.finished
    if (!this.#stepping) this.#sweep()
    this.poke()
    for (const { released } of slots) await released
  }

  /** Something has changed: a slot came or went, a reader has caught up. */
  poke(): void {
    this.#wake?.()
    this.#wake = undefined
    this.#work ??= this.#loop()
  }

  /** Fails whatever runs and forgets the cache. The model itself is the caller's. */
  stop(error: unknown): void {
    this.failure ??= error
    for (const slot of [...this.#running, ...this.#waiting]) if (!slot.lane.finished) slot.lane.fail(error)
    if (!this.#stepping) this.#dropAll()
    this.poke()
  }

  /** Resolves once no step is running. */
  async stopped(): Promise<void> {
    await this.#work
  }

  async #loop(): Promise<void> {
    // The caller that woke the loop goes on first: calls that come together start together.
    await Promise.resolve()
    let endSteps = beginSteps()
    try {
      while (this.failure === undefined) {
        this.#sweep()
        // An answer that has waited may have replaced some of its tokens meanwhile.
        for (const slot of this.#running) if (slot.lane.kept < slot.sequence!.length) sync(slot)
        // What has become too long for its sequence begins anew, in one for as many tokens.
        for (const slot of this.#running) if (!serves(slot.sequence!, slot.lane.tokens.length)) this.#preempt(slot)
        this.#admit()
        const rows = this.#fit(compose(this.#running, this.#model).filter(isPrepared))
        if (rows.length > 0) await this.#advance(rows)
        else if (this.idle) return
        else if (this.#running.every(({ lane }) => lane.paused)) {
          endSteps()
          await new Promise<void>((resolve) => {
            this.#wake = resolve
          })
          endSteps = beginSteps()
        }
        await breathe()
      }
    } catch (cause) {
      this.stop(modelFailed(cause))
    } finally {
      endSteps()
      this.#work = undefined
      if (this.failure !== undefined) this.#dropAll()
    }
  }

  /** Lets go of all slots that are over. */
  #sweep(): void {
    for (const slots of [this.#running, this.#waiting]) {
      for (const slot of slots.splice(0)) {
        if (slot.cancelled || slot.lane.finished) this.#letGo(slot)
        else slots.push(slot)
      }
    }
  }

  #letGo(slot: Slot): void {
    const { sequence, lane } = slot
    this.#drafting?.small?.drop(lane)
    slot.sequence = undefined
    if (sequence !== undefined) {
      if (slot.cancelled || slot.spoilt) sequence.close()
      else {
        if (sequence.length > lane.kept) sequence.truncate(lane.kept)
        this.#memory.keep(lane.tokens, sequence)
      }
    }
    slot.release()
  }

  /**
   * Waiting slots move up while there is a place in the batch and room in the cache. A call that has nothing there gets
   * a place out of those that others have more than one of: eight choices of one call are no eight calls, and eight
   * calls of one caller no eight callers. They then take part in turns.
   */
  #admit(): void {
    if (this.#waiting.length === 0) return
    const share = this.#memory.share
    let wentBefore = 0
    // Looked at once for all that wait, and again where one has begun: there may be a thousand of them in every step.
    let there = this.#there()
    for (const slot of inLine(this.#waiting, this.#running, share)) {
      if (there.calls && !this.#isNew(slot, there.callers)) continue
      if (there.rows && this.#shares(slot)) continue
      if (slot.lane.paused || (slot.call !== slot && isBeingRead(slot.call))) continue
      const little = needsLittle(slot, share)
      slot.lacksRoom = !this.#start(slot)
      if (slot.lacksRoom) break
      if (little) wentBefore++
      this.#waiting.splice(this.#waiting.indexOf(slot), 1)
      there = this.#there()
    }
    for (const slot of this.#waiting) if (slot.lacksRoom) slot.passed += wentBefore
  }

  /** There must be room for what the others write while it is read, too: who is put back meanwhile was read in vain. */
  #start(slot: Slot): boolean {
    const { lane } = slot
    const sequence = this.#memory.acquire(lane, this.#running)
    const found = sequence.length
    const unread = lane.tokens.length - found
    const need = () => {
      const written = (this.#running.length + 1) * (1 + stepsToRead(unread, this.#model))
      return this.#memory.cost(sequence, unread + written)
    }
    const little = needsLittle(slot, this.#memory.share)
    while (!this.#memory.makeRoom(need())) {
      // To a call that needs little who has much gives its room, as long as it was not passed too often.
      const giver = () => (little ? this.#greedy(({ passed }) => passed < MAY_BE_PASSED) : undefined)
      const victim = this.#idle() ?? (this.#shares(slot) ? undefined : (this.#spare() ?? giver()))
      if (victim !== undefined) this.#preempt(victim)
      else if (this.#running.length === 0) break
      else {
        this.#memory.keep(lane.tokens, sequence)
        return false
      }
    }
    // A slot that starts over finds its own tokens again: those are no gift of an earlier call.
    if (slot.call === slot && !slot.started) lane.cached(found)
    slot.started = true
    slot.sequence = sequence
    lane.holds?.(sequence.length)
    this.#running.push(slot)
    return true
  }

  #idle(): Slot | undefined {
    return this.#running.findLast((slot) => slot.lane.paused)
  }

  /** The youngest of those whose calls go on without them. */
  #spare(): Slot | undefined {
    return this.#running.findLast((slot) => this.#shares(slot))
  }

  /**
   * The youngest that has more of the cache than an equal share: whoever has just begun would else begin again and again
   * beside long answers. Never the oldest: somebody always comes to an end.
   */
  #greedy(may: (slot: Slot) => boolean = () => true): Slot | undefined {
    const { share } = this.#memory
    return this.#running.findLast((slot, i) => i > 0 && slot.sequence!.length > share && may(slot))
  }

  /** Whether another choice of the same call is running. */
  #shares(slot: Slot): boolean {
    return this.#running.some((other) => other !== slot && other.call === slot.call)
  }

  /** Whether the batch has as many calls, or as many rows, as it takes, and whose they are, also of those that pause. */
  #there() {
    const { maxBatch } = this.#model
    const [calls, callers] = [new Set<Slot>(), new Set<string | Slot>()]
    let rows = 0
    for (const slot of this.#running) {
      callers.add(slot.owner)
      if (slot.lane.paused) continue
      calls.add(slot.call)
      rows++
    }
    return { calls: calls.size >= maxBatch, rows: rows >= maxBatch, callers }
  }

  /** Whether nothing of its caller runs: there is always a place for it, where several sequences are held. */
  #isNew(slot: Slot, callers: ReadonlySet<string | Slot>): boolean {
    return typeof slot.owner === 'string' && this.#model.maxBatch > 1 && !callers.has(slot.owner)
  }

  /** Takes the cache from a slot; it starts over, and comes to the same answer, once there is room again. */
  #preempt(slot: Slot): void {
    slot.sequence!.close()
    slot.sequence = undefined
    slot.lane.holds?.(0)
    slot.lacksRoom = true
    this.#running = this.#running.filter((other) => other !== slot)
    this.#waiting.unshift(slot)
  }

  /** Rows for which there is room; young slots give way to the others, further choices of a call and long ones first. */
  #fit(rows: Row[]): Row[] {
    let fitting = rows
    while (!this.#memory.roomFor(fitting)) {
      const victim = this.#idle() ?? this.#spare() ?? this.#greedy() ?? this.#running.at(-1)!
      if (this.#running.length === 1) {
        victim.lane.fail(new V1Error(503, 'The model has no memory left for this request.', { code: 'out_of_memory' }))
        return []
      }
      this.#preempt(victim)
      fitting = fitting.filter(({ slot }) => slot !== victim)
    }
    return fitting
  }

  async #advance(rows: readonly Row[]): Promise<void> {
    const inputs: StepInput[] = []
    const taking: Row[] = []
    const begun = performance.now()
    const writing = rows.every(({ slot }) => promptIsIn(slot))
    const drafted = writing && this.#drafting ? await this.#foresee(rows, this.#drafting) : undefined
    if (this.failure !== undefined) return
    const before = drafted ? heldBy(rows) : 0
    for (const row of rows) {
      // Somebody may have left while another model guessed.
      if (row.slot.cancelled) continue
      const { drafted } = row.slot
      const input = drafted ? draftedInput(row, drafted) : inputOf(row)
      if (input === undefined) continue
      inputs.push(input)
      taking.push(row)
    }
    if (inputs.length === 0) return
    this.#stepping = true
    this.#steps++
    const alone = this.#waiting.length === 0 && taking.length === this.#running.length
    const most = drafted ? Math.min(this.#ahead, drafted.most > 0 ? 1 : drafted.steps) : this.#ahead
    for (const { slot } of taking) slot.stepped = this.#steps
    const steps = alone && most > 1 ? this.#memory.stepsFor(taking, stepsAhead(taking, most)) : 1
    const room = this.#model.freeTokens
    let taken = 1
    try {
      taken = await this.#run(inputs, taking, { steps, mayFollow: alone && !drafted?.most, most: drafted?.steps })
    } catch (error) {
      // There is less room than it had said: some give way, and the others go on.
      if (!isCacheFull(error) || this.#model.freeTokens >= room) throw error
      for (const { slot } of taking) slot.drafted = undefined
      this.#stepping = false
      return
    }
    this.#stepping = false
    for (const { slot } of taking) sync(slot)
    // With masks and with what is written of it: guesses take their part of these.
    drafted?.took(heldBy(rows) - before, performance.now() - begun, taken)
  }

  /** The model's part of a step, or of several: gives back how many it took. */
  async #run(
    inputs: readonly StepInput[],
    rows: readonly Row[],
    { steps, mayFollow, most = Number.POSITIVE_INFINITY }: Running,
  ): Promise<number> {
    if (steps > 1) return this.#runAhead(inputs, rows, steps)
    if (mayFollow && this.#model.follow && this.#mayFollow(rows, inputs)) return this.#follow(inputs, rows, most)
    const results = await this.#model.step(inputs)
    for (const [i, { slot }] of rows.entries()) {
      const sampled = results[i]
      if (sampled !== undefined) this.#take(slot, sampled)
    }
    return 1
  }

  #take(slot: Slot, sampled: Sampled): void {
    if (slot.cancelled || slot.lane.finished) return
    try {
      const { drafts = [] } = sampled
      if (sampled.token === UNDRAWN || drafts.some(({ token }) => token === UNDRAWN)) {
        slot.spoilt = true
        throw notNumbers()
      }
      const { scores } = slot.lane
      if (scores?.open) scores.take([...drafts, sampled])
      else if (slot.drafted) this.#takeDrafted(slot, slot.drafted, [...drafts, sampled])
      else takes(slot.lane, sampled)
    } catch (error) {
      slot.lane.fail(error)
    }
  }

  /** Guesses of those that write, where there is room for them. */
  async #foresee(rows: readonly Row[], drafting: Drafting): Promise<DraftedStep | undefined> {
    const taken = { rows: 0, draws: rows.length }
    const writers: (DraftWriter & { readonly slot: Slot })[] = []
    for (const { slot, count, brief } of rows) {
      taken.rows += count
      if (brief) continue
      const { lane } = slot
      const sequence = slot.sequence!
      const end = sequence.length + count
      const writes = drafting.may(lane) && !lane.scores?.open && end === lane.tokens.length
      // What cannot be cut anywhere would have to read again what it had right.
      if (writes && canBeCut(sequence) && roomLeft(slot) > MOST_GUESSED) writers.push({ slot, lane, sequence })
    }
    if (writers.length === 0) return undefined
    const step = drafting.of(writers, taken)
    let { guesses } = step
    if (step.ask) {
      // Nobody's sequences go meanwhile.
      this.#stepping = true
      guesses = await step.ask()
      this.#stepping = false
    }
    let more = 0
    for (const drafted of guesses) more = Math.max(more, drafted?.tokens.length ?? 0)
    if (!this.#memory.roomFor(rows, more)) return undefined
    for (const [i, { slot }] of writers.entries()) slot.drafted = guesses[i]
    return step
  }

  /** Takes what was drawn, for as long as it is what was guessed. */
  #takeDrafted(slot: Slot, { tokens, draws }: Drafted, sampled: readonly Sampled[]): void {
    const { lane } = slot
    const base = lane.tokens.length
    for (const [i, { at, guess }] of draws.entries()) {
      takes(lane, sampled[i]!)
      if (guess) this.#drafting!.judge(guess.kind, sampled[i]!.token === guess.token)
      const end = draws[i + 1]?.at ?? tokens.length
      if (lane.finished || lane.tokens.length !== base + end) return
      for (let k = at; k < end; k++) if (lane.tokens[base + k] !== tokens[k]) return
    }
  }

  /** Gives back how many steps it took. */
  async #runAhead(inputs: readonly StepInput[], rows: readonly Row[], steps: number): Promise<number> {
    let taken = 0
    for await (const results of this.#model.run!(inputs, steps)) {
      rows.forEach(({ slot }, i) => {
        this.#take(slot, results[i]!)
        grownBy(slot, results[i]!.token)
      })
      taken++
      const stop = rows.some(({ slot }) => isOver(slot) || !slot.lane.foreseeable)
      if (stop || this.#waiting.length > 0) break
      await breathe()
    }
    return taken
  }

  /** Whether the pass that reads what is drawn now may begin before it is known. */
  #mayFollow(rows: readonly Row[], inputs: readonly StepInput[]): boolean {
    const free = rows.every(({ slot: { lane, sequence, drafted } }, i) => {
      const { sample, drafts } = inputs[i]!
      const plain = sample && !drafts && !drafted && !lane.scores && !lane.pieces && lane.reads === undefined
      return plain && lane.remaining > 1 && canBeCut(sequence!)
    })
    return free && this.#memory.roomFor(rows, 1) && this.#begun.pays()
  }

  /** `most` steps; gives back how many it took. */
  async #follow(inputs: readonly StepInput[], rows: readonly Row[], most: number): Promise<number> {
    let steps = 0
    const tokens = this.#model.follow!(inputs)
    try {
      let step = await tokens.next()
      while (!step.done) {
        const sampled = step.value
        const [{ slot: first }] = rows as [Row]
        const begun = first.sequence!.length > first.lane.tokens.length
        rows.forEach(({ slot }, i) => {
          this.#take(slot, sampled[i]!)
        })
        const on = rows.every(({ slot }, i) => !isOver(slot) && goesOn(slot, sampled[i]!.token))
        if (begun) this.#begun.came(on)
        steps++
        if (!on || steps === most || this.#waiting.length > 0) break
        await breathe()
        if (rows.some(({ slot }) => isOver(slot))) break
        const settings = nextSettings(rows)
        if (!settings) break
        step = await tokens.next(settings)
      }
    } finally {
      await tokens.return()
    }
    return steps
  }

  #dropAll(): void {
    const slots = [...this.#running, ...this.#waiting]
    this.#running = []
    this.#waiting = []
    for (const slot of slots) quietly(() => slot.sequence?.close())
    quietly(() => this.#memory.clear())
    quietly(() => this.#drafting?.small?.clear())
    for (const slot of slots) {
      slot.sequence = undefined
      slot.release()
    }
  }
}

/** Whether others of the call wait for its prompt: nobody reads that of one that is paused, whatever has displaced it. */
const isBeingRead = (slot: Slot): boolean =>
  !slot.lane.finished && !slot.cancelled && !slot.lane.paused && !promptIsIn(slot)

/** What is written of it counts as its mask's. */
const takes = (lane: Lane, sampled: Sampled): void => during('mask', lane.request ?? '', () => lane.take(sampled))

/** Tokens in the cache. */
const heldBy = (rows: readonly Row[]): number => rows.reduce((sum, { slot }) => sum + slot.sequence!.length, 0)

/** More tokens than a step ever guesses. */
const MOST_GUESSED = 64

const isOver = ({ cancelled, lane }: Slot): boolean => cancelled || lane.finished || lane.paused

/** Whether the cache holds all that a lane has, the token that was drawn last and nothing behind it. */
const goesOn = (slot: Slot, token: number): boolean =>
  slot.lane.tokens.length === slot.sequence!.length && grownBy(slot, token)

/** Whether a lane has come to have the token that was drawn last, and nothing else; it is then told so. */
function grownBy({ lane }: Slot, token: number): boolean {
  const { tokens, kept } = lane
  const alone = kept === tokens.length - 1 && tokens.at(-1) === token
  if (alone) lane.settle()
  return alone
}

const canBeCut = (sequence: Sequence): boolean => {
  const { length } = sequence
  return length === 0 || sequence.reach === undefined || sequence.reach(length - 1) === length - 1
}
