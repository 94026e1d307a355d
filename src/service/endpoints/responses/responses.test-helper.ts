import { expect } from 'vitest'
import type { Part } from '../../../contract/engine.js'
import type { Script } from '../../../engines/scripted.js'
import { type Answer, jsonOf, pause, posting, recorded, serviceOf } from '../../v1.test-helper.js'
import { judges, judgesAreHere, requestFields } from './wire/judges.test-helper.js'
import type { ResponseEvent } from './wire/progress.js'

export const judge = judgesAreHere ? judges() : undefined
export const FIELDS = judgesAreHere ? requestFields() : []
export const schema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}
export const look = {
  type: 'function',
  name: 'look',
  parameters: { type: 'object', properties: { at: { type: 'string' } } },
}

export function service(script: Script = 'Hello there, you.', options = {}) {
  const { calls, script: recording } = recorded(script)
  const { v1, ask } = serviceOf(recording, options)
  const post = (body: object, path = '/responses', headers: Record<string, string> = {}) =>
    ask(path, posting(body, headers))
  const create = async (body: object) => {
    const answer = await post({ input: 'Hi', ...body })
    expect(answer.status, answer.text).toBe(200)
    const response = jsonOf(answer)
    expect(judge?.response(response) ?? []).toEqual([])
    return response
  }
  return { v1, ask, post, create, calls }
}

export function eventsOf(body: string): ResponseEvent[] {
  const frames = body.split('\n\n')
  expect(frames.splice(-2)).toEqual(['data: [DONE]', ''])
  return frames.map((frame) => {
    const [, name, data] = /^event: (\S+)\ndata: (.*)$/.exec(frame)!
    const event = JSON.parse(data!) as ResponseEvent
    expect(event.type).toBe(name)
    expect(judge?.event(event) ?? [], data).toEqual([])
    return event
  })
}

export const call = (index: number, args: string, name = 'look', id = `call_${index}`): Part => ({
  type: 'tool-call-delta',
  choice: 0,
  index,
  id,
  name,
  arguments: args,
})

export async function settled(ask: (path: string) => Promise<Answer>, id: string) {
  for (;;) {
    const now = jsonOf(await ask(`/responses/${id}`))
    expect(judge?.response(now) ?? []).toEqual([])
    if (now.status !== 'queued' && now.status !== 'in_progress') return now
    await pause(5)
  }
}
