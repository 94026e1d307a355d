/** What the check has found, a line of JSON each, so that a check that was broken off goes on where it was. */

import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { type Code, codeOf } from './code.js'

export interface Row {
  readonly family: string
  /** `llama.cpp` and `mistake` speak of the definition in float64, the others of our core. */
  readonly kind: 'llama.cpp' | 'mistake' | 'text' | 'decisions' | 'vectors'
  /** The mistake, or the form of the weights. */
  readonly what: string
  readonly device: string
  /** Tokens after the prompt, texts, or options. */
  readonly tokens: number
  /** Steps at which another token would be chosen. */
  readonly otherTokens: number
  /** Nats; of vectors, numbers of one that is one long; of decisions, probabilities. */
  readonly rms: number
  readonly worst: number
  /** That of what it is held to: `worst` lies below it, or above it where a mistake is to be seen. */
  readonly bound: number
  readonly good: boolean
  /** Of vectors, the least. */
  readonly cosine?: number
  /** How the tokens were fed, each with its worst difference. */
  readonly ways?: Readonly<Record<string, number>>
  /** How far from llama.cpp; absent: it was not asked. */
  readonly worstOfPeer?: number
  /** Steps at which llama.cpp would choose another token; absent: it was not asked. */
  readonly otherThanPeer?: number
  /** Of an engine: how far off the least of the mistakes would be that it is held against. */
  readonly mistaken?: number
  /** Of an engine: documents satisfy their schema. */
  readonly documents?: boolean
  /** Of an engine: how often it chose the other one of two experts that tie, which float64 then chose, too. */
  readonly otherExperts?: number
  /** What it was computed by, and which version of that. */
  readonly by: Code
  readonly code: string
  /** Of the processor. */
  readonly seconds: number
}

const keyOf = ({ family, kind, what, device }: Pick<Row, 'family' | 'kind' | 'what' | 'device'>) =>
  [family, kind, what, device].join(' | ')

const isCurrent = ({ by, code }: Row) => by !== undefined && codeOf(by) === code

export class Rows {
  readonly #path: string
  readonly #known = new Map<string, Row>()

  constructor(path: string) {
    this.#path = path
    if (!existsSync(path)) return
    for (const line of readFileSync(path, 'utf8').split('\n')) {
      if (line === '') continue
      const row = JSON.parse(line) as Row
      this.#known.set(keyOf(row), row)
    }
  }

  /** Those of the code as it is now. */
  get current(): readonly Row[] {
    return [...this.#known.values()].filter(isCurrent)
  }

  /** How many were computed by code that has changed. */
  get outdated(): number {
    return this.#known.size - this.current.length
  }

  /** Computes a row unless the same code has, over as many tokens or more, and writes it down. */
  async once(
    is: Pick<Row, 'family' | 'kind' | 'what' | 'device'>,
    by: Code,
    compute: () => Promise<Omit<Row, keyof typeof is | 'by' | 'code' | 'seconds'>>,
    tokens = 0,
  ): Promise<void> {
    const found = this.#known.get(keyOf(is))
    if (found && isCurrent(found) && found.tokens >= tokens) return
    const before = process.cpuUsage()
    const verdict = await compute()
    const { user, system } = process.cpuUsage(before)
    const row: Row = { ...is, ...verdict, by, code: codeOf(by), seconds: Math.round((user + system) / 1e5) / 10 }
    this.#known.set(keyOf(row), row)
    appendFileSync(this.#path, `${JSON.stringify(row)}\n`)
    console.log(lineOf(row))
  }
}

export function lineOf({
  family,
  kind,
  what,
  device,
  tokens,
  otherTokens,
  otherThanPeer,
  rms,
  worst,
  good,
  mistaken,
  documents,
  otherExperts,
  ways,
  seconds,
}: Row): string {
  const subject = kind === 'mistake' ? `that ${what} is found out` : kind === 'llama.cpp' ? 'by llama.cpp' : what
  const peer = otherThanPeer ? ` (${otherThanPeer} than llama.cpp)` : ''
  const figures = `${otherTokens} of ${tokens} other${peer}, rms ${rms.toExponential(1)}, worst ${worst.toExponential(1)}`
  const apart = good || !ways ? [] : Object.entries(ways).map(([way, far]) => `${way} ${far.toExponential(1)}`)
  const seen = mistaken === undefined ? [] : [`a mistake from ${mistaken.toExponential(1)}`]
  const strict = documents === undefined ? [] : [`documents ${documents ? 'hold' : 'do not hold'}`]
  const tied = otherExperts ? [`${otherExperts} other experts at ties`] : []
  const on = device === '' ? '' : ` on ${device}`
  return `${good ? 'ok  ' : 'FAIL'} ${family} ${subject}${on}: ${[figures, ...seen, ...strict, ...tied, ...apart].join('; ')} (${seconds} s)`
}
