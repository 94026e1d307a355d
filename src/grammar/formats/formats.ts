/**
 * The formats of JSON Schema as automata, each built when first asked for. Where ajv-formats and the specification
 * differ, only what both accept is accepted.
 */

import { atOnce, editDistance, type Slices } from '../../platform/index.js'
import { withLength } from '../automata/lengths.js'
import type { TextAutomaton } from '../automata/types.js'
import { compileRegexInSlices } from '../regex/regex.js'
import { REGEX } from './expressions.js'
import { EMAIL, HOSTNAME, IDN_EMAIL, IDN_HOSTNAME, IDN_HOSTNAME_LENGTH, NAME_EMAIL } from './hosts.js'
import { jwt } from './jwt.js'
import { dateTime, time } from './time.js'
import {
  IPV4,
  IPV4_INTERFACE,
  IPV6,
  IPV6_INTERFACE,
  IRI,
  IRI_REFERENCE,
  ipv4Network,
  ipv6Network,
  MULTI_HOST_URI,
  PRIVATE_USE,
  UCS,
  URI,
  URI_REFERENCE,
} from './uri.js'

const LEAP_YEAR = '(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)'
const MONTH_DAY =
  '(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8]))'
// Calendars of Python and .NET begin with the year 1.
const DATE = `^(?!0000)(?:\\d{4}-${MONTH_DAY}|${LEAP_YEAR}-02-29)$`

/** RFC 3339, appendix A: a unit may only be followed by the next smaller one. */
function duration(n: string): string {
  const time = `T(?:${n}H(?:${n}M(?:${n}S)?)?|${n}M(?:${n}S)?|${n}S)`
  const date = `(?:${n}Y(?:${n}M(?:${n}D)?)?|${n}M(?:${n}D)?|${n}D)`
  return `^P(?:${date}(?:${time})?|${time}|${n}W)$`
}

// ajv-formats alone has these: a zone may be missing, and is never shorter than in a time.
const CLOCK = '(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d+)?'
const ISO_TIME = `${CLOCK}(?:[zZ]|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)?`

const HOSTNAME_LENGTH = 253
const EMAIL_LENGTH = 254

const HEX = '[0-9a-fA-F]'
const UUID = `^${HEX}{8}-(?:${HEX}{4}-){3}${HEX}{12}$`
const uuid = (version: number) => `^${HEX}{8}-${HEX}{4}-${version}${HEX}{3}-[89abAB]${HEX}{3}-${HEX}{12}$`

const POINTER = '(?:\\/(?:[^~/]|~[01])*)*'

// RFC 6570 without dots in names, which ajv-formats refuses.
const VARIABLE = `(?:[a-zA-Z0-9_]|%${HEX}{2})+(?::[1-9]\\d{0,3}|\\*)?`
const TEMPLATE = `^(?:[!#$&(-;=?-\\[\\]_a-z~${UCS}${PRIVATE_USE}]|%${HEX}{2}|\\{[+#.\\/;?&=,!@|]?${VARIABLE}(?:,${VARIABLE})*\\})*$`

// ajv-formats asks for a name with a dot, and for a path before a query or a fragment.
const NAME = '[a-z0-9](?:[a-z0-9\\-]*[a-z0-9])?'
const CHARACTER = `(?:[a-zA-Z0-9\\-._~!$&'()*+,;=:@]|%${HEX}{2})`
const URL_TAIL = `(?:\\/(?:${CHARACTER}|\\/)*(?:\\?(?:${CHARACTER}|[/?])*)?(?:#(?:${CHARACTER}|[/?])*)?)?`
const URL = `^(?:https?|ftp):\\/\\/(?!.*--.*\\.)(?:${NAME}\\.)+[a-z]{2,}(?::\\d{2,5})?${URL_TAIL}$`

const LINE = '[\\n\\r\\u2028\\u2029]'
const BASE64 = '(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?'

const LOCAL_TIME = () => compileRegexInSlices(`^${CLOCK}$`)
const LOCAL_DATE_TIME = () => compileRegexInSlices(`${DATE.slice(0, -1)}[tT]${CLOCK}$`)
const ADDRESS = () => compileRegexInSlices(`^(?:${IPV4}|${IPV6})$`)
const PATH = () => compileRegexInSlices('^[^\\0]+$')

function* upTo(length: number, source: string): Slices<TextAutomaton> {
  return withLength(yield* compileRegexInSlices(source), 1, length)
}

const BUILDERS: Readonly<Record<string, () => Slices<TextAutomaton>>> = {
  date: () => compileRegexInSlices(DATE),
  *time() {
    // What is built in one piece has a turn of its own.
    yield
    return time()
  },
  *'date-time'() {
    return dateTime(yield* compileRegexInSlices(DATE))
  },
  // Java's Period and Temporal hold hardly more digits, and a small model that has begun with some finds no end of them.
  duration: () => compileRegexInSlices(duration('\\d{1,9}')),
  email: () => upTo(EMAIL_LENGTH, EMAIL),
  hostname: () => upTo(HOSTNAME_LENGTH, HOSTNAME),
  ipv4: () => compileRegexInSlices(`^${IPV4}$`),
  ipv6: () => compileRegexInSlices(`^${IPV6}$`),
  uuid: () => compileRegexInSlices(UUID),
  ...Object.fromEntries(
    [1, 3, 4, 5, 6, 7, 8].map((version) => [`uuid${version}`, () => compileRegexInSlices(uuid(version))]),
  ),
  ipvanyaddress: ADDRESS,
  'iso-time': () => compileRegexInSlices(`^${ISO_TIME}$`),
  'iso-date-time': () => compileRegexInSlices(`${DATE.slice(0, -1)}[tT ]${ISO_TIME}$`),
  'time-local': LOCAL_TIME,
  'date-time-local': LOCAL_DATE_TIME,
  // ajv-formats lets pass any text of which one line is base64, be it empty; OpenAPI, and who decodes it, does not.
  byte: () => compileRegexInSlices(`^${BASE64}$`),
  base64: () => compileRegexInSlices(`^${BASE64}$`),
  base64url: () => compileRegexInSlices('^(?:[A-Za-z0-9_\\-]{4})*(?:[A-Za-z0-9_\\-]{2,3})?$'),
  char: () => compileRegexInSlices('^[^]$'),
  url: () => compileRegexInSlices(URL),
  regex: () => compileRegexInSlices(REGEX),
  iri: () => compileRegexInSlices(`^${IRI}$`),
  'iri-reference': () => compileRegexInSlices(`^${IRI_REFERENCE}$`),
  'idn-hostname': () => upTo(IDN_HOSTNAME_LENGTH, IDN_HOSTNAME),
  'idn-email': () => compileRegexInSlices(IDN_EMAIL),
  'json-pointer-uri-fragment': () =>
    compileRegexInSlices(`^#(?:\\/(?:[a-zA-Z0-9_\\-.!$&'()*+,;:=@]|%${HEX}{2}|~[01])*)*$`),
  uri: () => compileRegexInSlices(`^${URI}$`),
  'uri-reference': () => compileRegexInSlices(`^${URI_REFERENCE}$`),
  'uri-template': () => compileRegexInSlices(TEMPLATE),
  'json-pointer': () => compileRegexInSlices(`^${POINTER}$`),
  'relative-json-pointer': () => compileRegexInSlices(`^(?:0|[1-9]\\d*)(?:#|${POINTER})$`),
  decimal: () => compileRegexInSlices('^-?(?:0|[1-9]\\d*)(?:\\.\\d+)?$'),
  // Pydantic's.
  ipvanyinterface: () => compileRegexInSlices(`^(?:${IPV4_INTERFACE}|${IPV6_INTERFACE})$`),
  ipvanynetwork: () => compileRegexInSlices(`^(?:${ipv4Network()}|${ipv6Network()})$`),
  ipv4interface: () => compileRegexInSlices(`^${IPV4_INTERFACE}$`),
  ipv6interface: () => compileRegexInSlices(`^${IPV6_INTERFACE}$`),
  ipv4network: () => compileRegexInSlices(`^${ipv4Network()}$`),
  ipv6network: () => compileRegexInSlices(`^${ipv6Network()}$`),
  'multi-host-uri': () => compileRegexInSlices(`^${MULTI_HOST_URI}$`),
  'name-email': () => upTo(EMAIL_LENGTH, NAME_EMAIL),
  fraction: () => compileRegexInSlices('^-?(?:0|[1-9]\\d*)(?:\\/[1-9]\\d*)?$'),
  path: PATH,
  'file-path': PATH,
  'directory-path': PATH,
  // Those of schemars, for Rust, and of NJsonSchema, for .NET.
  ip: ADDRESS,
  'partial-time': LOCAL_TIME,
  'partial-date-time': LOCAL_DATE_TIME,
  guid: () => compileRegexInSlices(UUID),
  // zod's alone: others write a pattern beside their names.
  jwt,
}

/** Which texts of a format are not written. */
const UNWRITTEN = new Map([
  ['duration', 'with numbers of more than nine digits'],
  ['byte', 'that are not base64 alone'],
])

/** Why no text is written that `fits` in a format, if there is one all the same. */
export function whyUnwritten(name: string, fits: (whole: TextAutomaton) => boolean): string | undefined {
  const whole = wholeFormat(name)
  if (whole === undefined || !fits(whole)) return undefined
  return `texts of format '${name}' ${UNWRITTEN.get(name)} are not written here, and no others satisfy the schema.`
}

/** All that a validator takes for a text of these: what a schema lists or excludes is asked by it. */
const WHOLE: typeof BUILDERS = {
  duration: () => compileRegexInSlices(duration('\\d+')),
  byte: () => compileRegexInSlices(`^(?:[^]*${LINE})?${BASE64}(?:${LINE}[^]*)?$`),
}

/**
 * Patterns that libraries write beside a format and that say no more than it does: here zod's of a host name, and its of
 * an address in any script. The first would take 23,812 states; the formats count instead.
 */
export const IMPLIED: ReadonlyMap<string, string> = new Map([
  [
    String.raw`^(?=.{1,253}\.?$)[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[-0-9a-zA-Z]{0,61}[0-9a-zA-Z])?)*\.?$`,
    'hostname',
  ],
  [String.raw`^[^\s@"]{1,64}@[^\s@]{1,255}$`, 'email'],
])

const built = new Map<string, TextAutomaton>()

/** The texts of a format; undefined for a name that has no automaton here. */
export function formatAutomaton(name: string): TextAutomaton | undefined {
  return atOnce(formatAutomatonInSlices(name))
}

/** With a pause every few milliseconds, the first time in a process. */
export function* formatAutomatonInSlices(name: string): Slices<TextAutomaton | undefined> {
  return Object.hasOwn(BUILDERS, name) ? yield* once(name, BUILDERS[name]!) : undefined
}

/** Of a format of which not all texts are written, all of them. */
export function wholeFormat(name: string): TextAutomaton | undefined {
  return Object.hasOwn(WHOLE, name) ? atOnce(once(`whole ${name}`, WHOLE[name]!)) : undefined
}

function* once(key: string, build: () => Slices<TextAutomaton>): Slices<TextAutomaton> {
  const known = built.get(key)
  if (known !== undefined) return known
  const automaton = yield* build()
  built.set(key, automaton)
  return automaton
}

/** The largest number of so many bits, or double if no double lies between that and the next power of two. */
const largest = (n: number) => 2 ** n - 2 ** Math.max(0, n - 53)
const bits = (n: number) => ({ minimum: -(2 ** (n - 1)), maximum: largest(n - 1) })
const positive = (n: number) => ({ minimum: 0, maximum: largest(n) })

/** OpenAPI's formats of numbers, and those of schemars: the integers that fit. */
export const NUMBER_FORMATS: ReadonlyMap<string, { readonly minimum: number; readonly maximum: number }> = new Map([
  ['int8', bits(8)],
  ['int16', bits(16)],
  ['int32', bits(32)],
  ['int64', bits(64)],
  ['int128', bits(128)],
  ['int', bits(64)],
  ['uint8', positive(8)],
  ['uint16', positive(16)],
  ['uint32', positive(32)],
  ['uint64', positive(64)],
  ['uint128', positive(128)],
  ['uint', positive(64)],
])

/** OpenAPI's formats that restrict nothing, and those of numbers that are times: draft 3's, zod-to-json-schema's. */
const OPEN_FORMATS: ReadonlySet<string> = new Set([
  ...['float', 'double', 'password', 'binary', 'commonmark', 'html', 'utc-millisec', 'unixtime', 'unix-time'],
])

/** Names that zod writes beside a pattern that says all of it. */
const SPELLED_OUT =
  /^(?:emoji|nanoid|cuid2?|ulid|xid|ksuid|mac|cidrv[46]|base64(?:url)?|e164|hex|lowercase|uppercase|includes|starts_with|ends_with|(?:md5|sha\d+)_(?:hex|base64(?:url)?))$/

/** Names of which libraries ask more than a pattern beside them is likely to say. */
const CHECKED_ELSEWHERE: ReadonlySet<string> = new Set(['json-string', 'zoneinfo', 'color'])

/** Whether what stands beside a format says all of it: a name of zod's, or one that whoever wrote the pattern made up. */
export function isSpelledOut(name: string, { pattern, allOf }: Record<string, unknown>): boolean {
  if ((pattern ?? allOf) !== undefined && SPELLED_OUT.test(name)) return true
  return pattern !== undefined && !CHECKED_ELSEWHERE.has(name) && !KNOWN.includes(name) && meantBy(name) === undefined
}

const KNOWN: readonly string[] = [...Object.keys(BUILDERS), ...NUMBER_FORMATS.keys(), ...OPEN_FORMATS]
const PLAIN = new Map(KNOWN.map((name) => [plain(name), name]))

/** Why a format cannot be enforced; undefined where it can. */
export function whyNotFormat(name: string): string | undefined {
  if (KNOWN.includes(name)) return undefined
  const meant = meantBy(name)
  const remedy = meant === undefined ? "say what it means in a 'pattern' instead." : `did you mean '${meant}'?`
  return `format '${name}' is not supported; ${remedy}`
}

/** The known one that it is likely to be a misspelling of. */
function meantBy(name: string): string | undefined {
  return PLAIN.get(plain(name)) ?? KNOWN.find((known) => isNear(name, known))
}

function plain(name: string): string {
  return name.replace(/[^a-z0-9]/gi, '').toLowerCase()
}

/** Short names have neighbours that mean something else: `data`, `file`. */
function isNear(name: string, known: string): boolean {
  return known.length > 5 && Math.abs(name.length - known.length) <= 1 && editDistance(name.toLowerCase(), known) <= 1
}
