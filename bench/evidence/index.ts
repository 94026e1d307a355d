/**
 * What evidence costs: strict extractions from texts that people wrote (`models/nano/eval/natural.jsonl`) with evidence and
 * without, in turns within one run, by the time that the process computed.
 *
 *     npm run bench:evidence -- [--model FOLDER] [--limit N] [--rounds N]
 *
 * `prompt` is the prompt alone; `writing` is the answer with its prompt in the cache; `answer` both together. Exits with 1
 * where an answer takes 5 % more, or is another.
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { chatCallOf, timed } from '../../src/bench/clock.js'
import type { ChatCall, Part } from '../../src/contract/engine.js'
import { compile } from '../../src/grammar/structured.js'
import { openSubject } from '../drafts/subject.js'

interface Case {
  readonly system: string
  readonly user: string
  readonly schema: Record<string, unknown>
}

const MOST = 0.05
const root = fileURLToPath(new URL('../..', import.meta.url))
const { values } = parseArgs({
  options: {
    model: { type: 'string', default: `${root}models/nano` },
    limit: { type: 'string', default: '40' },
    rounds: { type: 'string', default: '4' },
  },
})
const cases = readFileSync(`${root}models/nano/eval/natural.jsonl`, 'utf8')
  .trim()
  .split('\n')
  .slice(0, Number(values.limit))
  .map((line) => JSON.parse(line) as Case)
const calls = cases.map(({ system, user, schema }) =>
  chatCallOf({
    model: 'bench',
    messages: [
      ...(system === '' ? [] : [{ role: 'system' as const, content: system }]),
      { role: 'user' as const, content: user },
    ],
    output: { type: 'json_schema', name: 'answer', strict: true, schema },
    grammar: compile(schema),
    describeSchema: true,
    sampling: { temperature: 0 },
  }),
)

const subject = await openSubject(values.model, 'cpu', 1, 'never')
const { loop } = subject
let evidenceParts = 0
const engine = {
  models: [],
  async *generate(call: ChatCall): AsyncGenerator<Part> {
    for await (const part of loop.generate(call)) {
      if (part.type === 'evidence') evidenceParts++
      yield part
    }
  },
}

/** Milliseconds of processor. */
async function spent(call: ChatCall): Promise<{ ms: number; text: string; tokens: number }> {
  const before = process.cpuUsage()
  const { text, tokens } = await timed(engine, call)
  const { user, system } = process.cpuUsage(before)
  return { ms: (user + system) / 1000, text, tokens }
}

const promptOf = (call: ChatCall): ChatCall => ({ ...call, maxTokens: 1, grammar: undefined })

/** The prompt with a beginning of its own, of which nothing is in the cache. */
function unread(call: ChatCall, beginning: string): ChatCall {
  const [first, ...others] = call.messages
  const content = `${beginning} ${String(first!.content)}`
  return promptOf({ ...call, messages: [{ role: first!.role as 'user', content }, ...others] })
}

const rounds = Number(values.rounds)
const sums = { prompt: 0, without: 0, with: 0, tokens: 0 }
const passes = { without: 0, with: 0 }
let different = 0
for (let round = 0; round <= rounds; round++) {
  // The first warms up.
  if (round === 1) Object.assign(sums, { prompt: 0, without: 0, with: 0, tokens: 0 })
  if (round === 1) Object.assign(passes, { without: 0, with: 0 })
  if (round === 1) evidenceParts = 0
  for (const [i, call] of calls.entries()) {
    sums.prompt += (await spent(unread(call, `${round}.${i}`))).ms
    // Whoever comes first would read it.
    await spent(promptOf(call))
    const texts: string[] = []
    // In turns, who comes first too.
    for (const mode of (i + round) % 2 === 0 ? (['without', 'with'] as const) : (['with', 'without'] as const)) {
      subject.passes = 0
      const { ms, text, tokens } = await spent(mode === 'with' ? { ...call, evidence: true } : call)
      sums[mode] += ms
      passes[mode] += subject.passes
      if (mode === 'without') sums.tokens += tokens
      texts.push(text)
    }
    if (texts[0] !== texts[1]) different++
  }
}
await subject.close()

const answers = calls.length * rounds
const each = (sum: number) => (sum / answers).toFixed(2)
const more = (one: number, other: number) => `${(100 * (one / other - 1)).toFixed(1)} %`
const [without, wanted] = [sums.prompt + sums.without, sums.prompt + sums.with]
console.log(
  `${calls.length} documents, ${rounds} times, on ${subject.device}; ${(evidenceParts / answers).toFixed(1)} values each\n`,
)
console.log('| processor time a document, ms | without | with evidence | added |')
console.log('|---|--:|--:|--:|')
console.log(`| prompt | ${each(sums.prompt)} | ${each(sums.prompt)} | |`)
console.log(`| writing | ${each(sums.without)} | ${each(sums.with)} | ${more(sums.with, sums.without)} |`)
console.log(`| answer | ${each(without)} | ${each(wanted)} | ${more(wanted, without)} |`)
console.log(`| passes | ${each(passes.without)} | ${each(passes.with)} | |`)
console.log(`\n${different} answers differ.`)
process.exit(different === 0 && wanted <= without * (1 + MOST) ? 0 : 1)
