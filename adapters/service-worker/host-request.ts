import { V1Error } from '../../src/contract/errors.js'
import type { HostLink } from './host-link.js'
import type { PassedRequest } from './messages.js'

/** A request that has cost three workers their lives does not get a fourth one. */
const MAX_HOSTS = 3

export interface Ways {
  /** The link to the host; undefined where there is none. */
  find(): Promise<HostLink | undefined>
  /** Answers where there is no host. */
  without(): Response | Promise<Response>
}

/** Asks the host; another one where it is lost before it has begun. */
export async function sendToHost(
  { find, without }: Ways,
  request: PassedRequest,
  signal: AbortSignal,
): Promise<Response> {
  for (let tried = 0; tried < MAX_HOSTS; tried++) {
    const link = await find()
    if (!link) return without()
    const response = await link.ask(request, signal)
    if (response) return response
  }
  const headers = { 'retry-after': '1', 'x-should-retry': 'false' }
  return Response.json(endsWorkers(), { status: 503, headers })
}

/** Read as a whole: it may have to be sent once more. */
export async function passedRequest(request: Request): Promise<PassedRequest> {
  const { url, method, headers } = request
  const body = method === 'GET' || method === 'HEAD' ? undefined : await request.arrayBuffer()
  return { url, method, headers: [...headers], body }
}

function endsWorkers(): V1Error {
  const message =
    `The worker that runs the models ended each of the ${MAX_HOSTS} times that it began with this request: perhaps it takes ` +
    'more memory than this device has. Send less, or choose a smaller model.'
  return new V1Error(503, message, { code: 'host_lost' })
}
