import { describe, expect, it } from 'vitest'
import { V1Error } from '../../contract/errors.js'
import type { UsageEvent } from '../../usage/ledger.js'
import { errorOf, KEY, serviceOf } from '../v1.test-helper.js'

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
    expect(errorOf(await both('a/c'))).toMatchObject({
      status: 400,
      message: "The headers 'openai-project' and 'compat-project' name different projects.",
    })
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

  it('may be a new one only so often for each caller: names are kept', async () => {
    const keys = ['one', 'two', { key: 'three', id: 'three', projects: ['a/1', 'a/2', 'a/3', 'a/4'] }]
    const { ask } = service({ keys, maxProjects: 3 })
    const as = (key: string, project: string) =>
      ask('/models', { headers: { authorization: `Bearer ${key}`, 'openai-project': project } })
    for (const project of ['a/1', 'a/2', 'a/3', 'a/1']) expect((await as('one', project)).status).toBe(200)
    expect(errorOf(await as('one', 'a/4'))).toMatchObject({ status: 403, code: 'too_many_projects' })
    expect((await as('one', 'a/2')).status).toBe(200)
    expect((await as('two', 'a/4')).status).toBe(200)
    for (const project of ['a/1', 'a/2', 'a/3', 'a/4']) expect((await as('three', project)).status).toBe(200)
  })

  it('that is invented for a request that fails is not kept for ever', async () => {
    const failing = serviceOf([new V1Error(429, 'Too much.')], { maxProjects: 2 })
    for (let i = 0; i < 10; i++) await failing.chat({}, { headers: { 'openai-project': `a/${i}` } })
    const page = JSON.parse(
      (await failing.ask('/organization/usage/completions?start_time=0&group_by=project_id')).text,
    )
    expect(page.data.flatMap(({ results }: { results: unknown[] }) => results)).toHaveLength(2)
  })
})
