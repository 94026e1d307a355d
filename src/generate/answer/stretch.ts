import type { Sampled, SampleSettings } from '../../contract/index.js'
import type { Slices } from '../../platform/index.js'
import type { DraftRoom, OpenPath, Path } from '../drafts/path.js'
import type { AnswerOutput } from './output.js'
import type { AnswerPlan, Markers, Segment } from './plan.js'
import type { Thought } from './thought.js'
import type { TokenLog } from './token-log.js'

/** A segment while it is written. */
export interface Stretch {
  /** It is the one that is written from here on. Absent: nothing is to be done for that. */
  begin?(): void
  /** What may come next, said in `mask`. Absent: anything, once the answer may end. */
  mask?(mask: Uint32Array): Uint32Array | Slices<Uint32Array>
  /** What the draw of the next token needs beside the settings of every answer. Absent: nothing. */
  settings?(mask: Uint32Array): Partial<SampleSettings>
  /** Adds what is certain, or ends; false: a token has to be drawn. Absent: nothing is ever certain. */
  advance?(): boolean
  take(sampled: Sampled): void
  /** It waits to hear something, and nothing is drawn meanwhile. */
  readonly waits?: boolean
  /** How it may go on, as far as there is room. Absent, or undefined: nobody can guess. */
  foresee?(room: DraftRoom): Path | undefined
  /** Where it has a mask: a path that another may guess along. */
  openPath?(room: DraftRoom): OpenPath | undefined
  /** The answer ends in it. */
  end?(): void
}

export type EndReason = 'stop' | 'length' | 'tool_calls'

/** The answer, as the stretch that is being written sees it. */
export interface Writing {
  readonly plan: AnswerPlan
  readonly markers: Markers
  readonly log: TokenLog
  readonly out: AnswerOutput
  /** Tokens that end free text. */
  readonly stops: ReadonlySet<number>
  /** The most tokens that may still come. */
  readonly remaining: number
  /** Fewer tokens are there than the request wants. */
  readonly mustGoOn: boolean
  /** The one that the answer has had, or is in: no answer has two. */
  thought: Thought | undefined
  /** The mask with which the next token is drawn, where it is there already. */
  readonly made: Uint32Array | undefined
  /** The segment after this one. */
  readonly following: Segment | undefined
  /** Tokens in the model's place. */
  write(tokens: readonly number[]): void
  /** A marker may end within a token: that token is replaced by what of it belongs to the marker, and is not `rest`. */
  cut(rest: string): void
  /** Begins the segment after this one; `written`: what of its text is there already. */
  next(written?: string): void
  /** Begins these segments, and after them those that are left. */
  insert(...segments: readonly Segment[]): void
  /** What a stretch has waited for has come. */
  resume(): void
  fail(error: unknown): void
  /** `last`: the token that said so, which is no part of the text; `stop`: the text that did. */
  end(reason: EndReason, last?: number, stop?: string): void
}
