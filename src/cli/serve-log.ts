import { V1Error } from '../contract/index.js'
import { type Log, logFaults } from '../service/index.js'
import { note, paint } from './terminal.js'

/** The option that lets in what an error refuses, and its name where a program says it. */
const OPTIONS = new Map<string | null, readonly [option: string, flag: string]>([
  ['origin_not_allowed', ["'cors'", '--cors']],
  ['host_not_allowed', ["'hosts'", '--allow-host']],
])

/** Anybody may invent names: no more lines than that. */
const MOST_LINES = 20

/**
 * Faults, and whoever is turned away at the door, once each: a page that is cannot read why, and its developer looks
 * here.
 */
export function serveLog(): Log {
  const shown = new Set<string>()
  return (event) => {
    logFaults(event)
    if (!V1Error.is(event.error)) return
    const option = OPTIONS.get(event.error.code)
    if (option === undefined) return
    const line = event.error.message.replace(option[0], option[1])
    if (shown.has(line) || shown.size >= MOST_LINES) return
    shown.add(line)
    note(paint('yellow', line))
  }
}
