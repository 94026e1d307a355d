/**
 * The formats of JSON Schema as automata, each built when first asked for. Where ajv-formats and the specification
 * differ, only what both accept is accepted.
 */

import { withLength } from '../automata/lengths.js'
import type { TextAutomaton } from '../automata/types.js'
import { compileRegex } from '../regex/regex.js'
import { dateTime, time } from './time.js'
import { IPV4, IPV6, URI, URI_REFERENCE } from './uri.js'

const LEAP_YEAR = '(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)'
const MONTH_DAY =
  '(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8]))'
const DATE = `^(?:\\d{4}-${MONTH_DAY}|${LEAP_YEAR}-02-29)$`

// RFC 3339, appendix A: a unit may only be followed by the next smaller one.
const DURATION_TIME = 'T(?:\\d+H(?:\\d+M(?:\\d+S)?)?|\\d+M(?:\\d+S)?|\\d+S)'
const DURATION_DATE = '(?:\\d+Y(?:\\d+M(?:\\d+D)?)?|\\d+M(?:\\d+D)?|\\d+D)'
const DURATION = `^P(?:${DURATION_DATE}(?:${DURATION_TIME})?|${DURATION_TIME}|\\d+W)$`

// Two hyphens at the third place announce punycode, whose validity no automaton can decide.
const LABEL = '(?!..--)[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?'
const HOSTNAME = `^${LABEL}(?:\\.${LABEL})*$`
const HOSTNAME_LENGTH = 253

const ATEXT = "[a-zA-Z0-9!#$%&'*+/=?^_`{|}~\\-]+"
const EMAIL = `^(?=[^@]{1,64}@)${ATEXT}(?:\\.${ATEXT})*@${LABEL}(?:\\.${LABEL})+$`
const EMAIL_LENGTH = 254

const HEX = '[0-9a-fA-F]'
const UUID = `^${HEX}{8}-(?:${HEX}{4}-){3}${HEX}{12}$`

const POINTER = '(?:\\/(?:[^~/]|~[01])*)*'

// RFC 6570 without dots in names, which ajv-formats refuses.
const UCS =
  '\\u{a0}-\\u{d7ff}\\u{e000}-\\u{fdcf}\\u{fdf0}-\\u{ffef}\\u{10000}-\\u{1fffd}\\u{20000}-\\u{2fffd}\\u{30000}-\\u{3fffd}' +
  '\\u{40000}-\\u{4fffd}\\u{50000}-\\u{5fffd}\\u{60000}-\\u{6fffd}\\u{70000}-\\u{7fffd}\\u{80000}-\\u{8fffd}' +
  '\\u{90000}-\\u{9fffd}\\u{a0000}-\\u{afffd}\\u{b0000}-\\u{bfffd}\\u{c0000}-\\u{cfffd}\\u{d0000}-\\u{dfffd}' +
  '\\u{e1000}-\\u{efffd}\\u{f0000}-\\u{ffffd}\\u{100000}-\\u{10fffd}'
const VARIABLE = `(?:[a-zA-Z0-9_]|%${HEX}{2})+(?::[1-9]\\d{0,3}|\\*)?`
const TEMPLATE = `^(?:[!#$&(-;=?-\\[\\]_a-z~${UCS}]|%${HEX}{2}|\\{[+#.\\/;?&=,!@|]?${VARIABLE}(?:,${VARIABLE})*\\})*$`

const BUILDERS: Readonly<Record<string, () => TextAutomaton>> = {
  date: () => compileRegex(DATE),
  time,
  'date-time': () => dateTime(compileRegex(DATE)),
  duration: () => compileRegex(DURATION),
  email: () => withLength(compileRegex(EMAIL), 1, EMAIL_LENGTH),
  hostname: () => withLength(compileRegex(HOSTNAME), 1, HOSTNAME_LENGTH),
  ipv4: () => compileRegex(`^${IPV4}$`),
  ipv6: () => compileRegex(`^${IPV6}$`),
  uuid: () => compileRegex(UUID),
  uri: () => compileRegex(`^${URI}$`),
  'uri-reference': () => compileRegex(`^${URI_REFERENCE}$`),
  'uri-template': () => compileRegex(TEMPLATE),
  'json-pointer': () => compileRegex(`^${POINTER}$`),
  'relative-json-pointer': () => compileRegex(`^(?:0|[1-9]\\d*)(?:#|${POINTER})$`),
}

/**
 * Patterns that libraries write beside a format and that say no more than it does. zod's of a host name would take
 * 23,812 states; the format counts instead.
 */
export const IMPLIED: ReadonlyMap<string, string> = new Map([
  [
    'hostname',
    String.raw`^(?=.{1,253}\.?$)[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[-0-9a-zA-Z]{0,61}[0-9a-zA-Z])?)*\.?$`,
  ],
])

const built = new Map<string, TextAutomaton>()

/** The texts of a format; undefined for a name that has no automaton here. */
export function formatAutomaton(name: string): TextAutomaton | undefined {
  const known = built.get(name)
  if (known !== undefined) return known
  const build = Object.hasOwn(BUILDERS, name) ? BUILDERS[name] : undefined
  if (build === undefined) return undefined
  const automaton = build()
  built.set(name, automaton)
  return automaton
}

/** OpenAPI's formats of numbers: the integers that fit. */
export const NUMBER_FORMATS: ReadonlyMap<string, { readonly minimum: number; readonly maximum: number }> = new Map([
  ['int32', { minimum: -(2 ** 31), maximum: 2 ** 31 - 1 }],
  // No double lies between the largest of 64 bits and the next power of two.
  ['int64', { minimum: -(2 ** 63), maximum: 2 ** 63 - 1024 }],
])

/** Formats that restrict nothing that JSON can tell. */
export const OPEN_FORMATS: ReadonlySet<string> = new Set(['float', 'double', 'password', 'binary'])
