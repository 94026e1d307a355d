/** The complement of a language, its table made only if somebody walks it: most are only ever subtracted. */

import { atOnce, type Slices } from '../../platform/index.js'
import type { Classes } from './classes.js'
import type { TextAutomaton, Unlimited } from './types.js'

export class Complement implements TextAutomaton {
  readonly of: TextAutomaton
  readonly sparse = false
  private readonly make: () => Slices<TextAutomaton>
  private made: TextAutomaton | undefined

  constructor(of: TextAutomaton, make: () => Slices<TextAutomaton>) {
    this.of = of
    this.make = make
  }

  private get whole(): TextAutomaton {
    return this.made ?? atOnce(this.wholeInSlices())
  }

  /** What it accepts by itself, made with a pause every few milliseconds. */
  *wholeInSlices(): Slices<TextAutomaton> {
    this.made ??= yield* this.make()
    return this.made
  }

  get start(): number {
    return this.whole.start
  }

  get states(): number {
    return this.whole.states
  }

  get empty(): boolean {
    return this.whole.empty
  }

  get classes(): Classes {
    return this.whole.classes
  }

  accepts(state: number): boolean {
    return this.whole.accepts(state)
  }

  step(state: number, cls: number): number {
    return this.whole.step(state, cls)
  }

  next(state: number, codePoint: number): number {
    return this.whole.next(state, codePoint)
  }

  distance(state: number): number {
    return this.whole.distance(state)
  }

  alive(state: number, low: number, high: number): boolean {
    return this.whole.alive(state, low, high)
  }

  freedomAll(state: number): number {
    return this.whole.freedomAll(state)
  }

  repeats(state: number, cls: number): boolean {
    return this.whole.repeats(state, cls)
  }

  room(state: number): number {
    return this.whole.room(state)
  }

  endsAnywhere(state: number): boolean {
    return this.whole.endsAnywhere(state)
  }

  unlimited(state: number, characters: number): Unlimited | undefined {
    return this.whole.unlimited(state, characters)
  }

  steady(state: number): boolean {
    return this.whole.steady(state)
  }

  get farthest(): number {
    return this.whole.farthest
  }
}
