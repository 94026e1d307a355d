import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { V1Error } from '../../contract/errors.js'
import { logFaults } from './log.js'

let printed: ReturnType<typeof vi.fn>
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] })
  printed = vi.spyOn(console, 'error').mockImplementation(() => {})
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const lines = () => printed.mock.calls.map((words) => words.join(' '))
const full = (path: string) => new Error(`ENOSPC: no space left on device, write '${path}'`)
const notStored = (id: string) =>
  logFaults({ type: 'fault', message: `The response ${id} could not be stored.`, error: full('/r') })
const turnedAway = (requestId: string) =>
  logFaults({
    ...{ type: 'request', requestId, method: 'POST', path: '/v1/conversations', status: 507, durationMs: 1 },
    error: new V1Error(507, 'It cannot be written.', { cause: full('/r') }),
  })

test('a full disk is told of in one line, once for ten minutes, whatever answers it keeps from being stored', () => {
  for (const id of ['resp_00000001', 'resp_00000002']) notStored(id)
  for (const id of ['req_00000001', 'req_00000002']) turnedAway(id)
  expect(lines()).toEqual([
    expect.stringMatching(
      /^local-v1: The response resp_00000001 could not be stored\. ENOSPC: no space .*'\/r' \(.*\)$/,
    ),
    expect.stringMatching(/^local-v1: req_00000001 POST \/v1\/conversations 507 ENOSPC: no space .*'\/r' \(.*\)$/),
  ])
  vi.advanceTimersByTime(600_000)
  notStored('resp_00000003')
  expect(lines()[2]).toContain('resp_00000003')
})

test('every other fault is told of each time, with its error', () => {
  const error = new Error('odd')
  for (let i = 0; i < 2; i++) logFaults({ type: 'fault', message: 'A fault.', error })
  expect(printed.mock.calls).toEqual([
    ['local-v1: A fault.', error],
    ['local-v1: A fault.', error],
  ])
})
