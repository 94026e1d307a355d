import { getOrMake } from '../../platform/index.js'
import { Kept } from '../kept.js'
import { planObject, unusedKey } from '../values/object-plan.js'
import type { KeyAutomaton, ObjectShape, Value } from '../values/value.js'
import type { Frames, ObjectHome, WeighedFrame } from './frames.js'
import type { ObjectNames } from './object-names.js'
import { ObjectState } from './object-state.js'
import { UsedKeys } from './used-keys.js'

/** Places kept of one shape where keys have come that are not declared. */
const CHOSEN = 200

const NOTHING = { weight: 0, spell: () => '' }

/** All places inside the objects of one shape, at one depth. */
export class ObjectFrames implements ObjectHome {
  readonly shape: ObjectShape
  readonly program: Frames
  readonly names: ObjectNames
  readonly start: ObjectState
  readonly #states = new Map<string, ObjectState>()
  /** Those that rest on keys which a document chose: each document brings its own. */
  readonly #chosen = new Kept<string, ObjectState>(CHOSEN)

  constructor(shape: ObjectShape, program: Frames) {
    this.shape = shape
    this.program = program
    this.names = program.names(shape)
    this.start = this.state(0, 0, UsedKeys.none(this.names.taken), 2 ** shape.pending.length - 1, false)
  }

  /** What follows a key. */
  value(value: Value): Pick<WeighedFrame, 'weight' | 'spell'> {
    return this.shape.isSet ? NOTHING : this.program.inside.value(value)
  }

  get keys(): KeyAutomaton {
    return this.names.keys
  }

  state(index: number, count: number, used: UsedKeys, pending: number, unresolved: boolean): ObjectState {
    const { min, max } = this.shape
    // Whether there is a member at all decides about commas.
    const capped = max === Infinity ? Math.min(count, Math.max(min, 1)) : count
    const key = `${index},${capped},${used.id},${pending},${unresolved}`
    const states = used.keys.length > 0 ? this.#chosen : this.#states
    return getOrMake(states, key, () => new ObjectState(this, index, capped, used, pending, unresolved))
  }

  /** Whether an object can be completed from such a place; most need no plan to know. */
  canComplete(index: number, count: number, used: UsedKeys, pending: number): boolean {
    const { min, max, first, behind } = this.shape
    const plain = first === undefined && behind === undefined
    if (plain && max === Infinity && pending === 0 && count + this.names.requiredFrom[index]! >= min) return true
    return planObject(this.shape, { index, count, used: used.keys, pending }).length !== Infinity
  }

  /** How the object goes on behind a key that must come. */
  get behind(): ObjectHome | undefined {
    return this.shape.behind && this.program.tail(this.shape.behind)
  }

  /** The key that the shortest way takes next beyond the declared ones; it stands in for one that is not known yet. */
  freshKey(used: UsedKeys): string | undefined {
    return unusedKey(this.shape, used.keys)
  }
}
