import { expect } from 'vitest'
import { V1Error } from '../../contract/errors.js'
import { atOnce } from '../../platform/turns.js'
import { CHAT_FIELDS, readChatRequest } from '../endpoints/chat/route.js'

export const user = { role: 'user', content: 'Hello?' }
export const minimal = { model: 'test/hello', messages: [user] }
export const tool = { type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }
export const schema = { type: 'object', properties: {}, additionalProperties: false }

export function read(body: object = {}) {
  const { spec, ...request } = atOnce(readChatRequest({ ...minimal, ...body }))
  const { fields, ...call } = spec
  return {
    ...call,
    ...request,
    // Where it is not the usual field that asks for the form, or for thoughts.
    ...(fields.format !== CHAT_FIELDS.format && { outputField: fields.format }),
    ...(fields.thinking !== undefined && { thinkingField: fields.thinking }),
  }
}

/** The field that a request is refused for. */
export function refusedFor(json: unknown): string | null {
  try {
    atOnce(readChatRequest(json))
  } catch (error) {
    if (!V1Error.is(error)) throw error
    expect(error).toMatchObject({ status: 400, type: 'invalid_request_error' })
    expect(error.code).toMatch(/^[a-z_]+$/)
    if (error.param !== null) expect(error.message).toContain(error.param.split('.').pop())
    return error.param
  }
  throw new Error('It was not refused.')
}
