/**
 * Kev: a head of its own makes a query and a key of each row. An option is as likely as its key, at the token that ends it,
 * agrees with the query of the prompt's last token: softmax(k q / sqrt(d) / T).
 */
import { type DecideQuestion, V1Error } from '../../contract/index.js'
import { isRecord, softmax } from '../../platform/index.js'
import type { Tokenizer } from '../tokenizer/tokenizer.js'
import { ordersOf } from './questions.js'
import { type Readout, type Reads, temperatureGroup } from './readout.js'
import { Rows } from './rows.js'
import { barred, type TypedQuestion } from './typed-question.js'

const END_OF_OPTION = '<|box_end|>'

export class PointerReadout implements Readout {
  readonly most = 255
  readonly #end: number

  constructor(tokenizer: Tokenizer) {
    const end = tokenizer.idOf(END_OF_OPTION)
    if (end === undefined) throw unreadable(`its tokenizer has no token ${END_OF_OPTION}`)
    this.#end = end
  }

  group(options: number): string {
    return temperatureGroup(options)
  }

  ordersOf(question: DecideQuestion): readonly (readonly number[])[] {
    return ordersOf(question, 'given')
  }

  worded(question: TypedQuestion): TypedQuestion {
    return {
      ...question,
      instructions: asTaught(question.instructions),
      state: asTaught(question.state),
      options: question.options.map(({ key, description }) => ({
        key: barred(key),
        ...(description !== undefined && { description: asTaught(description) }),
      })),
    }
  }

  reads(question: TypedQuestion, stem: readonly number[]): Reads {
    const ends = stem.flatMap((token, i) => (token === this.#end ? [i] : []))
    const last = stem.length - 1
    if (ends.length !== question.options.length || ends.at(-1) === last) {
      throw unreadable(`its template ends ${ends.length} of ${question.options.length} options`)
    }
    const rows = new Rows([...ends, last])
    const sharesAt = (temperature: number) => {
      const shares = softmax(rows.scores().map((score) => score / temperature))
      // Whether it is not so comes first.
      return { shares: question.kind === 'noul' ? shares.reverse() : shares }
    }
    return { of: { stem, rows }, sharesAt }
  }
}

/** Objects and lists were told it as lines, and what looks like control with other bars. */
function asTaught(text: string): string {
  return barred(linesOf(text))
}

function linesOf(text: string): string {
  if (!/^\s*[[{]/.test(text)) return text
  try {
    return lines(JSON.parse(text), 0)
  } catch {
    return text
  }
}

function lines(value: unknown, indent: number): string {
  const pad = '  '.repeat(indent)
  if (value === null) return ''
  if (value === true) return 'True'
  if (value === false) return 'False'
  if (Array.isArray(value)) {
    return value.map((item) => `${pad}- ${lines(item, indent + 1).replace(/^[ \t\n\r]+/, '')}`).join('\n')
  }
  if (!isRecord(value)) return typeof value === 'string' ? value : JSON.stringify(value)
  return Object.entries(value)
    .map(([key, item]) => {
      const nested = typeof item === 'object' && item !== null
      return `${pad}${key}${nested ? ':\n' : ': '}${lines(item, nested ? indent + 1 : 0)}`
    })
    .join('\n')
}

const unreadable = (what: string): V1Error =>
  new V1Error(500, `This model cannot mark its options: ${what}.`, {
    code: 'model_files',
    headers: { 'x-should-retry': 'false' },
  })
