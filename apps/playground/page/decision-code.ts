import { BASE } from './api.js'
import { type CodeSample, curl, javaScriptText, openAiClient, type Place } from './code.js'
import type { BodyQuestion, DecisionBody } from './decision-draft.js'

/** The request that the page would send, in the words of others. */
export function decisionCode(body: DecisionBody, place: Place): CodeSample[] {
  return [
    {
      name: 'OpenAI',
      code: openAiClient(place, 'decision', 'decisions.create', body, 'console.log(decision.answers)'),
    },
    { name: 'AI SDK', code: asAiSdk(body, place) },
    { name: 'curl', code: curl('/decisions', body, place) },
  ]
}

function asAiSdk({ model, input, order, questions }: DecisionBody, { origin, served }: Place): string {
  const names = namesOf(questions)
  const questionsByName = Object.fromEntries(questions.map((question, i) => [names[i], asSdkQuestion(question)]))
  const key = served ? ", apiKey: 'your key, if the server needs one'" : ''
  return [
    '// AI SDK 7',
    "import { experimental_decide } from 'ai'",
    "import { localV1 } from 'local-v1/ai-sdk'",
    '',
    `const local = localV1({ baseURL: ${javaScriptText(origin + BASE)}${key} })`,
    '',
    ...(order === undefined ? [] : ["// The SDK has no field for order: 'average'; the other two have."]),
    'const { answers } = await experimental_decide({',
    `  model: local.decisionModel(${javaScriptText(model)}),`,
    `  state: ${JSON.stringify(input)},`,
    `  questions: ${JSON.stringify(questionsByName, null, 2).replaceAll('\n', '\n  ')},`,
    '})',
    'console.log(answers)',
    '',
  ].join('\n')
}

function asSdkQuestion(question: BodyQuestion): object {
  const { instructions } = question
  if (question.type === 'predicate') return { type: 'boolean', instructions }
  if (question.type === 'score') {
    const criteria = question.levels.map(({ label, description }) => (description ? `${label}: ${description}` : label))
    return { type: 'score', instructions, criteria }
  }
  const criteria = Object.fromEntries(question.choices.map(({ value, description }) => [value, description ?? null]))
  return { type: 'choice', instructions, criteria }
}

/** The SDK's answers have names: the first words of each question. */
function namesOf(questions: readonly BodyQuestion[]): string[] {
  const names: string[] = []
  questions.forEach(({ instructions }, i) => {
    const words = instructions.toLowerCase().match(/[a-z][a-z0-9]*/g) ?? []
    const name = words.slice(0, 4).join('_') || `question_${i + 1}`
    names.push(names.includes(name) ? `${name}_${i + 1}` : name)
  })
  return names
}
