import type { Slices } from '../../platform/index.js'
import type { Branch, Choice } from '../schema/branch.js'
import type { Context } from '../schema/context.js'
import type { Schema, Site } from '../schema/document.js'
import type { Atom, SchemaPart } from '../schema/part.js'
import type { Shape } from './shapes.js'

export type Keyworded = Exclude<Schema, boolean>

/** Where a keyword stands. */
export interface Stand {
  readonly context: Context
  readonly site: Site
  readonly schema: Keyworded
}

/** Each alternative with those that it may share a value with shut out; `apart`: one of them, and no two. */
export interface ExactlyOne {
  readonly options: readonly Choice[]
  readonly apart: readonly (readonly Choice[])[]
}

/** What of the expansion a keyword may ask. */
export interface Expanding {
  /** Whether two subschemas may share a value; errs on the side of yes. */
  overlap(a: Atom, b: Atom): Slices<boolean>
  holds(atom: Atom, value: unknown): boolean
  exactlyOne(atoms: readonly Atom[]): Slices<ExactlyOne>
}

export interface Asserting extends Stand {
  readonly expander: Expanding
  readonly branch: Branch
  readonly part: SchemaPart
}

export interface Denying extends Stand {
  readonly expander: Expanding
  /** Ways to break the schema, of which one is enough. */
  readonly choices: Choice[]
}

export interface Judging extends Stand {
  test(atom: Atom, value: unknown): boolean
}

/** One word of JSON Schema, or several that are read as one, and all that it says: to generate, to deny and to judge. */
export interface Keyword<Claim = unknown> {
  readonly name: string
  /** Whether a value is such as the keyword takes, also where it was put into quotes by mistake. */
  readonly shape: Shape
  /** Words that are read with this one. */
  readonly with?: Readonly<Record<string, Shape>>
  /**
   * The first draft that knows it.
   * @default 3
   */
  readonly since?: number
  /** Whether it is also an ordinary word, so that what is spelled like it need not have been meant. */
  readonly ordinary?: boolean
  /** The kinds of value that it can rule out. */
  readonly kinds: number
  /** What it says here, its value checked; undefined: nothing. */
  read(at: Stand): Claim | undefined
  /** Makes a branch demand it, with pauses where that takes long. */
  assert(at: Asserting, claim: Claim): Slices<void> | void
  /** Adds the ways to break it, with pauses where that takes long. */
  deny(at: Denying, claim: Claim): Slices<void> | void
  /** Whether a value of its kinds keeps it. */
  holds(at: Judging, claim: Claim, value: unknown): boolean
}

/** A keyword as the table has it: what it reads is its own matter. */
export function keyword<Claim>(one: Keyword<Claim>): Keyword {
  return one as Keyword
}

/** A keyword that has been read. */
export interface Reading {
  readonly keyword: Keyword
  readonly claim: unknown
}
