import process from 'node:process'
import { text as readAll } from 'node:stream/consumers'
import { type Answers, decide as ask, type Questions } from '../../adapters/extract.js'
import { isRecord } from '../platform/index.js'
import type { EngineOptions } from './engine-options.js'
import { Fault } from './fault.js'
import { readJsonFile } from './json-file.js'
import { OwnV1 } from './load.js'
import { note, paint } from './terminal.js'

export interface DecideCommandOptions extends EngineOptions {
  readonly questions?: string
  readonly choice?: readonly string[]
  readonly level?: readonly string[]
  readonly order?: 'given' | 'average'
  readonly calibrated?: boolean
  readonly json?: boolean
}

/** The name of a question that came in words. */
const QUESTION_NAME = 'answer'

/** Options of a question. */
const MOST = 255

/** Below it the model would rather have said something that is no option. */
const HALF = 0.5

/** Answers questions about what is piped in. */
export async function decideCommand(words: string, options: DecideCommandOptions): Promise<void> {
  const questions = await questionsOf(words, options)
  if (process.stdin.isTTY) {
    throw new Fault('Send the text on standard input: local-v1 decide "Is it spam?" < mail.txt')
  }
  const state = await readAll(process.stdin)
  const own = await OwnV1.open(options, true)
  const { v1, model } = own
  const { order, calibrated } = options
  try {
    const reply = ask(questions, state, { from: v1, model, order, calibrated })
    await own.loadFor(reply)
    const answers = await reply
    process.stdout.write(
      options.json ? `${JSON.stringify(answers, null, 2)}\n` : spelled(answers, options.questions !== undefined),
    )
    const guessed = Object.entries(answers).filter(([, { optionMass = 1 }]) => optionMass < HALF)
    if (guessed.length > 0) {
      const names = guessed.map(([name]) => `'${name}'`).join(', ')
      note(
        paint(
          'dim',
          `Only a guess, because ${model} would rather give an answer that is not an option (option_mass below ${HALF}): ${names}`,
        ),
      )
    }
  } finally {
    await v1.close()
  }
}

async function questionsOf(
  words: string,
  { questions: file, choice, level }: DecideCommandOptions,
): Promise<Questions> {
  if ((words === '') === (file === undefined)) {
    throw new Fault('Ask one question in words, or several with --questions FILE.')
  }
  if (choice && level) throw new Fault('--choice and --level are two kinds of question: give one of them.')
  if (file === undefined) {
    if (choice)
      return { [QUESTION_NAME]: { type: 'choice', instructions: words, choices: several('--choice', choice) } }
    if (level) return { [QUESTION_NAME]: { type: 'score', instructions: words, levels: several('--level', level) } }
    return { [QUESTION_NAME]: { type: 'predicate', instructions: words } }
  }
  if (choice ?? level) throw new Fault('--choice and --level belong to a question in words, not to --questions.')
  const questions = await readJsonFile('questions', file)
  const entries = isRecord(questions) ? Object.values(questions) : []
  if (entries.length > 0 && entries.every(isRecord)) return questions as Questions
  throw new Fault(
    `The questions file ${file} must contain an object of questions: { "spam": { "type": "predicate", ... } }`,
  )
}

/** Options as a question may have them. */
function several(flag: string, options: readonly string[]): readonly string[] {
  if (options.length < 2) {
    throw new Fault(
      `${flag} ${JSON.stringify(options[0])} is the only one: give ${flag} once for each option, 2 to ${MOST}; without it, the answer is yes or no.`,
    )
  }
  if (options.length > MOST)
    throw new Fault(`${flag} is given ${options.length} times: a question has 2 to ${MOST} options.`)
  if (options.includes('')) throw new Fault(`${flag} is empty: give each option a name.`)
  const twice = options.find((option, i) => options.indexOf(option) < i)
  if (twice !== undefined) throw new Fault(`${flag} ${JSON.stringify(twice)} is given twice: give each option once.`)
  return options
}

/** Each answer, and under it how likely every option is; what was asked in words has no name. */
function spelled(answers: Answers<Questions>, named: boolean): string {
  return Object.entries(answers)
    .map(([name, answer]) => {
      const head = named ? `${name}: ` : ''
      if (answer.type === 'predicate') {
        const { probability } = answer
        return `${head}${probability >= HALF ? 'yes' : 'no'}\n${table([
          ['yes', probability],
          ['no', 1 - probability],
        ])}`
      }
      const options = Object.entries(answer.probabilities)
      if (answer.type === 'score') return `${head}${answer.score.toFixed(2)}\n${table(options)}`
      return `${head}${answer.choice}\n${table(options.sort(([, a], [, b]) => b - a))}`
    })
    .join('')
}

function table(options: readonly (readonly [string, number])[]): string {
  const width = Math.max(...options.map(([text]) => text.length))
  const line = ([text, probability]: readonly [string, number]) =>
    `  ${text.padEnd(width)}  ${(probability * 100).toFixed(1).padStart(5)} %\n`
  return options.map(line).join('')
}
