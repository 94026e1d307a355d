import { writeFile } from 'node:fs/promises'
import process from 'node:process'
import { createV1, type V1 } from '../service/index.js'
import { type ExtractionExample, readExamples } from './calibrate/examples.js'
import { sureValues } from './calibrate/extracted.js'
import { fitTemperature, type Judged, reliabilityOf, temperedAnswers } from './calibrate/fit.js'
import { keep, type OptionOrder } from './calibrate/kept.js'
import { drawn, printedReliability } from './calibrate/picture.js'
import { type SureValue, spelledSureness, surenessOf } from './calibrate/sureness.js'
import type { Example, ExampleQuestion } from './calibrate/written.js'
import { openEngine } from './engine.js'
import type { EngineOptions } from './engine-options.js'
import { Fault } from './fault.js'
import { load } from './load.js'
import { note } from './terminal.js'

export interface CalibrateOptions extends EngineOptions {
  readonly examples: string
  readonly order: OptionOrder
  readonly svg?: string
  /** Says what would be kept, and keeps nothing. */
  readonly dryRun?: boolean
}

/** With fewer, one answer more or less moves the temperature. */
const FEW = 50

/** Why examples may determine no temperature. */
const UNDETERMINED = {
  none: 'How sure the model is says nothing about whether it is right, and no temperature changes that. Choose another model.',
  more: 'All answers are right: harder examples are needed to fit a temperature.',
} as const

/** Fits a temperature on examples, shows what it changes, and keeps it for requests that ask for it. */
export async function calibrate(options: CalibrateOptions): Promise<void> {
  const { examples: path, order, svg, cache, dryRun } = options
  if (options.engine === 'webllm')
    throw new Fault('Temperatures can only be fitted for --engine webgpu: leave --engine out.')
  const { decisions, extractions } = await readExamples(path)
  const { engine, models } = await openEngine(options)
  const v1 = createV1({ engine, keys: 'none' })
  const model = models[0]!
  try {
    await load(v1, model)
    await measureExtractions(v1, model, extractions, decisions.length === 0 ? svg : undefined)
    if (decisions.length === 0) return
    const answers: Judged[] = []
    for (const example of decisions) answers.push(...(await judged(v1, model, order, example)))
    if (answers.length === 0) throw new Fault(`The model answered none of the questions of ${path}.`, 1)
    const before = { title: 'Before', reliability: reliabilityOf(answers) }
    process.stdout.write(`${model}, ${answers.length} answers, order '${order}'\n${printedReliability(before)}`)
    const temperature = fitTemperature(answers)
    if (typeof temperature === 'string') throw new Fault(UNDETERMINED[temperature], 1)
    const title = `After, at temperature ${temperature.toFixed(3)}`
    const after = { title, reliability: reliabilityOf(temperedAnswers(answers, temperature)) }
    process.stdout.write(printedReliability(after))
    if (answers.length < FEW)
      note(`Fitted on ${answers.length} answers only: use ${FEW} or more before you rely on it.`)
    if (svg) await writeFile(svg, drawn(model, [before, after]))
    if (dryRun) return
    const { accuracy, ece } = before.reliability
    const fitted = { temperature, answers: answers.length, accuracy, eceBefore: ece, eceAfter: after.reliability.ece }
    note(
      `Saved in ${keep(model, cache, order, fitted)}; used if a request says calibrated: true, or with serve --calibrated.`,
    )
  } finally {
    await v1.close()
  }
}

/** How sure it is of what it extracts, beside whether that is right. Nothing is fitted: confidence is told as it is. */
async function measureExtractions(
  v1: V1,
  model: string,
  examples: readonly ExtractionExample[],
  svg: string | undefined,
): Promise<void> {
  if (examples.length === 0) return
  const values: SureValue[] = []
  for (const example of examples) values.push(...(await sureValues(v1, model, example)))
  if (values.length === 0) throw new Fault('The model reported no confidence for any value.', 1)
  const sureness = surenessOf(values)
  process.stdout.write(`${model}, ${values.length} values of ${examples.length} texts\n${spelledSureness(sureness)}`)
  if (svg) await writeFile(svg, drawn(model, [{ title: 'Values', reliability: sureness.reliability }]))
}

/** What the model says to an example's questions; what it refused to answer says nothing of how sure it is. */
async function judged(
  v1: V1,
  model: string,
  order: OptionOrder,
  { input, questions, place }: Example,
): Promise<Judged[]> {
  const open = questions.map(({ answer, ...question }) => question)
  const response = await v1.fetch(
    new Request(`http://localhost${v1.basePath}/decisions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model, input, questions: open, order, calibrated: false }),
    }),
  )
  const body = (await response.json()) as { answers?: readonly AnswerReply[]; error?: { message: string } }
  if (!body.answers) throw new Fault(`${place}: ${body.error?.message ?? `status ${response.status}`}`, 1)
  return body.answers.flatMap((reply, i) => (reply.type === 'refusal' ? [] : [judgedOf(questions[i]!, reply, place)]))
}

interface AnswerReply {
  readonly type: string
  readonly probability?: number
  readonly probabilities?: readonly {
    readonly value?: unknown
    readonly label?: string
    readonly probability: number
  }[]
}

function judgedOf({ type, answer }: ExampleQuestion, reply: AnswerReply, place: string): Judged {
  if (type === 'predicate') {
    if (typeof answer !== 'boolean') throw new Fault(`${place}: the answer of a predicate is true or false.`)
    return { probabilities: [reply.probability!, 1 - reply.probability!], right: answer ? 0 : 1 }
  }
  const options = reply.probabilities!
  const right = options.findIndex(({ value, label = value }) => label === answer)
  if (right < 0) throw new Fault(`${place}: the answer ${JSON.stringify(answer)} is none of the options.`)
  return { probabilities: options.map(({ probability }) => probability), right }
}
