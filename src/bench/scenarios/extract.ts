/**
 * Strict extraction from texts that people wrote beside plain text of the same prompts and lengths, without guesses of
 * values that stand in the prompt and with them; and by kind of field the passes that they save, and how many were right.
 */
import type { Engine } from '../../contract/index.js'
import type { DecodeLoop } from '../../generate/index.js'
import { compile, type Grammar } from '../../grammar/index.js'
import { chatCallOf, type TimedAnswer, timed } from '../clock.js'
import type { ExtractionUnderTest } from '../extraction-subject.js'
import { EXTRACTIONS, type Extraction } from '../extractions.js'
import { FIELD_KINDS, type FieldKind, kindsIn } from '../field-kinds.js'
import type { BenchReading } from '../report.js'
import type { WatchedPass } from '../watched-model.js'
import type { Scenario } from './scenario.js'

const MOST_TOKENS = 300

interface Tally {
  passes: number
  guesses: number
  right: number
}

export function extractScenario(cases = EXTRACTIONS): Scenario {
  const grammars = cases.map(({ schema }) => compile(schema))
  return {
    part: 'extract',
    name: 'strict extraction',
    suits: (subject) => subject.extraction !== undefined,
    async run(subject) {
      const of = await subject.extraction!()
      const sums = { plain: 0, never: 0, guessing: 0, plainTokens: 0, tokens: 0 }
      const tallies = { never: empty(), guessing: empty() }
      for (const [i, each] of cases.entries()) {
        const never = await strict(of, 'never', each, grammars[i]!, tallies.never)
        const guessing = await strict(of, 'guessing', each, grammars[i]!, tallies.guessing)
        const plain = await free(of, each, never.tokens)
        sums.plain += plain.seconds
        sums.plainTokens += plain.tokens
        sums.never += never.seconds
        sums.guessing += guessing.seconds
        sums.tokens += never.tokens
        if (guessing.text !== never.text) throw new Error(`Guesses changed an answer: ${never.text} ${guessing.text}`)
      }
      const speed = sums.plainTokens / sums.plain
      const [without, beside] = [sums.tokens / sums.never, sums.tokens / sums.guessing]
      return [
        { metric: 'extract-plain', value: speed },
        { metric: 'extract-strict', value: without },
        { metric: 'extract-strict-ratio', value: without / speed },
        { metric: 'extract-guessing', value: beside },
        { metric: 'extract-guessing-ratio', value: beside / speed },
        ...figures(tallies.never, tallies.guessing, cases.length),
      ]
    },
  }
}

type Tallies = Record<FieldKind, Tally>

const empty = () =>
  Object.fromEntries(FIELD_KINDS.map((kind) => [kind, { passes: 0, guesses: 0, right: 0 }])) as unknown as Tallies

function figures(never: Tallies, guessing: Tallies, answers: number): BenchReading[] {
  const sum = (of: Tallies, field: keyof Tally) => FIELD_KINDS.reduce((all, kind) => all + of[kind][field], 0)
  const [without, beside] = [sum(never, 'passes'), sum(guessing, 'passes')]
  return [
    { metric: 'extract-passes', value: without / answers },
    { metric: 'extract-guessing-passes', value: beside / answers },
    ...FIELD_KINDS.filter((kind) => never[kind].passes > 0).flatMap((kind): BenchReading[] => [
      { metric: `extract-saved-${kind}`, value: 100 * (1 - guessing[kind].passes / never[kind].passes) },
      { metric: `extract-guesses-${kind}`, value: guessing[kind].guesses / answers },
      { metric: `extract-right-${kind}`, value: (100 * guessing[kind].right) / (guessing[kind].guesses || 1) },
    ]),
  ]
}

async function strict(
  of: ExtractionUnderTest,
  way: 'never' | 'guessing',
  extraction: Extraction,
  grammar: Grammar,
  tallies: Tallies,
): Promise<TimedAnswer> {
  const { watch } = of
  const loop = of[way]
  const call = callOf(extraction)
  // The prompt goes into the cache, so that what is compared is writing alone; nothing of it is an answer yet.
  watch.promptTokens = Number.POSITIVE_INFINITY
  watch.gold = undefined
  const { promptTokens } = await timed(engineOf(loop), { ...call, maxTokens: 1 })
  watch.promptTokens = promptTokens
  watch.gold = of.led ? JSON.stringify(extraction.answer) : undefined
  watch.passes = []
  const answer = await timed(engineOf(loop), { ...call, maxTokens: MOST_TOKENS, grammar })
  if (watch.gold !== undefined && answer.text !== watch.gold)
    throw new Error(`${answer.text} was written where ${watch.gold} was to be.`)
  tally(watch.passes, answer.text, extraction, tallies)
  return answer
}

function tally(passes: readonly WatchedPass[], text: string, { schema }: Extraction, tallies: Tallies): void {
  const kindAt = kindsIn(text, schema)
  for (const { at, guesses } of passes) {
    tallies[kindAt(at)].passes++
    for (const guess of guesses) {
      const kind = tallies[kindAt(guess.at)]
      kind.guesses++
      if (guess.right) kind.right++
    }
  }
}

/** So many tokens about the same text, without a form. */
async function free(of: ExtractionUnderTest, extraction: Extraction, tokens: number): Promise<TimedAnswer> {
  const call = callOf(extraction)
  const logitBias = new Map([...of.watch.ends].map((id) => [id, -100]))
  const plain = { ...call, output: { type: 'text' }, sampling: { ...call.sampling, logitBias } } as const
  await timed(engineOf(of.plain), { ...plain, maxTokens: 1 })
  return timed(engineOf(of.plain), { ...plain, maxTokens: tokens })
}

function callOf({ system, user, schema }: Extraction) {
  return chatCallOf({
    model: 'bench',
    messages: [
      ...(system === '' ? [] : [{ role: 'system' as const, content: system }]),
      { role: 'user' as const, content: user },
    ],
    output: { type: 'json_schema', name: 'answer', strict: true, schema },
    describeSchema: true,
    sampling: { temperature: 0 },
  })
}

const engineOf = (loop: DecodeLoop): Engine => ({ models: [], generate: (call) => loop.generate(call) })
