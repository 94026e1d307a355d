import type { SampleSettings } from '../../contract/index.js'
import type { Guided } from '../answer/guided.js'
import type { OpenValue } from './open-value.js'

/** What a guess goes by: how often those of its kind are right is counted apart. */
export type GuessKind = 'label' | 'short' | 'copy' | 'end' | 'model'

/** A place at which a token is drawn. */
export interface GuessedDraw {
  /** How many tokens of the path stand before it. */
  readonly at: number
  /** Absent: anything may come. */
  readonly mask?: Uint32Array | undefined
  /** What is guessed to be drawn; undefined at the end of the path. */
  readonly guess?: { readonly token: number; readonly kind: GuessKind }
}

/** A path, as the model is asked. */
export interface Drafted {
  readonly tokens: readonly number[]
  readonly draws: readonly (Omit<GuessedDraw, 'mask'> & { readonly settings: SampleSettings })[]
}

/** How an answer may go on. */
export interface Path {
  /** What would be appended: guesses, and what is certain after each. */
  readonly tokens: readonly number[]
  readonly draws: readonly GuessedDraw[]
}

/** How much may be guessed. */
export interface DraftRoom {
  /** Tokens that a path may have. */
  readonly rows: number
  /** Guesses in it. */
  readonly draws: number
}

/** A path that grows guess by guess, each followed exactly as an answer is. */
export interface OpenPath {
  readonly tokens: readonly number[]
  /** With which mask the token behind it is drawn; undefined: any may come. */
  readonly mask: Uint32Array | undefined
  /** Goes on by a guess; false: it cannot be followed, and the path is at its end. */
  push(token: number, kind: GuessKind): boolean
  /** With the draw at its end; undefined where nothing was guessed. */
  readonly path: Path | undefined
}

abstract class GrowingPath implements OpenPath {
  readonly tokens: number[] = []
  readonly #draws: GuessedDraw[] = []
  readonly #room: DraftRoom
  abstract readonly mask: Uint32Array | undefined

  constructor(room: DraftRoom) {
    this.#room = room
  }

  get path(): Path | undefined {
    const { tokens, mask } = this
    return this.#draws.length === 0 ? undefined : { tokens, draws: [...this.#draws, { at: tokens.length, mask }] }
  }

  push(token: number, kind: GuessKind): boolean {
    const { mask } = this
    if (this.#draws.length === this.#room.draws || !allows(mask, token)) return false
    const appended = this.follow(token)
    if (!appended || this.tokens.length + appended.length > this.#room.rows || !this.goOn(appended)) return false
    this.#draws.push({ at: this.tokens.length, mask, guess: { token, kind } })
    this.tokens.push(...appended)
    return true
  }

  /** What a token appends, with what is certain after it; undefined: nothing can be fed behind it. */
  protected abstract follow(token: number): number[] | undefined

  /** `mask` becomes that of what comes behind what is appended; false: nothing may. */
  protected abstract goOn(appended: readonly number[]): boolean
}

const allows = (mask: Uint32Array | undefined, token: number): boolean =>
  token >= 0 && (mask === undefined || ((mask[token >>> 5]! >>> (token & 31)) & 1) === 1)

/** Free text: a token that ends it is none that others are fed behind. */
export class FreePath extends GrowingPath {
  readonly mask = undefined
  readonly #ends: (token: number) => boolean
  readonly #remaining: number

  constructor(ends: (token: number) => boolean, remaining: number, room: DraftRoom) {
    super(room)
    this.#ends = ends
    this.#remaining = remaining
  }

  protected override follow(token: number): number[] | undefined {
    return this.#ends(token) || this.tokens.length + 1 >= this.#remaining ? undefined : [token]
  }

  protected override goOn(): boolean {
    return true
  }
}

/** Whether anything may come next, and it is known soon: what is only guessed keeps nobody waiting. */
const isMade = (guided: Guided, mask: Uint32Array, budget: number): boolean =>
  guided.maskInSlices(mask, budget).next().value === true

/** Where a guided path begins. */
export interface GuidedPlace {
  readonly guided: Guided
  /** Absent: nobody asks for it. */
  readonly value: OpenValue | undefined
  bytesOf(token: number): Uint8Array
  /** Tokens that may still be written. */
  readonly remaining: number
  /** In 32-bit words. */
  readonly maskLength: number
  /** What may come first, where that is known. */
  readonly made?: Uint32Array | undefined
}

/** Under a grammar: the tokens that a guess would append, the mask with which the next would be drawn. */
export class GuidedPath extends GrowingPath {
  readonly guided: Guided
  readonly value: OpenValue | undefined
  readonly #place: GuidedPlace
  #mask: Uint32Array

  private constructor(place: GuidedPlace, room: DraftRoom, guided: Guided, mask: Uint32Array) {
    super(room)
    this.#place = place
    this.guided = guided
    this.value = place.value?.clone()
    this.#mask = mask
  }

  /** Undefined: nothing may come. */
  static at(place: GuidedPlace, room: DraftRoom): GuidedPath | undefined {
    const guided = place.guided.clone()
    if (place.made) return new GuidedPath(place, room, guided, place.made)
    const mask = new Uint32Array(place.maskLength)
    return isMade(guided, mask, place.remaining) ? new GuidedPath(place, room, guided, mask) : undefined
  }

  get mask(): Uint32Array {
    return this.#mask
  }

  protected override follow(token: number): number[] | undefined {
    const { guided, value } = this
    if (!guided.accept(token)) return undefined
    value?.push(this.#place.bytesOf(token))
    const appended = [token]
    while (!guided.done && this.#left(appended) > 0) {
      const run = guided.plan(this.#left(appended), true)
      if (run === undefined) break
      // What was drawn before would be another token: then nothing can be fed after it.
      if (run.replace > appended.length) return undefined
      guided.commit(run)
      appended.length -= run.replace
      appended.push(...run.tokens)
      value?.push(run.bytes)
    }
    return guided.done || this.#left(appended) <= 0 ? undefined : appended
  }

  protected override goOn(appended: readonly number[]): boolean {
    const mask = new Uint32Array(this.#place.maskLength)
    const may = isMade(this.guided, mask, this.#left(appended))
    if (may) this.#mask = mask
    return may
  }

  #left(appended: readonly number[]): number {
    return this.#place.remaining - this.tokens.length - appended.length
  }
}
