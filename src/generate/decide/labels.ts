/** Options have labels of one token, and are as likely as these are where the answer would begin. */
import { type DecideQuestion, MOST_AMONG, V1Error } from '../../contract/index.js'
import type { Tokenizer } from '../tokenizer/tokenizer.js'
import type { LabelType } from './made-form.js'
import { ordersOf } from './questions.js'
import { type Readout, type Reads, temperatureGroup } from './readout.js'
import { tempered } from './temperature.js'
import { OptionTrie, sharesOf } from './trie.js'
import type { QuestionOption, TypedQuestion } from './typed-question.js'

interface Label {
  readonly code: string
  /** The likeliest of them counts. */
  readonly tokens: readonly number[]
}

interface Labelling {
  /** The labels of a question's options, as they are shown. */
  labelsOf(question: TypedQuestion): readonly Label[]
  readonly most: number
  /** The template shows which label an option has. */
  readonly showsLabels: boolean
  /** Of a predicate, that it is so comes first. */
  readonly yesFirst: boolean
  /** A predicate is answered on a scale of so many: from certainly not to certainly so. */
  readonly ratings?: number
  /** A choice is asked in its order and in the reverse of it. */
  readonly bothWays: boolean
  group(options: number): string
}

const CAPITALS = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ']
const SMALL = CAPITALS.map((letter) => letter.toLowerCase())
const PAIRS = CAPITALS.flatMap((one) => CAPITALS.map((other) => one + other))
const NUMBERS = Array.from({ length: 100 }, (_, i) => String(i).padStart(2, '0'))
/** As many as any form of the request may ask for. */
const MOST_LABELS = 255

/** A label of two letters only where it is one token. */
function codes(tokenizer: Tokenizer): readonly Label[] {
  const all = [...CAPITALS, ...PAIRS].flatMap((code) => {
    const token = tokenOf(tokenizer, code)
    return token === undefined ? [] : [{ code, tokens: [token] }]
  })
  return all.slice(0, MOST_LABELS)
}

/** The first of these, in their order. */
const inOrder = (labels: readonly Label[]): Pick<Labelling, 'labelsOf' | 'most'> => ({
  labelsOf: ({ options }) => labels.slice(0, options.length),
  most: labels.length,
})

function coded(tokenizer: Tokenizer): Labelling {
  return { ...inOrder(codes(tokenizer)), showsLabels: true, yesFirst: false, bothWays: false, group: temperatureGroup }
}

const LABELLINGS: Readonly<Record<LabelType, (tokenizer: Tokenizer) => Labelling>> = {
  openjev(tokenizer) {
    const labels = [...CAPITALS, ...SMALL].map((code) => ({ code, tokens: [letterOf(tokenizer, code)] }))
    return { ...inOrder(labels), showsLabels: false, yesFirst: true, bothWays: false, group: temperatureGroup }
  },
  lev(tokenizer) {
    const ratings = 9
    const labels = codes(tokenizer)
    return {
      // A predicate not by the digits that its template shows.
      labelsOf: ({ kind, options }) => labels.slice(0, kind === 'noul' ? ratings : options.length),
      ...{ most: labels.length, showsLabels: true, yesFirst: false, ratings, bothWays: true },
      group: (options) => (options <= 8 ? 'small' : options <= 26 ? 'mid' : 'large'),
    }
  },
  nimble: coded,
  'pplx-decider': coded,
  'lfm2-d1'(tokenizer) {
    const pool = POOL.flatMap((code) => spacedLabel(tokenizer, code) ?? [])
    const most = new Set(pool.map(({ tokens }) => tokens[0])).size
    return {
      labelsOf: (question) =>
        question.kind === 'choice' ? chosenLabels(tokenizer, pool, question.options) : wordLabels(tokenizer, question),
      // Each has two tokens, and a model scores so many at once.
      ...{
        most: Math.min(most, MOST_AMONG / 2),
        showsLabels: true,
        yesFirst: true,
        bothWays: false,
        group: temperatureGroup,
      },
    }
  },
}

export class LabelReadout implements Readout {
  readonly most: number
  readonly #labelling: Labelling

  constructor(tokenizer: Tokenizer, type: LabelType) {
    this.#labelling = LABELLINGS[type](tokenizer)
    this.most = this.#labelling.most
  }

  group(options: number): string {
    return this.#labelling.group(options)
  }

  ordersOf(question: DecideQuestion): readonly (readonly number[])[] {
    const orders = ordersOf(question, 'given')
    const both = this.#labelling.bothWays && question.type === 'choice' && question.options.length > 1
    return both ? [orders[0]!, [...orders[0]!].reverse()] : orders
  }

  worded(question: TypedQuestion): TypedQuestion {
    const { yesFirst, showsLabels, labelsOf } = this.#labelling
    const shown =
      question.kind === 'noul' && yesFirst ? { ...question, options: [...question.options].reverse() } : question
    if (!showsLabels) return shown
    const labels = labelsOf(shown)
    return { ...shown, options: shown.options.map((option, i) => ({ ...option, label: labels[i]!.code })) }
  }

  reads(question: TypedQuestion, stem: readonly number[]): Reads {
    const labels = this.#labelling.labelsOf(question)
    const tokens = labels.flatMap((label) => label.tokens)
    const trie = new OptionTrie(
      tokens.map((token) => [token]),
      [],
    )
    const sharesAt = (temperature: number) => {
      const { probabilities, mass } = sharesOf(trie)
      const rest = [...probabilities]
      const most = labels.map((label) => Math.max(...rest.splice(0, label.tokens.length)))
      const shares = tempered(most, temperature)
      return { mass, shares: question.kind === 'noul' ? this.#sides(shares) : shares }
    }
    return { of: { stem, trie }, sharesAt }
  }

  /** That it is so, and that it is not. */
  #sides(shares: readonly number[]): readonly number[] {
    const { ratings, yesFirst } = this.#labelling
    if (ratings === undefined) return yesFirst ? shares : [...shares].reverse()
    const so = shares.reduce((sum, share, i) => sum + (share * i) / (ratings - 1), 0)
    return [so, 1 - so]
  }
}

const WORDS = { true: ['yes', 'Yes', 'YES'], false: ['no', 'No', 'NO'] } as const

/** A level by its number, a side of a predicate by any of the words that say it. */
function wordLabels(tokenizer: Tokenizer, { kind, options }: TypedQuestion): Label[] {
  return options.map(({ key }) => {
    const words = kind === 'noul' ? WORDS[key as keyof typeof WORDS] : [key]
    const tokens = new Set(words.flatMap((word) => tokenOf(tokenizer, word) ?? []))
    if (tokens.size === 0) throw noLabel(`"${words.join('" or "')}"`)
    return { code: key, tokens: [...tokens] }
  })
}

/** Codes in place of one that is no token, or taken. */
const POOL = [...CAPITALS, ...NUMBERS, ...SMALL, ...Array.from({ length: 200 }, (_, i) => `#${i}`), ...PAIRS]

/** Letters stay letters; others get letters, or numbers where there are more than letters. */
function chosenLabels(tokenizer: Tokenizer, pool: readonly Label[], options: readonly QuestionOption[]): Label[] {
  const letters = options.every(({ key }) => /^[A-Za-z]$/.test(key))
  const wanted = (key: string, i: number) => {
    if (letters) return key
    return options.length <= CAPITALS.length ? CAPITALS[i]! : String(i).padStart(2, '0')
  }
  const used = new Set<number>()
  const isFree = ({ tokens: [token] }: Label) => !used.has(token!)
  return options.map(({ key }, i) => {
    const own = spacedLabel(tokenizer, wanted(key, i))
    const label = own && isFree(own) ? own : pool.find(isFree)
    if (!label) throw noLabel(`each of ${options.length} options`)
    used.add(label.tokens[0]!)
    return label
  })
}

/** With the token that has a blank before it, too; undefined where the code is no token. */
function spacedLabel(tokenizer: Tokenizer, code: string): Label | undefined {
  const token = tokenOf(tokenizer, code)
  if (token === undefined) return undefined
  const spaced = tokenOf(tokenizer, ` ${code}`)
  return { code, tokens: spaced === undefined || spaced === token ? [token] : [token, spaced] }
}

function tokenOf(tokenizer: Tokenizer, text: string): number | undefined {
  const [token, ...more] = tokenizer.encodeContinuation(text)
  return more.length === 0 ? token : undefined
}

function letterOf(tokenizer: Tokenizer, letter: string): number {
  const token = tokenOf(tokenizer, letter)
  if (token === undefined) throw noLabel(`"${letter}"`)
  return token
}

const noLabel = (what: string): V1Error =>
  new V1Error(500, `This model answers with labels, but its tokenizer has no token for ${what}.`, {
    code: 'model_files',
    headers: { 'x-should-retry': 'false' },
  })
