/** Fills the rows of a table: several at a time, in their order, each kept as soon as it is whole. */

import { wordsOf } from '../../worker/words.js'
import { ApiError, type ChatBody, chat, type Evidence, unbroken } from '../api.js'
import { tooLong } from '../format.js'
import { schemaOf } from '../schema-fields.js'
import { askedOf, editsFor, type Row, type Wanted } from './rows.js'

/** What one device answers side by side: more would only wait in its queue. */
export const AT_ONCE = 4

export interface FillingParts {
  readonly model: string
  readonly project: string
  readonly evidence: boolean
  /** A small model may say the same over and over. */
  readonly limit: Pick<ChatBody, 'max_tokens'>
  /** Something of a row has come. */
  onRow(row: Row, whole: boolean): void
}

/** What is asked of one text. */
export function bodyFor(text: string, { sentence, fields }: Wanted, model: string, evidence: boolean): ChatBody {
  return {
    model,
    messages: [
      { role: 'system', content: sentence.trim() },
      { role: 'user', content: text },
    ],
    temperature: 0,
    ...(evidence && { evidence: true }),
    response_format: { type: 'json_schema', json_schema: { name: 'row', strict: true, schema: schemaOf(fields) } },
  }
}

export class Filling {
  readonly writing = new Set<number>()
  readonly #parts: FillingParts
  readonly #wanted: Wanted
  readonly #request: string
  readonly #aborter = new AbortController()
  readonly #began = performance.now()
  #filled = 0

  constructor(wanted: Wanted, parts: FillingParts) {
    this.#wanted = wanted
    this.#parts = parts
    this.#request = askedOf(wanted)
  }

  /** It was stopped by an error, not by a person. */
  failed = false

  get stopped(): boolean {
    return this.#aborter.signal.aborted
  }

  stop(): void {
    this.#aborter.abort()
  }

  /** Seconds until so many more are filled; undefined before the pace is known. */
  secondsFor(rows: number): number | undefined {
    return this.#filled === 0 ? undefined : ((performance.now() - this.#began) / 1000 / this.#filled) * rows
  }

  /** Rejects with what keeps all of them from being filled; what one text is refused for stands in its row. */
  async run(rows: readonly Row[]): Promise<void> {
    const waiting = [...rows]
    const work = async () => {
      for (let row = waiting.shift(); row && !this.stopped; row = waiting.shift()) await this.#fill(row)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
  }

  async #write(row: Row, answer: ReturnType<typeof chat>, onChange: () => void): Promise<void> {
    const evidence: Record<string, Evidence> = {}
    row.json = ''
    for await (const { choices } of answer) {
      const [choice] = choices
      row.json += choice?.delta.content ?? ''
      Object.assign(evidence, choice?.evidence)
      row.evidence = evidence
      onChange()
    }
  }

  async #fill(row: Row): Promise<void> {
    const { model, project, evidence, limit, onRow } = this.#parts
    this.writing.add(row.id)
    row.json = ''
    row.asked = ''
    delete row.fault
    delete row.evidence
    row.edited = editsFor(this.#wanted.fields, row)
    const body = { ...bodyFor(row.text, this.#wanted, model, evidence), ...limit }
    try {
      const { signal } = this.#aborter
      await unbroken(() => this.#write(row, chat(body, project, signal), () => onRow(row, false)), signal)
      row.asked = this.#request
    } catch (error) {
      row.json = ''
      if (this.stopped) return
      if (!(error instanceof ApiError && isOfText(error))) {
        this.failed = true
        this.stop()
        throw error
      }
      row.asked = this.#request
      row.fault = error.code === 'refused' ? wordsOf(error) : tooLong('This text', error.message)
    } finally {
      this.writing.delete(row.id)
      if (row.asked === this.#request) this.#filled++
      onRow(row, true)
    }
  }
}

/** What the next text need not be refused for. */
const isOfText = ({ code }: ApiError): boolean => code === 'context_length_exceeded' || code === 'refused'
