import type { ChatCall, OutputGrammar, ToolSpec } from '../../contract/index.js'

/**
 * How a family of models calls tools: all there is to know of it. A family is one file with one of these, and its entry
 * in the table of `formats.ts`.
 */
export interface ToolFormat {
  readonly name: string
  /** Whether a chat template is this family's: it spells the markers that the model was trained on. */
  isOf(template: string): boolean
  /** A control token that this family alone has: where a template is silent, a tokenizer tells by it. */
  readonly token?: string
  /** Text before a call; without the space at its end, what to look for in an answer. */
  readonly open: string
  /** What a call begins with where the template writes it, if that is not `open`. */
  readonly past?: string
  /** Text after it. */
  readonly close: string
  /** Between the close of one call and the open of the next; undefined: no call has markers of its own. */
  readonly between?: string
  /** Between two calls of one list, which `open` begins and `close` ends. */
  readonly separator?: string
  /** How an answer begins that is a call although no marker says so. Whitespace is overlooked. */
  readonly bare?: string
  /** Control tokens that stand within a call. */
  readonly marks?: readonly string[]
  /** The id of a call as the template takes it; absent: any. The same for a call and for its result. */
  callId?(id: string): string
  /** The template takes thoughts as `thinking`, and beside a call only where nothing is said. */
  readonly thinking?: boolean
  /** The template itself tells the model of the tools. */
  readonly native: boolean
  /** What the system message of a call with tools says where the caller has none: the words that the model was taught. */
  readonly opening?: string
  /** What may stand between `open` and `close`: one call of a tool that is admitted. */
  grammar(call: ChatCall): OutputGrammar
  /** A call as it stands between `open` and `close`, for models whose template knows no tools. */
  spell(name: string, json: string): string
  /** Such a call with dots for what is to be filled in. */
  readonly form: string
  /** Takes one call apart while it is written; `tools` are those that may be called. */
  reader(tools: readonly ToolSpec[]): CallReader
}

/** Calls as they stand in an answer, each as `spell` has it. */
export function together({ open, close, between = '', separator }: ToolFormat, calls: readonly string[]): string {
  return open + calls.join(separator ?? close + between + open) + close
}

export interface CallReader {
  /** What more of the call is known now that `text` was written too. */
  push(text: string): ToolCallDelta | undefined
}

export interface ToolCallDelta {
  /** Given once, with the first piece. */
  readonly name?: string
  readonly arguments: string
}
