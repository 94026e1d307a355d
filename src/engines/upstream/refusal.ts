import { V1Error } from '../../contract/index.js'

const MAX_MESSAGE = 2000

/** A connection that is not made, or breaks before the whole answer is there: another try may find another machine. */
export function unreached(cause: unknown, signal: AbortSignal): never {
  signal.throwIfAborted()
  throw new V1Error(503, 'The upstream service cannot be reached.', { code: 'upstream_down', cause })
}

/** What the other service refused, as our own refusal. */
export async function refusalOf(response: Response): Promise<V1Error> {
  const { message, param, code } = readError(await textOf(response))
  const { status } = response
  if (status === 401 || status === 403) {
    // The key at fault is ours; the client's own was good.
    const cause = new Error(`${status} ${message}`)
    return new V1Error(500, 'The upstream service refused our key.', { code: 'upstream_key', cause })
  }
  return new V1Error(status >= 400 ? status : 500, message, { param, code, retryAfter: retryAfterOf(response.headers) })
}

async function textOf(response: Response): Promise<string> {
  try {
    return await response.text()
  } catch {
    return ''
  }
}

/** vLLM has sent its errors bare, Ollama as a text, FastAPI as `detail`, which may be a list of what is wrong. */
export function messageIn({ error, message, detail }: Complaint): string | undefined {
  const named = typeof error === 'object' && error !== null ? (error as Complaint).message : message
  const listed = Array.isArray(detail) ? JSON.stringify(detail) : detail
  const found = [named, error, listed].find((each) => typeof each === 'string') as string | undefined
  return found?.slice(0, MAX_MESSAGE)
}

interface Complaint {
  readonly error?: unknown
  readonly message?: unknown
  readonly detail?: unknown
}

function readError(text: string): { message: string; param: string | null; code: string | null } {
  let body: Complaint = {}
  try {
    body = (JSON.parse(text) ?? {}) as Complaint
  } catch {}
  const error = (typeof body.error === 'object' && body.error !== null ? body.error : body) as Record<string, unknown>
  return {
    message: messageIn(body) ?? 'The upstream service refused the request.',
    param: typeof error.param === 'string' ? error.param : null,
    code: typeof error.code === 'string' ? error.code : null,
  }
}

function retryAfterOf(headers: Headers): number | undefined {
  const ms = Number.parseFloat(headers.get('retry-after-ms') ?? '')
  const after = headers.get('retry-after') ?? ''
  // It may be a date, as some proxies write it.
  const told = /^\s*\d/.test(after) ? Number.parseFloat(after) : (Date.parse(after) - Date.now()) / 1000
  const seconds = Number.isFinite(ms) ? ms / 1000 : told
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined
}
