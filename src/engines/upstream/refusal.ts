import { V1Error } from '../../contract/index.js'

const MAX_MESSAGE = 2000

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

function readError(text: string): { message: string; param: string | null; code: string | null } {
  let body: { error?: unknown; message?: unknown; detail?: unknown } = {}
  try {
    body = (JSON.parse(text) ?? {}) as typeof body
  } catch {}
  // vLLM has sent its errors bare, FastAPI as `detail`.
  const error = (typeof body.error === 'object' && body.error !== null ? body.error : body) as Record<string, unknown>
  const message = [error.message, body.error, body.detail].find((each) => typeof each === 'string')
  return {
    message: String(message ?? 'The upstream service refused the request.').slice(0, MAX_MESSAGE),
    param: typeof error.param === 'string' ? error.param : null,
    code: typeof error.code === 'string' ? error.code : null,
  }
}

function retryAfterOf(headers: Headers): number | undefined {
  const ms = Number.parseFloat(headers.get('retry-after-ms') ?? '')
  const seconds = Number.isFinite(ms) ? ms / 1000 : Number.parseFloat(headers.get('retry-after') ?? '')
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined
}
