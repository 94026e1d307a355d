import { V1Error } from '../contract/index.js'
import { getOrMake, type Slices } from '../platform/index.js'
import type { UsageRow } from './ledger.js'
import { addRow, bucketOf, type UsageSums } from './table.js'

export type BucketWidth = 60 | 3600 | 86_400

export interface UsageQuery {
  /** The start of the first bucket. */
  readonly from: number
  /** Exclusive; undefined: up to now, and what a clock that was ahead has counted beyond. */
  readonly to: number | undefined
  readonly now: number
  readonly width: BucketWidth
  readonly limit: number
  /** The start of the page's first bucket. */
  readonly page: number | undefined
  readonly groupBy: ReadonlySet<string>
  readonly projects: ReadonlySet<string> | undefined
  readonly models: ReadonlySet<string> | undefined
  readonly callers: ReadonlySet<string> | undefined
  /** A filter that no row can pass. */
  readonly nothing: boolean
}

/** Rows between two pauses. */
const SLICE = 2000

/** Results that one page may have: it ends early rather than grow larger. */
const MOST_RESULTS = 5000

/** Rows in OpenAI's form: a page of buckets, each with one result per group; with pauses, as they may be many. */
export function* usagePage(rows: readonly UsageRow[], query: UsageQuery): Slices<object> {
  const { width, limit } = query
  const to = query.to ?? query.now + 1
  // Years before the first request would be pages of nothing; after it, empty buckets show that nothing happened.
  const first = rows.reduce((least, { start }) => Math.min(least, start), query.now)
  const from = Math.max(query.from, bucketOf(first, width), query.page ?? 0)
  const last = from + limit * width
  const buckets = yield* bucketsOf(rows, query, from, last < to ? last : (query.to ?? Number.POSITIVE_INFINITY))
  const ahead = [...buckets.keys()].filter((start) => start >= to).sort((a, b) => a - b)
  const after = (start: number) => (start < to ? start : ahead.find((each) => each >= start))
  const data: object[] = []
  let results = 0
  let next = after(from)
  for (; next !== undefined && data.length < limit; next = after(next + width)) {
    const groups = yield* grouped(buckets.get(next) ?? [], query.groupBy)
    results += groups.length
    if (results > MOST_RESULTS) {
      if (data.length === 0) throw tooManyResults(groups.length)
      break
    }
    const end = next + width
    data.push({ object: 'bucket', start_time: next, end_time: next < to ? Math.min(end, to) : end, results: groups })
  }
  const more = next !== undefined
  return { object: 'page', data, has_more: more, next_page: more ? `page_${next}` : null }
}

/** What passes, by the start of its bucket. */
function* bucketsOf(
  rows: readonly UsageRow[],
  query: UsageQuery,
  from: number,
  end: number,
): Slices<Map<number, UsageRow[]>> {
  const buckets = new Map<number, UsageRow[]>()
  for (const [i, row] of rows.entries()) {
    if (i % SLICE === SLICE - 1) yield
    if (row.start < from || row.start >= end || !passes(row, query)) continue
    getOrMake(buckets, bucketOf(row.start, query.width), () => []).push(row)
  }
  return buckets
}

function tooManyResults(count: number): V1Error {
  const message = `One bucket has ${count} results, and a page at most ${MOST_RESULTS}: group by less, take a smaller 'bucket_width', or narrow it with 'project_ids', 'models' or 'api_key_ids'.`
  return new V1Error(400, message, { param: 'group_by', code: 'too_many_results' })
}

function passes(row: UsageRow, { nothing, projects, models, callers }: UsageQuery): boolean {
  if (nothing || (models && !models.has(row.model)) || (callers && !callers.has(row.caller))) return false
  return !projects || (row.project !== null && projects.has(row.project))
}

function* grouped(rows: readonly UsageRow[], groupBy: ReadonlySet<string>) {
  const groups = new Map<string, UsageSums>()
  for (const [i, row] of rows.entries()) {
    if (i % SLICE === SLICE - 1) yield
    const key = JSON.stringify([
      groupBy.has('project_id') && row.project,
      groupBy.has('model') && row.model,
      groupBy.has('api_key_id') && row.caller,
    ])
    const group = groups.get(key)
    if (group) addRow(group, row)
    else groups.set(key, { ...row })
  }
  return [...groups.values()].map((group) => result(group, groupBy))
}

/** The official fields, and beside them what they have no name for. */
function result(row: UsageSums, groupBy: ReadonlySet<string>) {
  return {
    object: 'organization.usage.completions.result',
    input_tokens: row.promptTokens,
    output_tokens: row.completionTokens,
    input_cached_tokens: row.cachedTokens,
    input_audio_tokens: 0,
    output_audio_tokens: 0,
    num_model_requests: row.requests,
    num_failed_requests: row.errors,
    num_aborted_requests: row.aborts,
    project_id: groupBy.has('project_id') ? row.project : null,
    user_id: null,
    api_key_id: groupBy.has('api_key_id') ? row.caller : null,
    model: groupBy.has('model') ? row.model : null,
    batch: groupBy.has('batch') ? false : null,
    service_tier: groupBy.has('service_tier') ? 'default' : null,
  }
}
