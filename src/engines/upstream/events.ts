import { V1Error } from '../../contract/index.js'
import { eventData } from '../../platform/index.js'
import { unreached } from './refusal.js'

/** An event of more characters than this is no chunk of an answer. */
const MAX_EVENT = 8 * 2 ** 20

/** The data of each event that another service sends. Leaving the loop hangs up. */
export async function* eventsOf(response: Response, signal: AbortSignal): AsyncGenerator<string> {
  if (!response.body) return
  try {
    yield* eventData(response.body, MAX_EVENT)
  } catch (error) {
    if (!(error instanceof RangeError)) unreached(error, signal)
    throw new V1Error(500, 'The upstream service did not send an event stream.')
  }
}
