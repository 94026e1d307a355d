import { describe, expect, it } from 'vitest'
import type { UsageEvent } from './usage/ledger.js'
import { errorOf, KEY, serviceOf } from './v1.test-helper.js'

function service(options: Parameters<typeof serviceOf>[1] = {}) {
  const events: UsageEvent[] = []
  return { events, ...serviceOf('Hi', { onUsage: (event) => events.push(event), ...options }) }
}

describe('a project', () => {
  it.each(['openai-project', 'compat-project'])('is named by the header %s', async (name) => {
    const { chat, events } = service()
    expect((await chat({}, { headers: { [name]: 'my-team/app_1.2' } })).status).toBe(200)
    expect(events).toMatchObject([{ project: 'my-team/app_1.2' }])
  })

  it('may be left out', async () => {
    const { chat, events } = service()
    expect((await chat()).status).toBe(200)
    expect(events).toMatchObject([{ project: null }])
  })

  it.each(['team', '/', 'team/', '/app', 'a/b/c', 'a b/c', 'team/app, team/app', '../app', 'team/ä'])(
    'of the form %j is refused, on every path',
    async (project) => {
      const { ask, chat } = service()
      const headers = { 'compat-project': project }
      for (const answer of [await ask('/models', { headers }), await chat({}, { headers })]) {
        expect(errorOf(answer)).toMatchObject({ status: 400, param: 'compat-project', code: 'invalid_project' })
      }
    },
  )

  it('must be one', async () => {
    const { ask } = service()
    const both = (project: string) =>
      ask('/models', { headers: { 'openai-project': 'a/b', 'compat-project': project } })
    expect((await both('a/b')).status).toBe(200)
    expect((await both('a/c')).status).toBe(400)
  })

  it('may go by another header', async () => {
    const { chat, events } = service({ projectHeaders: ['X-Project'] })
    await chat({}, { headers: { 'x-project': 'a/b', 'openai-project': 'not looked at' } })
    expect(events).toMatchObject([{ project: 'a/b' }])
  })

  it('may be out of bounds for a key', async () => {
    const { ask } = service({ keys: [{ key: KEY, id: 'me', projects: ['a/b'] }] })
    expect((await ask('/models', { headers: { 'openai-project': 'a/b' } })).status).toBe(200)
    const refused = await ask('/models', { headers: { 'openai-project': 'a/c' } })
    expect(errorOf(refused)).toMatchObject({ status: 403, type: 'permission_error', code: 'project_not_allowed' })
  })
})
