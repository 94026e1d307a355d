/** What goes over the port. Plain data: whatever cannot be cloned is named here by what it was made from. */
import type {
  ChatCall,
  DecideCall,
  Decided,
  DetokenizeCall,
  EmbedCall,
  Embeddings,
  GrammarSource,
  LoadProgress,
  ModelInfo,
  Part,
  RankCall,
  Ranking,
  TokenizeCall,
  TokenizedText,
} from '../../engine.js'
import { V1Error } from '../../errors.js'
import type { WireFailure } from './failure.js'

/** From the service to the engine. `id` is the caller's, one for each thing that is asked. */
export type EngineCommand =
  | { readonly type: 'generate'; readonly id: number; readonly call: WireCall }
  | { readonly type: 'load' | 'unload' | 'remove' | 'learn'; readonly id: number; readonly model: string }
  | { readonly type: 'survey' | 'close'; readonly id: number }
  | { readonly type: 'value'; readonly id: number; readonly asked: ValueAsked }
  | { readonly type: 'abort'; readonly id: number }
  /** The reader has taken so many more parts. */
  | { readonly type: 'taken'; readonly id: number; readonly parts: number }

/** From the engine to the service. */
export type Told =
  | { readonly type: 'models'; readonly models: readonly ModelInfo[]; readonly ready: boolean }
  | { readonly type: 'part'; readonly id: number; readonly part: Part }
  | { readonly type: 'progress'; readonly id: number; readonly progress: LoadProgress }
  | { readonly type: 'value'; readonly id: number; readonly value: CallValue }
  | { readonly type: 'done'; readonly id: number }
  | { readonly type: 'failed'; readonly id: number; readonly failure: WireFailure }

/** What has one result. */
export type ValueAsked =
  | { readonly what: 'embed'; readonly call: Unsigned<EmbedCall> }
  | { readonly what: 'rank'; readonly call: Unsigned<RankCall> }
  | { readonly what: 'decide'; readonly call: Unsigned<DecideCall> }
  | { readonly what: 'tokenize'; readonly call: Unsigned<TokenizeCall> }
  | { readonly what: 'detokenize'; readonly call: Unsigned<DetokenizeCall> }

export type CallValue = Embeddings | Ranking | Decided | TokenizedText | string

/** The signal is a message of its own. */
type Unsigned<T> = T extends unknown ? Omit<T, 'signal'> : never

/** Parts that may be under way and unread, for each call. */
export const WINDOW = 64

/** A call without its signal, which is a message of its own, and with its grammars as what they were compiled from. */
export interface WireCall extends Omit<ChatCall, 'signal' | 'grammar' | 'toolGrammar'> {
  readonly grammar?: GrammarSource
  readonly toolGrammar?: GrammarSource
}

export function wireCall({ signal: _, grammar, toolGrammar, ...rest }: ChatCall): WireCall {
  return {
    ...rest,
    ...(grammar && { grammar: sourceOf(grammar) }),
    ...(toolGrammar && { toolGrammar: sourceOf(toolGrammar) }),
  }
}

function sourceOf({ source }: NonNullable<ChatCall['grammar']>): GrammarSource {
  if (source !== undefined) return source
  throw new V1Error(500, 'A grammar that does not say what it was compiled from cannot be sent to another thread.')
}
