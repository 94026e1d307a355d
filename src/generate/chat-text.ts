import { type ChatCall, textOf, V1Error } from '../contract/index.js'
import type { Vocabulary } from '../grammar/index.js'
import { atOnce, type JsonObject, type Slices } from '../platform/index.js'
import { type Recommended, recommendedOf } from './answer/sampling.js'
import { type Channels, channelsOf } from './channels.js'
import type { MadeForm } from './decide/made-form.js'
import { type ConvTemplate, MlcTemplate } from './prompt/conv-template.js'
import { conversationText } from './prompt/conversation.js'
import { digitsFor, Guard, type Guarded, guarded, sentinelFor } from './prompt/guard.js'
import { infillOf } from './prompt/infill.js'
import { habitsOf } from './prompt/kept-calls.js'
import { callArguments, callerTexts, type Habits } from './prompt/messages.js'
import { CHATML, type ChatTemplate, JinjaTemplate, PLAIN_TEMPLATE } from './prompt/template.js'
import { endsInThought, type ThoughtMarks, thoughtMarksOf, thoughtWish } from './thinking.js'
import { tokenizerInfo } from './tokenizer/info.js'
import { Tokenizer } from './tokenizer/tokenizer.js'
import { vocabularyOf } from './tokenizer/vocabulary.js'
import { tooLong } from './too-long.js'
import type { ToolFormat } from './tools/format.js'
import { toolFormatOf } from './tools/formats.js'

/** The files of a model repository that are about text. */
export interface TextFiles {
  /** `tokenizer.json` */
  readonly tokenizer: JsonObject
  /** `tokenizer_config.json` */
  readonly tokenizerConfig?: JsonObject
  /** `chat_template.jinja`; it outranks the template within `tokenizer_config.json`. */
  readonly chatTemplate?: string
  /** `mlc-chat-config.json` or `config.json` */
  readonly chatConfig?: JsonObject
  /** `generation_config.json` */
  readonly generationConfig?: JsonObject
  /** Of a decoder that is made for decisions. */
  readonly made?: MadeForm
}

/** Ends of a turn in the families we know: some repositories name only the end of a document. */
const TURN_ENDS = [
  '<|im_end|>',
  '<|eot_id|>',
  '<|eom_id|>',
  '<|end_of_text|>',
  '<|endoftext|>',
  '<end_of_turn>',
  '<|end|>',
  '<|return|>',
  '<|call|>',
  // The beginning of a call's answer: it is the caller's to give.
  '<start_function_response>',
  '<|tool_response>',
]

/** What looks like control where nobody calls it special; tags of HTML and runs of blanks, which many have, do not. */
const CONTROL = [
  /\||think|tool|function|call|respon|reason|thought|channel|turn|_of_|image|audio|video|^<\/?(bos|eos|pad|unk)>$/i,
  /^\[[A-Z/_ ]+\]$/,
]

/** Tokens at the end of a prompt among which the mark of a thought would be. */
const ENDING = 16

/** Tokens beyond its room to which a prompt is counted. */
export const COUNTED = 8192

/** Sections of a prompt as tokens. `place`: how many stand before each in what its tokenizer takes for a text. */
export function* encodedSections(
  tokenizer: Tokenizer,
  sections: readonly (number | string)[],
  capacity: number,
  reveal: (section: string) => string = (section) => section,
  place?: number,
): Slices<number[]> {
  // Who wrote a little too much is told how much it was.
  const most = capacity + COUNTED
  for (const section of sections) {
    if (typeof section === 'string' && tokenizer.isBeyond(reveal(section), most)) throw tooLong(capacity, most, true)
  }
  const ids: number[] = []
  for (const [index, section] of sections.entries()) {
    if (typeof section === 'number') ids.push(section)
    else {
      const more = yield* tokenizer.encodeInSlices(reveal(section), place ?? index, most - ids.length)
      for (const id of more) ids.push(id)
    }
    if (ids.length > most) throw tooLong(capacity, most, true)
  }
  return ids
}

/** One model's text: its tokenizer, its chat template, where its answers end and how it calls tools. */
export class ChatText {
  readonly tokenizer: Tokenizer
  readonly template: ChatTemplate
  readonly toolFormat: ToolFormat
  /** Absent: the model does not think. */
  readonly thoughtMarks: ThoughtMarks | undefined
  /** Absent: an answer is one message. */
  readonly channels: Channels | undefined
  /** How it is told of a gap; absent: it fills none. */
  readonly infill: ReturnType<typeof infillOf>
  /** Tokens that end an answer. */
  readonly ends: ReadonlySet<number>
  readonly recommended: Recommended
  /** What `tokenizer_config.json` says, with the chat template that is used. */
  readonly info: JsonObject
  /** How it is asked for decisions; absent: as any model that chats. */
  readonly made: MadeForm | undefined
  /** Of the added tokens what a user's text must not become: control tokens, and marks of thoughts and calls. */
  readonly #guarded: Guarded
  /** Found out by having the template write, once something is asked of it: a stranger's may take its time. */
  #habits: Habits | undefined
  #vocabulary: Vocabulary | undefined

  constructor(files: TextFiles) {
    this.tokenizer = new Tokenizer(files.tokenizer, files.tokenizerConfig)
    this.template = templateOf(files, this.tokenizer)
    this.toolFormat = toolFormatOf(this.template.source, (text) => this.tokenizer.idOf(text) !== undefined)
    this.thoughtMarks = thoughtMarksOf(this.template.source, this.tokenizer)
    this.channels = channelsOf(this.template.source)
    this.ends = endsOf(files, this.tokenizer)
    const controls = this.#controls(specialTexts(files.tokenizerConfig))
    this.#guarded = guarded(this.tokenizer.addedTexts(true), controls)
    this.infill = infillOf(this.tokenizer)
    this.recommended = recommendedOf(files)
    this.made = files.made
    // A model may have several templates by name: they are told as they are.
    const { source } = this.template
    const listed = typeof files.tokenizerConfig?.chat_template === 'object' && files.chatTemplate === undefined
    this.info = tokenizerInfo(files.tokenizerConfig, listed || source === '' ? undefined : source)
  }

  /** `texts`: what the files call the beginning and the end of a text, `<s>` for one, which in others is struck out. */
  #controls(texts: Readonly<Record<string, string>>): readonly string[] {
    const { tokenizer } = this
    const own = new Set([
      ...[this.thoughtMarks?.open, this.thoughtMarks?.close, ...(this.toolFormat.marks ?? [])],
      ...tokenizer.addedTexts(true),
      ...Object.values(texts),
      ...[...this.ends].map((id) => tokenizer.name(id)),
    ])
    const looks = (text: string) => CONTROL.some((pattern) => pattern.test(text))
    return tokenizer.addedTexts(false).filter((text) => own.has(text) || looks(text))
  }

  /** Keeps from what callers write that it controls the model, and leaves it its other added tokens. */
  guard(sentinel: string, digits?: string): Guard {
    return new Guard(sentinel, this.#guarded, digits)
  }

  /** Built when a grammar first asks for it: most of a second for a large tokenizer. */
  get vocabulary(): Vocabulary {
    this.#vocabulary ??= vocabularyOf(this.tokenizer, this.ends)
    return this.#vocabulary
  }

  /** A token as it stands within a tool call: a mark by its name. */
  bytesInCall(token: number): Uint8Array {
    const name = this.tokenizer.name(token)
    return this.toolFormat.marks?.includes(name) ? new TextEncoder().encode(name) : this.tokenizer.bytes(token)
  }

  /** Tokens that end a thought in the model's place. */
  get endOfThought(): readonly number[] {
    const { close = '', gap = '' } = this.thoughtMarks ?? {}
    return this.tokenizer.encodeMarker(`\n${close}${gap}`)
  }

  /** Whether a prompt leaves the model within a thought that its template has opened. */
  endsInThought(prompt: readonly number[]): boolean {
    const { thoughtMarks: marks } = this
    return (
      marks !== undefined &&
      endsInThought(
        prompt
          .slice(-ENDING)
          .map((token) => this.tokenizer.shown(token))
          .join(''),
        marks,
      )
    )
  }

  /** The tokens after which the model answers `call`. */
  prompt(call: ChatCall): number[] {
    return atOnce(this.promptInSlices(call))
  }

  /** `prompt` with pauses. One that is far beyond `capacity` is refused as soon as that is certain. */
  *promptInSlices(call: ChatCall, capacity = Number.POSITIVE_INFINITY): Slices<number[]> {
    if (call.prompt !== undefined) return yield* this.#asItStands(this.#filled(call.prompt, call.suffix), capacity)
    this.#assertMayFit(call, capacity)
    const sentinel = yield* sentinelFor(callerTexts(call))
    const guard = this.guard(sentinel, yield* digitsFor(callArguments(call), callerTexts(call)))
    this.#habits ??= yield* habitsOf(this.template, this.toolFormat)
    let text = yield* conversationText(call, guard, this.template, this.toolFormat, this.#habits)
    const marks = this.thoughtMarks
    // Some templates open a thought whatever they are told: one that nobody wants is closed at once.
    if (marks && thoughtWish(call) === 'be brief' && endsInThought(text, marks)) {
      text = `${text.trimEnd()}\n\n${marks.close}${marks.gap}`
    }
    return yield* encodedSections(this.tokenizer, this.tokenizer.sections(text), capacity, (section) =>
      guard.reveal(section),
    )
  }

  /** Refuses what is far too long before anything is made of it: what a user has said is a token each, at least. */
  #assertMayFit({ messages }: ChatCall, capacity: number): void {
    const most = capacity + COUNTED
    let count = 0
    for (const { role, content } of messages) {
      if (role !== 'user') continue
      const text = textOf(content)
      if (text !== '') count++
      if (count > most || this.tokenizer.isBeyond(text, most)) throw tooLong(capacity, most, true)
    }
  }

  #filled(prompt: string | readonly number[], suffix: string | undefined): string | readonly number[] {
    if (suffix === undefined || this.infill === undefined || typeof prompt !== 'string') return prompt
    return this.infill(prompt, suffix)
  }

  /** Control tokens in it stand for themselves: whoever writes all of a prompt writes those too. */
  *#asItStands(prompt: string | readonly number[], capacity: number): Slices<number[]> {
    if (typeof prompt !== 'string') return [...prompt]
    const ids = yield* encodedSections(this.tokenizer, this.tokenizer.sections(prompt), capacity)
    return this.tokenizer.opened(ids)
  }
}

function templateOf(files: TextFiles, tokenizer: Tokenizer): ChatTemplate {
  const tokens = specialTexts(files.tokenizerConfig)
  const listed = templatesIn(files.tokenizerConfig?.chat_template)
  const source = files.chatTemplate ?? listed?.tools
  const conv = files.chatConfig?.conv_template
  if (source !== undefined) {
    try {
      return new JinjaTemplate(source, tokens, files.chatTemplate ?? listed?.plain)
    } catch (cause) {
      if (typeof conv !== 'object' || conv === null) throw unreadable(cause)
    }
  }
  if (typeof conv === 'object' && conv !== null) {
    const template = conv as ConvTemplate
    return new MlcTemplate(template, (template.system_prefix_token_ids ?? []).map((id) => tokenizer.name(id)).join(''))
  }
  return new JinjaTemplate(tokenizer.idOf('<|im_start|>') === undefined ? PLAIN_TEMPLATE : CHATML, tokens)
}

function unreadable(cause: unknown): V1Error {
  const why = cause instanceof Error ? cause.message : String(cause)
  const message = `The model's chat template cannot be read: ${why}`
  return new V1Error(500, message, { code: 'model_files', cause })
}

/** One template, or several by name: `tool_use` where there are tools, `default` where there are none. */
function templatesIn(field: unknown): { tools: string; plain: string } | undefined {
  if (typeof field === 'string') return { tools: field, plain: field }
  if (!Array.isArray(field)) return undefined
  const all = field as { name?: unknown; template?: unknown }[]
  const named = new Map(all.flatMap(({ name, template }) => (typeof template === 'string' ? [[name, template]] : [])))
  const plain = named.get('default') ?? [...named.values()][0]
  return plain === undefined ? undefined : { tools: named.get('tool_use') ?? plain, plain }
}

function specialTexts(config: JsonObject | undefined): Record<string, string> {
  const texts: Record<string, string> = { bos_token: '', eos_token: '' }
  for (const name of ['bos_token', 'eos_token', 'pad_token', 'unk_token']) {
    const text = contentOf(config?.[name])
    if (text !== undefined) texts[name] = text
  }
  return texts
}

function contentOf(token: unknown): string | undefined {
  if (typeof token === 'string') return token
  const content = (token as { content?: unknown } | null | undefined)?.content
  return typeof content === 'string' ? content : undefined
}

function endsOf(files: TextFiles, tokenizer: Tokenizer): Set<number> {
  const conv = files.chatConfig?.conv_template as { stop_token_ids?: unknown } | undefined
  const ends = new Set<number>()
  for (const ids of [files.generationConfig?.eos_token_id, files.chatConfig?.eos_token_id, conv?.stop_token_ids]) {
    for (const id of [ids].flat()) if (typeof id === 'number') ends.add(id)
  }
  for (const text of [contentOf(files.tokenizerConfig?.eos_token), ...TURN_ENDS]) {
    const id = text === undefined ? undefined : tokenizer.idOf(text)
    if (id !== undefined && tokenizer.special.has(id)) ends.add(id)
  }
  return ends
}
