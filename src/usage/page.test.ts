import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { atOnce } from '../platform/index.js'
import type { UsageRow } from './ledger.js'
import { type BucketWidth, type UsageQuery, usagePage } from './page.js'

/** The start of a day. */
const START = 1_700_438_400
const MINUTE = 60

interface Bucket {
  readonly object: string
  readonly start_time: number
  readonly end_time: number
  readonly results: readonly Record<string, unknown>[]
}
interface UsagePage {
  readonly object: string
  readonly data: Bucket[]
  readonly has_more: boolean
  readonly next_page: string | null
}
const pageOf = (rows: readonly UsageRow[], query: UsageQuery): UsagePage => atOnce(usagePage(rows, query)) as UsagePage

const row: fc.Arbitrary<UsageRow> = fc.record({
  start: fc.nat(4000).map((minute) => START + minute * MINUTE),
  caller: fc.constantFrom('ann', 'bob'),
  project: fc.constantFrom(null, 'team/x', 'team/y'),
  model: fc.constantFrom('a/b', 'a/c'),
  requests: fc.nat(9),
  errors: fc.nat(9),
  aborts: fc.nat(9),
  promptTokens: fc.nat(99),
  cachedTokens: fc.nat(99),
  completionTokens: fc.nat(99),
})

const someOf = (...values: string[]) =>
  fc.option(
    fc.subarray(values).map((each) => new Set(each)),
    { nil: undefined },
  )
const WIDTHS: readonly BucketWidth[] = [60, 3600, 86_400]
const anyQuery: fc.Arbitrary<UsageQuery & { readonly to: number }> = fc
  .record({
    width: fc.constantFrom(...WIDTHS),
    from: fc.nat(3000),
    length: fc.integer({ min: 1, max: 200_000 }),
    now: fc.nat(300_000),
    limit: fc.integer({ min: 1, max: 40 }),
    groupBy: fc.subarray(['project_id', 'model', 'api_key_id', 'batch', 'service_tier']).map((each) => new Set(each)),
    projects: someOf('team/x', 'team/y', 'team/z'),
    models: someOf('a/b', 'a/d'),
    callers: someOf('ann', 'cid'),
    nothing: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
  })
  .map(({ from, length, now, ...rest }) => {
    const first = START + from * MINUTE
    const start = first - (first % rest.width)
    // As few buckets as can be looked at, whatever their width.
    const to = start + 1 + (length % (rest.width * 60))
    return { ...rest, from: start, to, now: START + now, page: undefined }
  })

/** From the definition: every bucket of the time that was asked for, and in it every group. */
function bucketsOf(rows: readonly UsageRow[], query: UsageQuery & { readonly to: number }): object[] {
  const { width, groupBy } = query
  const floor = (time: number) => Math.floor(time / width) * width
  const first = Math.min(query.now, ...rows.map(({ start }) => start))
  const fields = [
    ['project_id', 'project'],
    ['model', 'model'],
    ['api_key_id', 'caller'],
  ] as const
  const buckets: object[] = []
  for (let start = Math.max(query.from, floor(first)); start < query.to; start += width) {
    const inside = rows.filter(
      (each) =>
        each.start >= start &&
        each.start < start + width &&
        !query.nothing &&
        (!query.models || query.models.has(each.model)) &&
        (!query.callers || query.callers.has(each.caller)) &&
        (!query.projects || query.projects.has(String(each.project))),
    )
    const nameOf = (each: UsageRow) => fields.map(([field, key]) => (groupBy.has(field) ? each[key] : undefined)).join()
    const names = [...new Set(inside.map(nameOf))]
    const results = names.map((name) => {
      const group = inside.filter((each) => nameOf(each) === name)
      const sum = (key: 'requests' | 'errors' | 'aborts' | 'promptTokens' | 'cachedTokens' | 'completionTokens') =>
        group.reduce((all, each) => all + each[key], 0)
      return {
        object: 'organization.usage.completions.result',
        input_tokens: sum('promptTokens'),
        output_tokens: sum('completionTokens'),
        input_cached_tokens: sum('cachedTokens'),
        input_audio_tokens: 0,
        output_audio_tokens: 0,
        num_model_requests: sum('requests'),
        num_failed_requests: sum('errors'),
        num_aborted_requests: sum('aborts'),
        ...Object.fromEntries(fields.map(([field, key]) => [field, groupBy.has(field) ? group[0]![key] : null])),
        user_id: null,
        // Nothing here is a batch, and there is one tier.
        batch: groupBy.has('batch') ? false : null,
        service_tier: groupBy.has('service_tier') ? 'default' : null,
      }
    })
    buckets.push({ object: 'bucket', start_time: start, end_time: Math.min(start + width, query.to), results })
  }
  return buckets
}

describe('pages of usage', () => {
  it('are together every bucket of the time, with what passes, in groups, and each once', () => {
    fc.assert(
      fc.property(fc.array(row, { maxLength: 30 }), anyQuery, (all, query) => {
        // A ledger gives rows of that time alone.
        const rows = all.filter(({ start }) => start >= query.from && start < query.to)
        const before = structuredClone(rows)
        const expected = bucketsOf(rows, query)
        const seen: object[] = []
        let page: number | undefined
        for (;;) {
          const { object, data, has_more, next_page } = pageOf(rows, { ...query, page })
          expect(object).toBe('page')
          expect(data.length).toBeLessThanOrEqual(query.limit)
          seen.push(...data)
          expect(next_page === null).toBe(!has_more)
          if (next_page === null) break
          expect(data.length).toBe(query.limit)
          page = Number(/^page_(\d+)$/.exec(next_page)![1])
        }
        expect(seen).toEqual(expected)
        // What a ledger keeps is not added up in its place.
        expect(rows).toEqual(before)
      }),
      { numRuns: 150 },
    )
  })

  it('go on behind now where no end is asked for: a clock that was set back has counted there', () => {
    const now = START + 90 * MINUTE
    const at = (minutes: number): UsageRow => ({
      ...{ start: START + minutes * MINUTE, caller: 'ann', project: null, model: 'a/b', requests: 1, errors: 0 },
      ...{ aborts: 0, promptTokens: 1, cachedTokens: 0, completionTokens: 1 },
    })
    // Of years of nothing nobody reads the pages.
    const rows = [at(0), at(95), at(99), at(250), at(5_000_000)]
    for (const [width, limit] of [[3600, 24] as const, [60, 7] as const, [86_400, 1] as const]) {
      const query = { ...daily, from: START, to: undefined, now, width, limit }
      const seen: Bucket[] = []
      for (let page: number | undefined, more = true; more; ) {
        const { data, has_more, next_page } = pageOf(rows, { ...query, page })
        expect(data.length).toBeLessThanOrEqual(limit)
        seen.push(...data)
        more = has_more
        page = more ? Number(next_page!.slice(5)) : undefined
      }
      const starts = seen.map(({ start_time }) => start_time)
      expect(starts).toEqual([...new Set(starts)].sort((a, b) => a - b))
      const requests = seen.map(({ results }) =>
        results.reduce((sum, each) => sum + Number(each.num_model_requests), 0),
      )
      expect(requests.reduce((sum, each) => sum + each)).toBe(rows.length)
      // Up to now every bucket, behind it those that have something.
      for (const [i, start] of starts.entries()) expect(requests[i]! > 0 || start <= now).toBe(true)
      const most = (seconds: number) => Math.floor(seconds / width) + 1
      expect(starts.filter((start) => start <= now)).toHaveLength(most(now - START))
    }
  })

  const daily: UsageQuery = {
    ...{ from: START, to: START + 3 * 86_400, now: START, width: 86_400, limit: 31, page: undefined, nothing: false },
    ...{ groupBy: new Set(['project_id']), projects: undefined, models: undefined, callers: undefined },
  }
  const projects = (count: number, day: number): UsageRow[] =>
    Array.from({ length: count }, (_, i) => ({
      ...{ start: START + day * 86_400, caller: 'ann', project: `team/p${i}`, model: 'a/b', requests: 1, errors: 0 },
      ...{ aborts: 0, promptTokens: 1, cachedTokens: 0, completionTokens: 1 },
    }))
  const sizes = (rows: UsageRow[]) => pageOf(rows, daily).data.map(({ results }) => results.length)

  it('have a result for each group, and what names it, in the official form', () => {
    const one = { start: START + 5, caller: 'ann', project: 'team/x', model: 'a/b', requests: 1, errors: 2, aborts: 3 }
    const rows: UsageRow[] = [
      { ...one, promptTokens: 10, cachedTokens: 20, completionTokens: 30 },
      { ...one, promptTokens: 1, cachedTokens: 2, completionTokens: 3 },
      { ...one, project: null, caller: 'bob', promptTokens: 4, cachedTokens: 5, completionTokens: 6 },
      { ...one, model: 'a/c', promptTokens: 7, cachedTokens: 8, completionTokens: 9 },
    ]
    const by = (...groupBy: string[]) => pageOf(rows, { ...daily, groupBy: new Set(groupBy) }).data[0]!.results
    const tokens = (...groupBy: string[]) => by(...groupBy).map((each) => each.input_tokens)
    expect(tokens()).toEqual([22])
    expect(tokens('model')).toEqual([15, 7])
    expect(tokens('api_key_id')).toEqual([18, 4])
    expect(tokens('model', 'api_key_id')).toEqual([11, 4, 7])
    const whole = { object: 'organization.usage.completions.result', input_audio_tokens: 0, output_audio_tokens: 0 }
    expect(by('project_id', 'model', 'api_key_id', 'batch', 'service_tier')[0]).toEqual({
      ...{ ...whole, input_tokens: 11, output_tokens: 33, input_cached_tokens: 22 },
      ...{ num_model_requests: 2, num_failed_requests: 4, num_aborted_requests: 6, user_id: null },
      ...{ project_id: 'team/x', model: 'a/b', api_key_id: 'ann', batch: false, service_tier: 'default' },
    })
    const nothing = { project_id: null, model: null, api_key_id: null, batch: null, service_tier: null }
    expect(by()[0]).toMatchObject(nothing)
  })

  it('have five thousand results at most, and end before a bucket that is one too many', () => {
    expect(sizes([...projects(2500, 0), ...projects(2500, 1)])).toEqual([2500, 2500, 0])
    expect(sizes([...projects(2500, 0), ...projects(2501, 1)])).toEqual([2500])
    expect(sizes(projects(5000, 0))).toEqual([5000, 0, 0])
    expect(() => sizes(projects(5001, 0))).toThrow(
      expect.objectContaining({
        ...{ status: 400, param: 'group_by', code: 'too_many_results' },
        message: expect.stringContaining('One bucket has 5001 results, and a page at most 5000'),
      }),
    )
  })
})
