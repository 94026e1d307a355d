import { type Part, type PromptLogprob, type TokenLogprob, type Usage, V1Error } from '../../contract/index.js'
import { checkEvidence, evidenceParts, type SentEvidence } from './evidence.js'
import { messageIn } from './refusal.js'
import { brokenService, countOf, parsed } from './sent.js'

/** What we read of a chunk. It comes from another service: anything may be missing. */
interface Chunk {
  /** `error` where the whole of it is one. */
  readonly object?: string
  readonly error?: unknown
  readonly message?: unknown
  readonly system_fingerprint?: string | null
  readonly usage?: ChunkUsage | null
  readonly choices?: readonly ChunkChoice[]
  readonly prompt_token_ids?: readonly number[] | null
}

/** As chat tells it; another service sends it: anything may be missing. */
export interface ChunkUsage {
  readonly prompt_tokens?: number
  readonly completion_tokens?: number
  readonly prompt_tokens_details?: { readonly cached_tokens?: number } | null
  readonly completion_tokens_details?: { readonly reasoning_tokens?: number } | null
}

export function usageOfChunk(usage: ChunkUsage | undefined): Usage {
  return {
    promptTokens: countOf(usage?.prompt_tokens),
    completionTokens: countOf(usage?.completion_tokens),
    cachedTokens: countOf(usage?.prompt_tokens_details?.cached_tokens),
    reasoningTokens: countOf(usage?.completion_tokens_details?.reasoning_tokens),
  }
}

interface ChunkChoice {
  readonly index?: number
  /** Of a completion in the older form. */
  readonly text?: string
  readonly delta?: {
    readonly content?: string | null
    readonly refusal?: string | null
    /** A thought, by the two names that servers give it. */
    readonly reasoning_content?: string | null
    readonly reasoning?: string | null
    readonly tool_calls?: readonly CallPiece[] | null
  }
  readonly logprobs?: (OldLogprobs & { readonly content?: readonly WireToken[] | null }) | null
  readonly finish_reason?: string | null
  /** Ours: what values rest on. */
  readonly evidence?: SentEvidence | null
  /** vLLM's: the text, or the token, that ended it. */
  readonly stop_reason?: string | number | null
  /** All of them with the last chunk, or those of each chunk. */
  readonly token_ids?: readonly number[] | null
}

interface CallPiece {
  readonly index?: number | null
  readonly id?: string | null
  /** Some servers send the arguments as the object that they are. */
  readonly function?: { readonly name?: string | null; readonly arguments?: string | object | null }
}

/** Lists side by side. */
export interface OldLogprobs {
  readonly tokens?: readonly string[]
  readonly token_logprobs?: readonly (number | null)[] | null
  readonly top_logprobs?: readonly (Readonly<Record<string, number>> | null)[] | null
}

export interface WireToken {
  readonly token: string
  readonly logprob: number
  readonly bytes?: readonly number[] | null
  readonly top_logprobs?: readonly WireToken[]
}

const REASONS = new Map<string, 'length' | 'tool_calls'>([
  ['length', 'length'],
  ['tool_calls', 'tool_calls'],
  ['function_call', 'tool_calls'],
])

/** Chunks to parts. */
export class PartReader {
  #usage: Usage = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 }
  #fingerprint: string | undefined
  #hasPrompt = false
  /** Tokens by choice, where they are returned. */
  readonly #tokens: number[][] = []
  readonly #calls: Calls[] = []
  readonly #evidence: boolean
  /** By choice, where evidence is wanted: what was written, and whether evidence of it was reported. */
  readonly #documents = new Map<number, { text: string; reported: boolean }>()
  /** Values whose evidence was told: a last chunk tells all of it once more. */
  readonly #told = new Set<string>()

  /** `evidence`: it must be reported. */
  constructor(evidence = false) {
    this.#evidence = evidence
  }

  *read(data: string): Generator<Part> {
    const chunk = parsed(data) as Chunk
    if (chunk.error || chunk.object === 'error') {
      throw new V1Error(500, messageIn(chunk) ?? 'The upstream service had an error.', { code: 'upstream_error' })
    }
    this.#fingerprint = chunk.system_fingerprint ?? this.#fingerprint
    if (chunk.usage) this.#usage = usageOfChunk(chunk.usage)
    if (chunk.prompt_token_ids && !this.#hasPrompt) {
      this.#hasPrompt = true
      yield { type: 'prompt', tokens: chunk.prompt_token_ids }
    }
    for (const choice of chunk.choices ?? []) {
      const at = choice.index ?? 0
      if (choice.token_ids) {
        this.#tokens[at] ??= []
        for (const token of choice.token_ids) this.#tokens[at].push(token)
      }
      this.#calls[at] ??= new Calls()
      for (const part of readChoice(choice, this.#tokens[at], this.#calls[at])) {
        if (part.type === 'evidence') {
          const value = `${at} ${part.evidence.pointer}`
          if (this.#told.has(value)) continue
          this.#told.add(value)
        }
        if (this.#evidence) this.#watch(part)
        yield part
      }
    }
  }

  #watch(part: Exclude<Part, { type: 'usage' | 'prompt' }>): void {
    const { choice } = part
    const document = this.#documents.get(choice) ?? { text: '', reported: false }
    this.#documents.set(choice, document)
    if (part.type === 'text-delta') document.text += part.text
    else if (part.type === 'evidence') document.reported = true
    else if (part.type === 'finish' && part.reason === 'stop') checkEvidence(document.reported, document.text)
  }

  /** The usage comes in the last chunk, or in every one as a running sum: the last is right. */
  *end(): Generator<Part> {
    yield { type: 'usage', usage: this.#usage, fingerprint: this.#fingerprint }
  }
}

/** The tool calls of one choice, counted by us: some servers send calls whole without an index, or all of them with 0. */
class Calls {
  readonly #begun: { readonly index?: number | undefined; id?: string | undefined; place?: number; held: string }[] = []
  #named = 0

  /** What is told of it; nothing of a call whose name is yet to come. */
  told(piece: CallPiece): Omit<Part & { type: 'tool-call-delta' }, 'type' | 'choice'> | undefined {
    const [index, id, name] = [piece.index ?? undefined, piece.id || undefined, piece.function?.name || undefined]
    const known = this.#known(index, id, name)
    if (known === -1) this.#begun.push({ index, id, held: '' })
    // A new one is the last.
    const call = this.#begun.at(known)!
    const { arguments: args } = piece.function ?? {}
    const text = typeof args === 'object' && args !== null ? JSON.stringify(args) : (args ?? '')
    if (call.place !== undefined) return { index: call.place, id, name, arguments: text }
    call.held += text
    call.id ??= id
    if (name === undefined) return undefined
    call.place = this.#named++
    return { index: call.place, id: call.id, name, arguments: call.held }
  }

  end(): void {
    if (this.#named < this.#begun.length) throw brokenService('sent a tool call without a name')
  }

  #known(index: number | undefined, id: string | undefined, name: string | undefined): number {
    // Another id begins another call, but where nothing is named: some servers make up an id for every piece.
    if (index !== undefined)
      return this.#begun.findLastIndex((one) => one.index === index && (!id || !name || one.id === id))
    if (id !== undefined) return this.#begun.findLastIndex((one) => one.id === id)
    return name === undefined ? this.#begun.length - 1 : -1
  }
}

function* readChoice(
  { index: choice = 0, text: older, delta, logprobs, finish_reason: reason, stop_reason: stop, evidence }: ChunkChoice,
  tokens: readonly number[] | undefined,
  calls: Calls,
): Generator<Exclude<Part, { type: 'usage' | 'prompt' }>> {
  const text = delta?.content ?? delta?.refusal ?? older ?? ''
  const known =
    logprobs?.content?.map(readLogprob) ?? (logprobs ? (oldLogprobs(logprobs) as TokenLogprob[]) : undefined)
  const thought = delta?.reasoning_content ?? delta?.reasoning
  if (typeof thought === 'string' && thought !== '') yield { type: 'reasoning-delta', choice, text: thought }
  if (text !== '' || known?.length) yield { type: 'text-delta', choice, text, logprobs: known }
  for (const piece of delta?.tool_calls ?? []) {
    const told = calls.told(piece)
    if (told) yield { type: 'tool-call-delta', choice, ...told }
  }
  for (const one of evidenceParts(evidence ?? {})) yield { type: 'evidence', choice, evidence: one }
  if (!reason) return
  calls.end()
  yield {
    type: 'finish',
    choice,
    reason: REASONS.get(reason) ?? 'stop',
    ...(typeof stop === 'string' && { stop }),
    ...(tokens && { tokens }),
  }
}

/** Null is what no model says: of a prompt's first token. */
export function oldLogprobs({ tokens = [], token_logprobs: own, top_logprobs: top }: OldLogprobs): PromptLogprob[] {
  return tokens.map((token, i) => ({
    token,
    bytes: null,
    logprob: own?.[i] ?? null,
    top: Object.entries(top?.[i] ?? {}).map(([other, logprob]) => ({ token: other, bytes: null, logprob })),
  }))
}

function readLogprob({ token, logprob, bytes, top_logprobs: top }: WireToken): TokenLogprob {
  return {
    token,
    logprob,
    bytes: bytes ?? null,
    top: (top ?? []).map((other) => ({ token: other.token, logprob: other.logprob, bytes: other.bytes ?? null })),
  }
}
