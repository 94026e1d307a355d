/** Strings that are quotes of a text: what compiling them takes for 32,000 tokens of it, and the masks of a document. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Tokenizer } from '../../src/generate/tokenizer/tokenizer.js'
import { compile, type Vocabulary } from '../../src/grammar/structured.js'
import { now, quantile } from './measure.js'
import { QUOTES } from './quote-schema.js'

const TOKENS = 32_000
const ROUNDS = 7
const MOST = 2 ** 20
const PROCESSES = 5

interface MeasuredQuotes {
  readonly name: string
  readonly characters: number
  readonly compileUs: number
  readonly firstUs: number
  readonly medianUs: number
  readonly slowUs: number
}

function prose(): string {
  const folder = new URL('../../docs/', import.meta.url)
  const pages = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.md') && !name.includes('node_modules'),
  )
  return pages
    .sort()
    .map((name) => readFileSync(new URL(name, folder), 'utf8'))
    .join('\n')
}

/** Letters by chance, each time the same. */
function letters(count: number, of: (number: number) => string): string {
  let state = 1
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return of(state >>> 8)
  }).join('')
}

const english = (tokenizer: Tokenizer): string => tokenizer.decode(tokenizer.encode(prose()).slice(0, TOKENS))
const chinese = (): string => letters(TOKENS, (number) => String.fromCharCode(0x4e00 + (number % 3000)))

interface ColdQuotes {
  readonly name: string
  /** Milliseconds of processor: the median over processes of the first time, the second, and so on. */
  readonly compileMs: readonly number[]
  readonly maskMs: readonly number[]
  /** The most that the first compilation of a process took. */
  readonly worstMs: number
}

/** In processes of their own, each of which makes its first grammar of quotes. */
export function measureColdQuotes(vocabulary: Vocabulary, tokenizer: Tokenizer): ColdQuotes[] {
  const folder = mkdtempSync(join(tmpdir(), 'quotes-'))
  const file = (name: string, content: string | Uint8Array): string => {
    writeFileSync(join(folder, name), content)
    return join(folder, name)
  }
  const words = file('vocabulary', vocabulary.serialize())
  const child = fileURLToPath(new URL('quote-child.ts', import.meta.url))
  const tokens = JSON.stringify(tokenizer.encode('{"first":"'))
  const texts = {
    [`${TOKENS} tokens of English`]: english(tokenizer),
    [`${TOKENS} random Chinese characters`]: chinese(),
  }
  const measured = Object.entries(texts).map(([name, text]) => {
    const args = [...process.execArgv, child, file('text', text), words, tokens]
    const found = Array.from(
      { length: PROCESSES },
      () => JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as Omit<ColdQuotes, 'name'>,
    )
    const medians = (of: (one: Omit<ColdQuotes, 'name'>) => readonly number[]) =>
      of(found[0]!).map((_, i) =>
        quantile(
          found.map((one) => of(one)[i]!),
          0.5,
        ),
      )
    return {
      name,
      compileMs: medians(({ compileMs }) => compileMs),
      maskMs: medians(({ maskMs }) => maskMs),
      worstMs: Math.max(...found.map(({ compileMs }) => compileMs[0]!)),
    }
  })
  rmSync(folder, { recursive: true })
  return measured
}

export function measureQuotes(vocabulary: Vocabulary, tokenizer: Tokenizer): MeasuredQuotes[] {
  const words = letters(MOST - 1, (number) =>
    number % 6 === 0 ? ' ' : String.fromCharCode(0x61 + (number % 26)),
  ).trim()
  return [
    measured(`${TOKENS} tokens of English`, english(tokenizer), vocabulary, tokenizer),
    measured(`${TOKENS} random Chinese characters`, chinese(), vocabulary, tokenizer),
    measured('1 MiB of random words', words, vocabulary, tokenizer),
    measured('1 MiB of one letter and spaces', 'a '.repeat(MOST / 2 - 1), vocabulary, tokenizer),
  ]
}

function measured(name: string, text: string, vocabulary: Vocabulary, tokenizer: Tokenizer): MeasuredQuotes {
  const compileUs: number[] = []
  const firstUs: number[] = []
  const maskUs: number[] = []
  const words = text.split(' ')
  const some = (from: number, to: number) => words.slice(from, to).join(' ').trim()
  const whole = words.length < 100
  const document = JSON.stringify({
    first: whole ? text.slice(0, 200) : some(10, 50),
    second: null,
    all: whole ? [] : [some(60, 61), some(70, 72), some(80, 90)],
  })
  const tokens = tokenizer.encode(document)
  const mask = new Uint32Array(vocabulary.words)
  for (let round = 0; round < ROUNDS; round++) {
    const began = now()
    // Of the text that was compiled last nothing is made again.
    const grammar = compile(QUOTES, { quote: { texts: [text, String(round)] } })
    compileUs.push(now() - began)
    const constraint = grammar.start(vocabulary)
    let inFirst = false
    for (const token of tokens) {
      const before = now()
      constraint.mask(mask)
      const us = now() - before
      // The first place of a string: whatever begins a word may come.
      if (constraint.forced().length === 0 && !inFirst) {
        inFirst = true
        firstUs.push(us)
      } else maskUs.push(us)
      if (!constraint.accept(token)) break
    }
  }
  return {
    name,
    characters: text.length,
    compileUs: quantile(compileUs, 0.5),
    firstUs: quantile(firstUs, 0.5),
    medianUs: quantile(maskUs, 0.5),
    slowUs: quantile(maskUs, 0.99),
  }
}
