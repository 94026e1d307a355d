import { V1Error } from '../../../contract/index.js'
import { inTurns } from '../../../platform/index.js'
import { type BucketWidth, bucketOf, type UsageQuery, usagePage } from '../../../usage/index.js'
import { jsonResponse, type Route } from '../../answer/service.js'
import { badRequest } from '../../wire/fields.js'

const WIDTHS = new Map<string, { seconds: BucketWidth; limit: number; max: number }>([
  ['1m', { seconds: 60, limit: 60, max: 1440 }],
  ['1h', { seconds: 3600, limit: 24, max: 168 }],
  ['1d', { seconds: 86_400, limit: 7, max: 31 }],
])
const GROUPS = ['project_id', 'model', 'api_key_id', 'user_id', 'batch', 'service_tier'] as const

/** `GET organization/usage/completions`: everyone sees their own usage, an admin everyone's. */
export const completionsUsage: Route = async ({ ledger }, { query, caller, request }) => {
  const usageQuery = readUsageQuery(new URLSearchParams(query))
  const rows = await ledger.rows(usageQuery.from, usageQuery.to ?? Number.POSITIVE_INFINITY)
  const visible = caller.admin ? rows : rows.filter((row) => row.caller === caller.id)
  return jsonResponse(await inTurns(usagePage(visible, usageQuery), request.signal, caller.id))
}

function readUsageQuery(params: URLSearchParams): UsageQuery {
  const now = Math.floor(Date.now() / 1000)
  const start = readTime(params, 'start_time')
  if (start === undefined)
    throw badRequest('start_time', "Missing required parameter: 'start_time'.", 'missing_required_parameter')
  const end = readTime(params, 'end_time')
  if (end !== undefined && end <= start) {
    throw badRequest('end_time', "Invalid 'end_time': expected a time after 'start_time'.", 'invalid_value')
  }
  const width = WIDTHS.get(readOne(params, 'bucket_width', [...WIDTHS.keys()]) ?? '1d')!
  const batch = readOne(params, 'batch', ['true', 'false'])
  return {
    from: bucketOf(start, width.seconds),
    to: end,
    now,
    width: width.seconds,
    limit: readLimit(params, width),
    page: readPage(params, width.seconds),
    groupBy: new Set(readList(params, 'group_by', GROUPS)),
    projects: readFilter(params, 'project_ids'),
    models: readFilter(params, 'models'),
    callers: readFilter(params, 'api_key_ids'),
    // No request here is a batch job or has a user id.
    nothing: batch === 'true' || readFilter(params, 'user_ids') !== undefined,
  }
}

/** `name=a&name=b`, `name[]=a` as the official client writes it, and `name=a,b`. */
function valuesOf(params: URLSearchParams, name: string): string[] {
  const values: string[] = []
  for (const [key, value] of params) {
    if (key === name || (key.startsWith(`${name}[`) && key.endsWith(']'))) values.push(...value.split(','))
  }
  return values.filter((value) => value !== '')
}

function readList<T extends string>(params: URLSearchParams, name: string, known: readonly T[]): T[] {
  const values = valuesOf(params, name)
  for (const value of values) if (!known.includes(value as T)) throw unknownValue(name, value, known)
  return values as T[]
}

function readFilter(params: URLSearchParams, name: string): ReadonlySet<string> | undefined {
  const values = valuesOf(params, name)
  return values.length > 0 ? new Set(values) : undefined
}

function readOne(params: URLSearchParams, name: string, known: readonly string[]): string | undefined {
  const value = params.get(name)
  if (value === null) return undefined
  if (!known.includes(value)) throw unknownValue(name, value, known)
  return value
}

function readTime(params: URLSearchParams, name: string): number | undefined {
  const value = params.get(name)
  if (value === null) return undefined
  if (!/^\d{1,11}$/.test(value)) {
    throw badRequest(name, `Invalid '${name}': expected seconds since 1970 as an integer.`, 'invalid_type')
  }
  return Number(value)
}

function readLimit(params: URLSearchParams, { limit, max }: { limit: number; max: number }): number {
  const value = params.get('limit')
  if (value === null) return limit
  const given = /^\d{1,6}$/.test(value) ? Number(value) : Number.NaN
  if (!(given >= 1 && given <= max)) {
    throw badRequest(
      'limit',
      `Invalid 'limit': expected an integer from 1 to ${max} for this bucket_width.`,
      'invalid_value',
    )
  }
  return given
}

function readPage(params: URLSearchParams, seconds: number): number | undefined {
  const value = params.get('page')
  if (value === null) return undefined
  const start = Number(/^page_(\d{1,11})$/.exec(value)?.[1] ?? Number.NaN)
  if (start % seconds !== 0)
    throw badRequest('page', "Invalid 'page': give the 'next_page' of the answer before.", 'invalid_value')
  return start
}

function unknownValue(name: string, value: string, known: readonly string[]): V1Error {
  const message = `Invalid value for '${name}': '${value.slice(0, 100)}'. Supported values are: '${known.join("', '")}'.`
  return new V1Error(400, message, { param: name, code: 'invalid_value' })
}
