import { ApiError, ask, type ChatBody } from './api.js'

/** Why `/v1` would refuse the schema of a request; undefined where it takes it. Next to nothing is computed. */
export async function refusalFor(body: ChatBody): Promise<string | undefined> {
  const { schema } = body.response_format!.json_schema
  if (document.documentElement.dataset.place !== 'server') {
    const { refusalOf } = await import('./check.js')
    return refusalOf(schema, body.messages.at(-1)!.content)
  }
  try {
    // For one token: no document is as short, and what is wrong with the schema is said first.
    const json = JSON.stringify({ ...body, max_tokens: 1 })
    await ask('/chat/completions', { method: 'POST', headers: { 'content-type': 'application/json' }, body: json })
  } catch (error) {
    if (error instanceof ApiError && error.param === 'response_format') return error.message
  }
  return undefined
}
