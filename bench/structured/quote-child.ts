/**
 * What quotes of a text cost a process that made none before: `quote-child TEXT VOCABULARY TOKENS`, two files and the tokens
 * that lead to the first quote, as JSON. Prints the milliseconds of processor that each compilation takes, one behind the
 * other, and the first mask of each.
 */
import { readFileSync } from 'node:fs'
import { compile, type Grammar, Vocabulary } from '../../src/grammar/structured.js'
import { QUOTES } from './quote-schema.js'

const TIMES = 6

const [textFile, vocabularyFile, tokens] = process.argv.slice(2)
const text = readFileSync(textFile!, 'utf8')
const vocabulary = Vocabulary.deserialize(readFileSync(vocabularyFile!))
const mask = new Uint32Array(vocabulary.words)

function timed<T>(work: () => T): { made: T; ms: number } {
  const before = process.cpuUsage()
  const made = work()
  const { user, system } = process.cpuUsage(before)
  return { made, ms: (user + system) / 1000 }
}

const compileMs: number[] = []
const maskMs: number[] = []
for (let i = 0; i < TIMES; i++) {
  // Of the text that was compiled last nothing is made again.
  const { made, ms } = timed((): Grammar => compile(QUOTES, { quote: { texts: [text, String(i)] } }))
  compileMs.push(ms)
  const constraint = made.start(vocabulary)
  for (const token of JSON.parse(tokens!) as number[]) constraint.accept(token)
  maskMs.push(timed(() => constraint.mask(mask)).ms)
}
console.log(JSON.stringify({ compileMs, maskMs }))
