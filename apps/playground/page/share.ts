import { checksum } from './checksum.js'
import { asDecisionDraft, type DecisionDraft } from './decision-draft.js'
import { type Settings, settings } from './settings.js'
import type { Draft } from './structured-draft.js'

/** What a shared link holds, and nothing else: no chat, no answer, no key. */
export interface Shared {
  readonly draft: Draft
  readonly settings: Partial<Pick<Settings, 'model' | 'temperature' | 'topP' | 'maxTokens' | 'seed'>>
}

/** More than this nobody writes by hand; a link is not trusted to unpack to whatever it says. */
const LARGEST = 200_000

export function sharedNow(draft: Draft): Shared {
  const { model, temperature, topP, maxTokens, seed } = settings()
  return { draft, settings: { model, temperature, topP, maxTokens, seed } }
}

/** The same of decisions, which no setting but the model changes. */
export interface SharedDecisions {
  readonly draft: DecisionDraft
  readonly settings: Partial<Pick<Settings, 'model'>>
}

export const sharedDecisions = (draft: DecisionDraft): SharedDecisions => ({
  draft,
  settings: { model: settings().model },
})

/** What is wrong with a link, in words for whoever opened it. */
export class LinkFault extends Error {}

/** As text for the fragment of a link, with a checksum behind it. */
export async function packed(value: unknown): Promise<string> {
  const stream = new Blob([JSON.stringify(value)]).stream().pipeThrough(new CompressionStream('deflate-raw'))
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer())
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  const data = btoa(text).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
  return `${data}.${checksum(data)}`
}

/** @throws LinkFault for a link of which a character was lost or changed on its way */
export async function unpacked(text: string): Promise<unknown> {
  const [data = '', sum, ...more] = text.split('.')
  if (more.length > 0 || sum !== checksum(data)) {
    throw new LinkFault('This link is damaged: a part of it was lost or changed on the way. Ask for it again.')
  }
  const bytes = Uint8Array.from(atob(data.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0))
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw')).getReader()
  const parts: Uint8Array<ArrayBuffer>[] = []
  for (let size = 0; ; ) {
    const { done, value } = await reader.read()
    if (done) return JSON.parse(await new Blob(parts).text())
    size += value.length
    if (size > LARGEST) throw new LinkFault('This link is too large.')
    parts.push(value as Uint8Array<ArrayBuffer>)
  }
}

/** What of a link's contents is what it should be. Whoever made the link may have written anything. */
export function asShared(value: unknown): Shared | undefined {
  const { draft, settings: given } = (value ?? {}) as { draft?: Record<string, unknown>; settings?: object }
  const fields = ['name', 'instructions', 'text', 'schema'] as const
  if (!draft || !fields.every((field) => typeof draft[field] === 'string')) return undefined
  const [name, instructions, text, schema] = fields.map((field) => draft[field] as string) as [
    string,
    string,
    string,
    string,
  ]
  const known = knownSettings(given, ['model', 'temperature', 'topP', 'maxTokens', 'seed'])
  return { draft: { name, instructions, text, schema }, settings: known }
}

export function asSharedDecisions(value: unknown): SharedDecisions | undefined {
  const { draft, settings: given } = (value ?? {}) as { draft?: unknown; settings?: object }
  const read = asDecisionDraft(draft)
  return read && { draft: read, settings: knownSettings(given, ['model']) }
}

function knownSettings(given: object | undefined, names: readonly string[]): Record<string, string> {
  const entries = names.flatMap((name) => {
    const setting = (given as Record<string, unknown> | undefined)?.[name]
    return typeof setting === 'string' && setting.length < 200 ? [[name, setting]] : []
  })
  return Object.fromEntries(entries)
}
