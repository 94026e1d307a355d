/** What an answer of `/v1` says, for people: its text, thoughts, calls and vectors, whatever form they came in. */
export interface Reading {
  readonly text: string
  readonly thought: string
  /** `get_weather({"city":"Oslo"})` */
  readonly calls: readonly string[]
  /** In a few words: vectors, scores, tokens. */
  readonly facts: readonly string[]
}

export type Json = Readonly<Record<string, unknown>>

/** Of an answer's whole text. */
export function readingOf(text: string): Reading {
  const reader = new Reader()
  for (const event of eventsOf(text)) reader.take(event)
  return reader.reading
}

/** A document is one event. */
function eventsOf(text: string): Json[] {
  const whole = objectIn(text)
  if (whole) return [whole]
  const lines = text.split('\n').filter((line) => line.startsWith('data: '))
  return lines.flatMap((line) => {
    const event = objectIn(line.slice(6))
    return event ? [event] : []
  })
}

/** The object that a text is, where it is one. */
export function objectIn(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined
  } catch {
    return undefined
  }
}

/** Reads a stream event by event. */
export class Reader {
  #text = ''
  #thought = ''
  readonly #calls: { name: string; words: string }[] = []
  readonly #facts: string[] = []

  take(event: Json): void {
    for (const choice of listOf(event.choices)) this.#chat(recordOf(choice.delta ?? choice.message), choice)
    if (event.object === 'response') for (const item of listOf(event.output)) this.#item(item)
    const { type, delta } = event
    if (type === 'response.output_text.delta') this.#text += textOf(delta)
    if (type === 'response.reasoning_text.delta' || type === 'response.reasoning_summary_text.delta')
      this.#thought += textOf(delta)
    if (type === 'response.output_item.done') {
      const item = recordOf(event.item)
      if (item.type === 'function_call') this.#item(item)
    }
    this.#vectors(event)
  }

  get reading(): Reading {
    const calls = this.#calls.map(({ name, words }) => `${name}(${words})`)
    return { text: this.#text, thought: this.#thought, calls, facts: this.#facts }
  }

  #chat(message: Json, choice: Json): void {
    this.#text += textOf(message.content ?? choice.text)
    this.#thought += textOf(message.reasoning_content)
    for (const call of listOf(message.tool_calls)) {
      const { name, arguments: words } = recordOf(call.function)
      const at = typeof call.index === 'number' ? call.index : this.#calls.length
      const known = this.#calls[at] ?? { name: '', words: '' }
      this.#calls[at] = { name: known.name + textOf(name), words: known.words + textOf(words) }
    }
  }

  #item(item: Json): void {
    if (item.type === 'function_call') this.#calls.push({ name: textOf(item.name), words: textOf(item.arguments) })
    const words = (parts: unknown) =>
      listOf(parts)
        .map((part) => textOf(part.text))
        .join('')
    if (item.type === 'message') this.#text += words(item.content)
    if (item.type === 'reasoning') this.#thought += words(item.content) || words(item.summary)
  }

  #vectors({ data, results, tokens }: Json): void {
    const vectors = listOf(data).flatMap(({ embedding }) => (Array.isArray(embedding) ? [embedding as number[]] : []))
    const [first, second] = vectors
    if (first)
      this.#facts.push(`${vectors.length} ${vectors.length === 1 ? 'vector' : 'vectors'} of ${first.length} numbers`)
    if (first && second) this.#facts.push(`similarity of the first two: ${cosine(first, second).toFixed(3)}`)
    for (const { index, relevance_score: score } of listOf(results))
      if (typeof score === 'number') this.#facts.push(`document ${Number(index) + 1}: ${score.toFixed(3)}`)
    if (Array.isArray(tokens)) this.#facts.push(`${tokens.length} tokens`)
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
export const recordOf = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {})
export const listOf = (value: unknown): Json[] => (Array.isArray(value) ? value.map(recordOf) : [])

function cosine(a: readonly number[], b: readonly number[]): number {
  const dot = (x: readonly number[], y: readonly number[]) => x.reduce((sum, value, i) => sum + value * (y[i] ?? 0), 0)
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b))
}
