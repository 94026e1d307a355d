/** Decisions of another service: by whichever endpoint it has, or read from what it would say in chat. */
import { type DecideCall, type Decided, V1Error } from '../../contract/index.js'
import { type ChatReading, decidedByChat } from './chat-decisions.js'
import { decidedOf, decisionsBody } from './decisions.js'
import { asNoPath, lacksPath, type SendBody } from './sent.js'
import { decidedBySystemOne, systemOneBody } from './systemone.js'

/** How another service is asked for decisions. */
export type DecisionsForm = 'openai' | 'systemone' | 'chat'

type Decide = (call: DecideCall, model: string) => Promise<Decided>

/** `form` undefined: what the service has, found out once. */
export function deciding(ask: SendBody, form: DecisionsForm | undefined, chat: ChatReading): Decide {
  const FORMS: Readonly<Record<DecisionsForm, Decide>> = {
    openai: async (call, model) => decidedOf(await ask('/decisions', decisionsBody(call, model), call.signal), call),
    systemone: async (call, model) =>
      decidedBySystemOne(await ask('/systemone', systemOneBody(call, model), call.signal), call),
    chat: (call, model) => decidedByChat(call, model, ask, chat),
  }
  let known = form
  const first: Decide = async (call, model) => {
    if (known !== undefined) return FORMS[known](call, model)
    for (const each of ['openai', 'systemone'] as const) {
      try {
        const decided = await FORMS[each](call, model)
        known = each
        return decided
      } catch (error) {
        if (!lacksPath(error, model)) {
          if (isAnswer(error)) known = each
          throw error
        }
      }
    }
    const decided = await FORMS.chat(call, model)
    known = 'chat'
    return decided
  }
  return (call, model) =>
    withoutCertain(call, (rest) => first(rest, model)).catch((error: unknown) => {
      throw asNoDecisions(error, model, known)
    })
}

/** What has one option alone is answered: no service need be asked, and OpenAI's form has no place for it. */
async function withoutCertain(call: DecideCall, ask: (call: DecideCall) => Promise<Decided>): Promise<Decided> {
  const open = call.questions.filter(({ options }) => options.length > 1)
  if (open.length === call.questions.length) return ask(call)
  const decided =
    open.length > 0
      ? await ask({ ...call, questions: open })
      : { answers: [], usage: { promptTokens: 0, completionTokens: 0, cachedTokens: 0 } }
  let next = 0
  const answers = call.questions.map(({ options }) =>
    options.length > 1 ? decided.answers[next++]! : { probabilities: [1] },
  )
  return { ...decided, answers }
}

/** A refusal of the request: the path is there. */
const isAnswer = (error: unknown): boolean => V1Error.is(error) && (error.status === 400 || error.status === 422)

const PATHS: Readonly<Record<DecisionsForm, string>> = {
  openai: '/decisions',
  systemone: '/systemone',
  chat: '/chat/completions',
}

function asNoDecisions(error: unknown, model: string, form: DecisionsForm | undefined): unknown {
  if (form === undefined) return asNoPath(error, model, '/decisions, /systemone or chat', 'cannot decide')
  return asNoPath(error, model, PATHS[form], 'cannot decide in the form that was set or found')
}
