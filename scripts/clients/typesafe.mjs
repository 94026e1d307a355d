import { createTypeSafeAi } from '@ai-sdk/typesafe-ai'
import { OpenRouter } from '@openrouter/sdk'
import { BadRequestError, choice, noul, score, TypeSafeClient } from '@typesafe-ai/sdk'
import * as told from './told.mjs'
import { decided, decidingBy, MAIL, QUESTIONS } from './typed.mjs'

export function calls({ nano, key }) {
  const root = nano.replace(/\/v1$/, '')
  const client = new TypeSafeClient({ baseURL: root, apiKey: key, defaultModel: told.NANO, timeout: 60_000 })
  const posted = async (body) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const response = await fetch(`${nano}/systemone`, { method: 'POST', headers, body: JSON.stringify(body) })
    const json = await response.json()
    if (!response.ok) throw new Error(json.error.message)
    return json
  }
  return {
    'models.list': async () => {
      const [first] = await client.models.list()
      told.same(Object.keys(first).sort(), ['description', 'name', 'release_date'])
      return first.name
    },
    'systemOne: noul, choice, score': async () => {
      const { refund, team, urgency } = QUESTIONS
      const questions = {
        refund: noul(refund.instructions, refund.criteria),
        team: choice(team.instructions, team.criteria),
        urgency: score(urgency.instructions, urgency.criteria),
      }
      const { answers, usage } = await client.systemOne({ state: { mail: MAIL }, questions })
      told.same([usage.input_tokens > 0, usage.output_tokens], [true, 0])
      told.same(answers.urgency.legend, { 0: 'not at all', 1: null, 2: { due: 'today' } })
      return decided(answers, 'noul')
    },
    'systemOne: names only': async () => {
      const questions = { angry: noul(), kind: choice(null, { mail: null }), grade: score(null, [null, null]) }
      const { answers } = await client.systemOne({ state: null, questions })
      told.same([answers.kind.choice, answers.kind.confidence], ['mail', 1])
      return Object.keys(answers.grade.probabilities).join(', ')
    },
    'systemOne: again, and several at once': () =>
      told.sameAgain(async () => (await client.systemOne({ state: MAIL, questions: QUESTIONS })).answers),
    'systemOne: a refused request': async () => {
      const questions = { kind: { type: 'choice', criteria: {} } }
      const error = await client.systemOne({ state: MAIL, questions }).catch((thrown) => thrown)
      told.same([error instanceof BadRequestError, error.status], [true, 400])
      return error.message
    },
    ...decidingBy(
      createTypeSafeAi({ baseURL: nano, apiKey: key }).evaluationModel(told.NANO),
      'experimental_decide with @ai-sdk/typesafe-ai',
    ),
    'alpha.decisions.create, with @openrouter/sdk': async () => {
      const client = new OpenRouter({ apiKey: key })
      // It takes no null, neither in what is asked nor in what is told.
      const { refund, team, urgency } = QUESTIONS
      const questions = {
        refund: { ...refund, criteria: { true: 'Money back', false: 'Something else' } },
        team: { ...team, criteria: { billing: 'Money', tech: 'The app' } },
        urgency: { ...urgency, criteria: ['not at all', 'a little', 'today'] },
      }
      const decisionsRequest = { model: told.NANO, state: { mail: MAIL }, questions }
      const { answers } = await client.alpha.decisions.create({ decisionsRequest }, { serverURL: root })
      return decided(answers, 'noul')
    },
    "wllama's form (SystemOneParams)": async () => {
      const questions = { ...QUESTIONS, refund: { type: 'noul', instructions: { ask: ['Is it a refund?'] } } }
      return decided((await posted({ model: told.NANO, state: [MAIL], questions })).answers, 'noul')
    },
    "wllama's and Ollama's form: again, and several at once": () =>
      told.sameAgain(
        async () => (await posted({ model: told.NANO, state: MAIL, questions: QUESTIONS, keep_alive: '5m' })).answers,
      ),
    "Ollama's form, its images and keep_alive": async () => {
      const body = { model: told.NANO, state: MAIL, questions: QUESTIONS, images: [], keep_alive: '5m' }
      const first = decided((await posted(body)).answers, 'noul')
      const error = await posted({ ...body, images: ['iVBORw0KGgo='] }).catch((thrown) => thrown)
      told.same(/images\[0\]/.test(error.message), true)
      return `${first}; of images: ${error.message}`
    },
  }
}
