/** Questions about one state: side by side, beside as long a prompt, and beside a strict document of the same answers. */
import type { DecideQuestion } from '../../contract/index.js'
import { compile } from '../../grammar/index.js'
import { chatCallOf, timed } from '../clock.js'
import { promptText } from '../prompts.js'
import type { EngineUnderTest, Labels } from '../subject.js'
import { fits, freshPrompt, type Scenario, type Settings } from './scenario.js'

export const LABELS: Labels = ['yes', 'no', 'maybe']
/** About what a question takes, with its options. */
const QUESTION_TOKENS = 30
/** Of a field of a document and its value. */
const FIELD_TOKENS = 12

export function decideScenario([stateTokens, questions]: Settings['decisions'], documents: boolean): Scenario {
  const promptTokens = stateTokens + questions * QUESTION_TOKENS
  return {
    part: 'decide',
    name: `${questions} decisions on a state of ${stateTokens}`,
    // A schema is described in the prompt, and a small vocabulary spells it letter by letter.
    suits: (subject) =>
      subject.decide !== undefined && fits(subject, 2 * Math.max(promptTokens, stateTokens + questions * FIELD_TOKENS)),
    async run(subject) {
      const ask = { prompt: freshPrompt(), stateTokens, questions, questionTokens: QUESTION_TOKENS }
      const fresh = await subject.decide!({ ...ask, first: 0 })
      const again = await subject.decide!({ ...ask, first: questions })
      const alone = await subject.answer({ promptTokens: fresh.promptTokens, prompt: freshPrompt(), tokens: 1 })
      // To the token: a prompt may come out a little shorter or longer than it should.
      const perToken = alone.seconds / alone.promptTokens
      const json =
        documents && subject.engine ? await documentSeconds(subject.engine, fresh.stateText, questions) : undefined
      return [
        { metric: 'decide', value: questions / fresh.seconds },
        { metric: 'decide-ratio', value: fresh.seconds / (perToken * fresh.promptTokens) },
        { metric: 'decide-again', value: questions / again.seconds },
        {
          metric: 'decide-again-ratio',
          value: again.seconds / (perToken * (again.promptTokens - again.cachedTokens)),
        },
        ...(json === undefined ? [] : [{ metric: 'decide-json', value: questions / json } as const]),
      ]
    },
  }
}

/** The question of this number, without the letters by which prompts differ: a token each in most vocabularies. */
export const questionOf = (number: number): DecideQuestion => ({
  type: 'choice',
  instructions: `${promptText(number, 7).replace(/^\S+ /, '')}?`,
  options: LABELS.map((text) => ({ text })),
})

/** The same state, not read before, and a document with a field for each question. */
async function documentSeconds(
  { engine, model }: EngineUnderTest,
  stateText: string | undefined,
  questions: number,
): Promise<number> {
  const names = Array.from({ length: questions }, (_, i) => `q${i}`)
  const schema = {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, { enum: [...LABELS] }])),
    required: names,
    additionalProperties: false,
  }
  const call = chatCallOf({
    model,
    messages: [{ role: 'user', content: `${promptText(freshPrompt(), 1)} ${stateText ?? ''}` }],
    maxTokens: questions * FIELD_TOKENS * 2,
    output: { type: 'json_schema', name: 'document', strict: true, schema },
    grammar: compile(schema),
  })
  return (await timed(engine, call)).seconds
}
