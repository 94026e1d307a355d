import {
  type ChatMessage,
  type OutputFormat,
  type QuoteSource,
  type ToolSpec,
  textsJoined,
} from '../../contract/index.js'

const WORD = 'x-quote'

/** Whether some string of a schema is to be a quote. */
export function saysQuote(schema: unknown): boolean {
  const seen = new Set<unknown>()
  const open = [schema]
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (typeof at !== 'object' || at === null || seen.has(at)) continue
    seen.add(at)
    if ((at as Record<string, unknown>)[WORD] === true) return true
    for (const inside of Object.values(at)) if (inside !== undefined) open.push(inside)
  }
  return false
}

/** Whether all strings of an answer are to be quotes, or some; undefined: none. */
export function quotesOf(output: OutputFormat): 'all' | 'some' | undefined {
  if (output.type !== 'json_object' && output.type !== 'json_schema') return undefined
  if (output.quote) return 'all'
  return output.type === 'json_schema' && saysQuote(output.schema) ? 'some' : undefined
}

/** What an answer quotes from: what users and tools say in the conversation, each part for itself. */
export function quoteSource(
  { output, tools }: { readonly output: OutputFormat; readonly tools: readonly ToolSpec[] },
  messages: readonly ChatMessage[],
): QuoteSource | undefined {
  const quoted = quotesOf(output)
  if (quoted === undefined && !tools.some(({ parameters }) => saysQuote(parameters))) return undefined
  const texts = messages.flatMap(({ role, content, joined }) => {
    if (role !== 'user' && role !== 'tool') return []
    if (typeof content !== 'string') return content.flatMap((part) => (part.type === 'text' ? [part.text] : []))
    return joined ? textsJoined(content, joined) : [content]
  })
  return { texts, all: quoted === 'all' }
}
