import type { Part, PromptLogprob, V1Error } from '../../../contract/index.js'
import { answering } from '../../answer/answering.js'
import { readJson } from '../../answer/body.js'
import type { Route } from '../../answer/service.js'
import { SSE_DONE, sseEvent } from '../../stream/sse.js'
import { newId } from '../../wire/ids.js'
import {
  type Answer,
  finite,
  NEVER_LOGPROB,
  type Reply,
  type ReplyHead,
  type StreamReply,
  type WholeReply,
  wireUsage,
} from '../../wire/reply.js'
import { readTextRequest, type TextRequest } from './request.js'

/** `POST completions`: the older form, which goes on from a text as it stands. */
export const completions: Route = (service, exchange) =>
  answering(service, exchange, async ({ signal }) => {
    const request = readTextRequest(await readJson(service, exchange, signal))
    return { spec: request.spec, reply: textReply(request), id: newId('cmpl-'), ignored: request.ignored }
  })

export function textReply(request: TextRequest): Reply {
  return request.stream ? new TextChunks(request) : new TextWhole(request)
}

type PromptPart = Part & { readonly type: 'prompt' }

function choiceOf(index: number, text: string, logprobs: object | null, finish: string | null) {
  return { index, text, logprobs, finish_reason: finish }
}

const headOf = ({ id, created, model, fingerprint }: ReplyHead) => ({
  id,
  object: 'text_completion',
  created,
  model,
  ...(fingerprint !== undefined && { system_fingerprint: fingerprint }),
})

/** Where the texts of tokens begin, one after the other, in that of the choice; what is held back for a stop comes later. */
class Offsets {
  #next: number
  // A letter may be spread over tokens: it begins with the first of them.
  readonly #utf8 = new TextDecoder('utf-8', { ignoreBOM: true })

  constructor(first: number) {
    this.#next = first
  }

  take({ token, bytes }: PromptLogprob): number {
    const offset = this.#next
    this.#next += bytes ? this.#utf8.decode(Uint8Array.from(bytes), { stream: true }).length : token.length
    return Math.max(0, offset)
  }
}

/** In the older form: lists side by side, the likeliest by their texts. */
class OlderLogprobs {
  readonly tokens: string[] = []
  readonly token_logprobs: (number | null)[] = []
  readonly top_logprobs: (Record<string, number> | null)[] = []
  readonly text_offset: number[] = []

  add(logprobs: readonly PromptLogprob[], offsets: Offsets): this {
    for (const each of logprobs) {
      const { token, logprob, top } = each
      this.tokens.push(token)
      this.text_offset.push(offsets.take(each))
      this.token_logprobs.push(logprob === null ? null : finite(logprob))
      // The token itself is among them, also where it is none of the likeliest.
      this.top_logprobs.push(logprob === null ? null : likeliest([...top, { token, logprob }]))
    }
    return this
  }
}

/** Of tokens of the same text the likelier one. */
function likeliest(top: readonly { readonly token: string; readonly logprob: number }[]): Record<string, number> {
  const by = new Map<string, number>()
  for (const { token, logprob } of top) by.set(token, Math.max(by.get(token) ?? NEVER_LOGPROB, logprob))
  return Object.fromEntries(by)
}

/** What stands before each choice where that was asked for: its prompt as text, and how likely its tokens are. */
class Echo {
  readonly #request: TextRequest
  readonly #parts: (PromptPart | undefined)[] = []

  constructor(request: TextRequest) {
    this.#request = request
  }

  /** A prompt of tokens is returned as text. */
  keep(part: PromptPart): void {
    this.#parts[part.choice ?? 0] = part
  }

  before(choice: number): { readonly text: string; readonly logprobs: OlderLogprobs | null } {
    const { echo, spec } = this.#request
    if (!echo) return { text: '', logprobs: null }
    const prompts = spec.prompts ?? [spec.prompt!]
    const each = spec.n / prompts.length
    const prompt = prompts[Math.floor(choice / each)]!
    const part = this.#parts[choice - (choice % each)]
    const spelled = part?.text ?? ''
    const text = typeof prompt === 'string' ? prompt : spelled
    // The model's own mark of a beginning is a token, and none of the text.
    const offsets = new Offsets(text.length - spelled.length)
    return { text, logprobs: part?.logprobs ? new OlderLogprobs().add(part.logprobs, offsets) : null }
  }
}

/** The tokens that a choice answers. */
function promptOf({ prompts }: Answer, { spec, returnsTokens }: TextRequest, choice: number) {
  const each = spec.n / (spec.prompts?.length ?? 1)
  const tokens = prompts[choice - (choice % each)]
  return returnsTokens && tokens ? { prompt_token_ids: tokens } : {}
}

class TextChunks implements StreamReply {
  readonly stream = true
  readonly #request: TextRequest
  readonly #echo: Echo
  readonly #offsets: (Offsets | undefined)[] = []
  #head: ReplyHead | undefined
  #answer: Answer | undefined

  constructor(request: TextRequest) {
    this.#request = request
    this.#echo = new Echo(request)
  }

  begin(head: ReplyHead, answer: Answer): string {
    this.#head = head
    this.#answer = answer
    return ''
  }

  part(part: Part): string {
    if (part.type === 'prompt') this.#echo.keep(part)
    if (part.type === 'prompt' || part.type === 'usage') return ''
    return this.#first(part.choice) + this.#chunkOf(part)
  }

  /** What comes before the first word of a choice. */
  #first(choice: number): string {
    if (this.#offsets[choice] !== undefined) return ''
    const { text, logprobs } = this.#echo.before(choice)
    this.#offsets[choice] = new Offsets(text.length)
    const tokens = promptOf(this.#answer!, this.#request, choice)
    if (text === '' && !('prompt_token_ids' in tokens)) return ''
    return this.#chunk({ ...choiceOf(choice, text, logprobs, null), ...tokens })
  }

  #chunkOf(part: Exclude<Part, { type: 'prompt' | 'usage' }>): string {
    if (part.type === 'finish') {
      const tokens = this.#request.returnsTokens && part.tokens ? { token_ids: part.tokens } : {}
      const stop = part.stop === undefined ? {} : { stop_reason: part.stop }
      return this.#chunk({
        ...choiceOf(part.choice, '', null, part.reason === 'length' ? 'length' : 'stop'),
        ...stop,
        ...tokens,
      })
    }
    if (part.type !== 'text-delta' || (part.text === '' && !part.logprobs?.length)) return ''
    const { choice, text, logprobs } = part
    const older = logprobs ? new OlderLogprobs().add(logprobs, this.#offsets[choice]!) : null
    return this.#chunk(choiceOf(choice, text, older, null))
  }

  end(): string {
    if (!this.#request.includeUsage) return SSE_DONE
    const usage = wireUsage(this.#answer!.usage)
    return sseEvent(JSON.stringify({ ...headOf(this.#head!), choices: [], usage })) + SSE_DONE
  }

  failed(error: V1Error): string {
    return sseEvent(JSON.stringify(error))
  }

  #chunk(choice: object): string {
    return sseEvent(JSON.stringify({ ...headOf(this.#head!), choices: [choice] }))
  }
}

class TextWhole implements WholeReply {
  readonly stream = false
  readonly #request: TextRequest
  readonly #echo: Echo
  readonly #logprobs: PromptLogprob[][] = []

  constructor(request: TextRequest) {
    this.#request = request
    this.#echo = new Echo(request)
  }

  part(part: Part): void {
    if (part.type === 'prompt') this.#echo.keep(part)
    if (part.type !== 'text-delta') return
    this.#logprobs[part.choice] ??= []
    this.#logprobs[part.choice]!.push(...(part.logprobs ?? []))
  }

  whole(head: ReplyHead, answer: Answer): object {
    const { choices, usage, fingerprint = head.fingerprint } = answer
    const { spec, returnsTokens } = this.#request
    return {
      ...headOf({ ...head, fingerprint }),
      choices: choices.map(({ index, text, finish, stop, tokens }) => {
        const before = this.#echo.before(index)
        const logprobs = before.logprobs ?? (spec.topLogprobs === undefined ? null : new OlderLogprobs())
        logprobs?.add(this.#logprobs[index] ?? [], new Offsets(before.text.length))
        return {
          ...choiceOf(index, before.text + text, logprobs, finish === 'length' ? 'length' : 'stop'),
          ...(stop !== undefined && { stop_reason: stop }),
          ...(returnsTokens && tokens && { token_ids: tokens }),
          ...promptOf(answer, this.#request, index),
        }
      }),
      usage: wireUsage(usage),
    }
  }
}
