import { describe, expect, it } from 'vitest'
import { usageEvent } from '../../../usage/event.test-helper.js'
import type { UsageEvent } from '../../../usage/ledger.js'
import { memoryUsage } from '../../../usage/table.js'
import { errorOf, jsonOf, serviceOf, valid } from '../../v1.test-helper.js'

const PATH = '/organization/usage/completions'
const KEYS = [
  { key: 'sk-test', id: 'me' },
  { key: 'other', id: 'other' },
  { key: 'boss', id: 'boss', admin: true },
]
const DAY = 86_400
/** A Monday, at midnight. */
const START = 1_700_438_400

const event = (over: Partial<UsageEvent> = {}) => usageEvent({ time: START, ...over })

function recorded(...events: Partial<UsageEvent>[]) {
  const usage = memoryUsage()
  for (const each of events) void usage.record(event(each))
  const { ask } = serviceOf('Hi', { usage, keys: KEYS })
  return async (query: string, key = 'sk-test') => {
    const answer = await ask(`${PATH}?${query}`, { headers: { authorization: `Bearer ${key}` } })
    if (answer.status !== 200) return errorOf(answer)
    return valid('UsageResponse', jsonOf(answer))
  }
}

describe('usage', () => {
  it('comes in OpenAI’s pages of buckets', async () => {
    const page = await recorded(
      {},
      { time: START + 3600 },
      { time: START + DAY },
    )(`start_time=${START}&end_time=${START + 2 * DAY}`)
    expect(page).toEqual({
      object: 'page',
      data: [
        {
          object: 'bucket',
          start_time: START,
          end_time: START + DAY,
          results: [
            {
              object: 'organization.usage.completions.result',
              input_tokens: 20,
              output_tokens: 6,
              input_cached_tokens: 8,
              input_audio_tokens: 0,
              output_audio_tokens: 0,
              num_model_requests: 2,
              num_failed_requests: 0,
              num_aborted_requests: 0,
              project_id: null,
              user_id: null,
              api_key_id: null,
              model: null,
              batch: null,
              service_tier: null,
            },
          ],
        },
        expect.objectContaining({ start_time: START + DAY, end_time: START + 2 * DAY }),
      ],
      has_more: false,
      next_page: null,
    })
  })

  it('has buckets of a minute, an hour and a day', async () => {
    const ask = recorded({}, { time: START + 60 }, { time: START + 3600 })
    const end = `start_time=${START}&end_time=${START + DAY}`
    const counts = async (query: string) => {
      const page = await ask(`${end}&${query}`)
      return page.data.map(
        ({ results }: { results: { num_model_requests: number }[] }) => results[0]?.num_model_requests ?? 0,
      )
    }
    expect(await counts('bucket_width=1m&limit=3')).toEqual([1, 1, 0])
    expect(await counts('bucket_width=1h&limit=3')).toEqual([2, 1, 0])
    expect(await counts('bucket_width=1d')).toEqual([3])
    expect(await counts('')).toEqual([3])
  })

  it('continues on the next page, until every bucket has been shown once', async () => {
    const days = [0, 1, 4, 9]
    const ask = recorded(...days.map((day) => ({ time: START + day * DAY })))
    const seen: number[] = []
    let page = ''
    for (;;) {
      const { data, has_more, next_page } = await ask(`start_time=${START}&end_time=${START + 10 * DAY}&limit=3${page}`)
      for (const bucket of data) if (bucket.results.length > 0) seen.push((bucket.start_time - START) / DAY)
      expect(has_more).toBe(next_page !== null)
      if (!has_more) break
      expect(data).toHaveLength(3)
      page = `&page=${next_page}`
    }
    expect(seen).toEqual(days)
  })

  it('shows what a clock that was ahead has counted, once it is set back', async () => {
    const now = Math.floor(Date.now() / 1000)
    const ask = recorded({ time: now - 60 }, { time: now + 40 * DAY })
    const requests = async (query: string) => {
      const { data } = await ask(query)
      return data.flatMap(({ results }: { results: { num_model_requests: number }[] }) =>
        results.map((each) => each.num_model_requests),
      )
    }
    expect(await requests(`start_time=${now - DAY}`)).toEqual([1, 1])
    expect(await requests(`start_time=${now - DAY}&end_time=${now}`)).toEqual([1])
  })

  it('leaves out the years before the first request, and shows empty buckets after it', async () => {
    const { data } = await recorded(
      { time: START },
      { time: START + 2 * DAY },
    )(`start_time=0&end_time=${START + 3 * DAY}`)
    const shown = data.map(({ start_time, results }: { start_time: number; results: unknown[] }) => [
      start_time,
      results.length,
    ])
    expect(shown).toEqual([
      [START, 1],
      [START + DAY, 0],
      [START + 2 * DAY, 1],
    ])
    const nothing = await recorded()('start_time=0')
    expect(nothing.data).toMatchObject([{ results: [] }])
  })

  it.each([
    'group_by=project_id&group_by=model',
    'group_by[]=project_id&group_by[]=model',
    'group_by=project_id,model',
    'group_by%5B0%5D=project_id&group_by%5B1%5D=model',
  ])('is grouped: %s', async (query) => {
    const ask = recorded({ project: 'a/x' }, { project: 'a/x', model: 'a/c' }, { project: 'a/x' })
    const { results } = (await ask(`start_time=${START}&${query}`)).data[0]
    const groups = results.map((row: Record<string, unknown>) => [
      row.project_id,
      row.model,
      row.api_key_id,
      row.num_model_requests,
    ])
    expect(groups).toEqual([
      ['a/x', 'a/b', null, 2],
      ['a/x', 'a/c', null, 1],
    ])
  })

  it('is filtered', async () => {
    const ask = recorded({ project: 'a/x' }, { model: 'a/c' }, {})
    const count = async (query: string) =>
      (await ask(`start_time=${START}&end_time=${START + DAY}&${query}`)).data[0].results[0]?.num_model_requests ?? 0
    expect(await count('project_ids=a/x')).toBe(1)
    expect(await count('models[]=a/b')).toBe(2)
    expect(await count('models=a/b&models=a/c')).toBe(3)
    expect(await count('api_key_ids=me')).toBe(3)
    expect(await count('api_key_ids=other')).toBe(0)
    expect(await count('user_ids=x')).toBe(0)
    expect(await count('batch=true')).toBe(0)
    expect(await count('batch=false')).toBe(3)
  })

  it('is a caller’s own, and everyone’s for an admin', async () => {
    const ask = recorded({}, { caller: 'other' }, { caller: 'other' })
    const count = async (key: string, query = '') =>
      (await ask(`start_time=${START}&end_time=${START + DAY}${query}`, key)).data[0]?.results[0]?.num_model_requests ??
      0
    expect(await count('sk-test')).toBe(1)
    expect(await count('other')).toBe(2)
    expect(await count('boss')).toBe(3)
    expect(await count('sk-test', '&api_key_ids=other')).toBe(0)
  })

  it.each([
    ['start_time', ''],
    ['start_time', 'start_time=now'],
    ['start_time', 'start_time=-1'],
    ['end_time', 'start_time=5&end_time=5'],
    ['end_time', 'start_time=5&end_time=x'],
    ['bucket_width', 'start_time=0&bucket_width=1w'],
    ['group_by', 'start_time=0&group_by=mood'],
    ['limit', 'start_time=0&limit=0'],
    ['limit', 'start_time=0&limit=32'],
    ['limit', 'start_time=0&bucket_width=1h&limit=169'],
    ['page', 'start_time=0&page=2'],
    ['page', 'start_time=0&page=page_61'],
    ['batch', 'start_time=0&batch=yes'],
  ])('is refused for %s: %s', async (param, query) => {
    expect(await recorded()(query)).toMatchObject({ status: 400, type: 'invalid_request_error', param })
  })

  it('ends a page before it grows large, and continues on the next', async () => {
    const projects = Array.from({ length: 2000 }, (_, i) => ({ project: `team/p${i}` }))
    const ask = recorded(
      ...[0, 1, 2, 3].flatMap((day) => projects.map((each) => ({ ...each, time: START + day * DAY }))),
    )
    const query = `start_time=${START}&end_time=${START + 5 * DAY}&group_by=project_id`
    const first = await ask(query)
    expect(first.data.map(({ results }: { results: unknown[] }) => results.length)).toEqual([2000, 2000])
    expect(first).toMatchObject({ has_more: true, next_page: `page_${START + 2 * DAY}` })
    const second = await ask(`${query}&page=${first.next_page}`)
    expect(second.data.map(({ results }: { results: unknown[] }) => results.length)).toEqual([2000, 2000, 0])
    expect(second).toMatchObject({ has_more: false, next_page: null })
  })

  it('says what to do if a single bucket is larger than a page', async () => {
    const ask = recorded(...Array.from({ length: 5001 }, (_, i) => ({ project: `team/p${i}`, model: `a/m${i % 2}` })))
    const query = `start_time=${START}&end_time=${START + DAY}`
    const error = await ask(`${query}&group_by=project_id`)
    expect(error).toMatchObject({ status: 400, param: 'group_by', code: 'too_many_results' })
    expect(error.message).toContain("'project_ids'")
    expect((await ask(`${query}&group_by=project_id&models=a/m0`)).data[0].results).toHaveLength(2501)
    expect((await ask(`${query}&group_by=model`)).data[0].results).toHaveLength(2)
  })
})
