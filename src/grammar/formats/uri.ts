/** RFC 3986 as regular expressions. */

const HEX = '[0-9a-fA-F]'
const GROUP = `${HEX}{1,4}`
const OCTET = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)'
export const IPV4 = `(?:${OCTET}\\.){3}${OCTET}`

const LAST_32 = `(?:${GROUP}:${GROUP}|${IPV4})`
const upTo = (n: number) => `(?:(?:${GROUP}:){0,${n}}${GROUP})?`
export const IPV6 = `(?:${[
  `(?:${GROUP}:){6}${LAST_32}`,
  `::(?:${GROUP}:){5}${LAST_32}`,
  `(?:${GROUP})?::(?:${GROUP}:){4}${LAST_32}`,
  `${upTo(1)}::(?:${GROUP}:){3}${LAST_32}`,
  `${upTo(2)}::(?:${GROUP}:){2}${LAST_32}`,
  `${upTo(3)}::${GROUP}:${LAST_32}`,
  `${upTo(4)}::${LAST_32}`,
  `${upTo(5)}::${GROUP}`,
  `${upTo(6)}::`,
].join('|')})`

/** Interfaces in a network and networks, as Python's `ipaddress` reads them: a network has no bit of a host set. */
export const IPV4_INTERFACE = `${IPV4}(?:\\/(?:[12]?\\d|3[0-2]))?`
export const IPV6_INTERFACE = `${IPV6}(?:\\/(?:1[01]\\d|12[0-8]|[1-9]?\\d))?`

function anyOf(count: number, of: (i: number) => string | number): string {
  return `(?:${Array.from({ length: count }, (_, i) => of(i)).join('|')})`
}

export function ipv4Network(): string {
  return anyOf(33, (bits) => {
    const last = anyOf(2 ** (bits & 7), (i) => i * 2 ** (8 - (bits & 7)))
    const octets = Array.from({ length: 4 }, (_, i) => (i < bits >> 3 ? OCTET : i > bits >> 3 ? '0' : last))
    return `${octets.join('\\.')}\\/${bits}`
  })
}

/** Digits that end in so many bits of 0. */
const ENDING = [HEX, '[02468aceACE]', '[048cC]', '[08]']

/** After so many groups `::` for nothing but zeros, or one group more, the last of which may end in zeros. */
export function ipv6Network(groups = 0): string {
  if (groups === 8) return '\\/128'
  const bits = groups * 16
  const last = anyOf(16, (zeros) => {
    const digits = zeros >> 2
    const group = `(?:${HEX}{0,${3 - digits}}${ENDING[zeros & 3]}0{${digits}}|0{1,4})`
    return `${group}${groups === 7 ? '' : '::'}\\/${bits + 16 - zeros}`
  })
  const more = `${groups === 0 ? '' : ':'}(?:${last}|${GROUP}${ipv6Network(groups + 1)})`
  return `(?:::\\/${anyOf(129 - bits, (i) => bits + i)}|${more})`
}

const ESCAPED = `%${HEX}{2}`
const UNRESERVED = 'a-zA-Z0-9\\-._~'
const SUB_DELIMS = "!$&'()*+,;="
const SCHEME = '[a-zA-Z][a-zA-Z0-9+\\-.]*'
const PORT = '(?::(?:[1-5]?\\d{0,4}|6(?:[0-4]\\d{3}|5(?:[0-4]\\d\\d|5(?:[0-2]\\d|3[0-5])))))?'

// Of these schemes the URL Standard, by which zod, Pydantic and browsers read, asks for a host as they find it.
const WEB = '(?:[hH][tT]{2}[pP][sS]?|[wW][sS]{1,2}|[fF][tT][pP])'
const FILE = '[fF][iI][lL][eE]'

/** `more`: characters beyond ASCII that may stand as they are; `inQuery`: those that only a query may hold. */
function grammar(more: string, inQuery: string): { readonly absolute: string; readonly reference: string } {
  const plain = `${UNRESERVED}${more}${SUB_DELIMS}`
  const pchar = `(?:[${plain}:@]|${ESCAPED})`
  const pcharNoColon = `(?:[${plain}@]|${ESCAPED})`
  const userInfo = `(?:[${plain}:]|${ESCAPED})*`
  const ipLiteral = `\\[(?:${IPV6}|[vV]${HEX}+\\.[${UNRESERVED}${SUB_DELIMS}:]+)\\]`
  const authority = `(?:${userInfo}@)?(?:${ipLiteral}|(?:[${plain}]|${ESCAPED})*)(?::\\d*)?`
  const segments = `(?:\\/${pchar}*)*`
  const rooted = `\\/\\/${authority}${segments}|\\/(?:${pchar}+${segments})?`
  const tail = `(?:\\?(?:[${plain}:@/?${inQuery}]|${ESCAPED})*)?(?:#(?:${pchar}|[/?])*)?`
  // Without a host there is no user and no port.
  const named = `(?:${userInfo}@)?(?:\\[${IPV6}\\]|(?:[${plain}]|${ESCAPED})+)${PORT}`
  const other = `\\/\\/(?:${named})?${segments}|\\/(?:${pchar}+${segments})?|${pchar}+${segments}`
  // What ends in a number is an address, and `0x` begins a number.
  const letters = `${UNRESERVED}${more}${SUB_DELIMS}`.replace('.', '')
  const host = `(?:\\[${IPV6}\\]|${IPV4}|(?:[${letters}]+\\.)*(?!0[xX])\\d*(?!\\d)[${letters}]+\\.?)`
  const web = `${WEB}:\\/\\/(?:${userInfo}@)?${host}${PORT}|${FILE}:\\/\\/${host}?`
  return {
    absolute: `(?:(?:${web})${segments}|(?!(?:${WEB}|${FILE}):)${SCHEME}:(?:${other}))${tail}`,
    reference: `(?:${SCHEME}:(?:${rooted}|${pchar}+${segments})?|(?:${rooted}|${pcharNoColon}+${segments})?)${tail}`,
  }
}

/** With a scheme. RFC 3986 lets nothing follow it (`about:`); ajv-formats does not. */
export const { absolute: URI, reference: URI_REFERENCE } = grammar('', '')

/** Pydantic's, for databases of several hosts: each a name that does not end in a number, or an address. */
function multiHost(): string {
  const pchar = `(?:[${UNRESERVED}${SUB_DELIMS}:@]|${ESCAPED})`
  const user = `(?:[${UNRESERVED}${SUB_DELIMS.replace(',', '')}]|${ESCAPED})+`
  const label = '(?!..--)[a-zA-Z0-9](?:[a-zA-Z0-9\\-_]*[a-zA-Z0-9])?'
  const host = `(?:\\[${IPV6}\\]|${IPV4}|(?:${label}\\.)*(?=[a-zA-Z])${label})${PORT}`
  const tail = `(?:\\/${pchar}*)*(?:\\?(?:${pchar}|[/?])*)?(?:#(?:${pchar}|[/?])*)?`
  return `(?!${FILE}:)${SCHEME}:\\/\\/(?:${user}(?::${user})?@)?${host}(?:,${host})*${tail}`
}

export const MULTI_HOST_URI = multiHost()

/** What RFC 3987 and RFC 6570 call `ucschar`. */
export const UCS =
  '\\u{a0}-\\u{d7ff}\\u{f900}-\\u{fdcf}\\u{fdf0}-\\u{ffef}\\u{10000}-\\u{1fffd}\\u{20000}-\\u{2fffd}\\u{30000}-\\u{3fffd}' +
  '\\u{40000}-\\u{4fffd}\\u{50000}-\\u{5fffd}\\u{60000}-\\u{6fffd}\\u{70000}-\\u{7fffd}\\u{80000}-\\u{8fffd}' +
  '\\u{90000}-\\u{9fffd}\\u{a0000}-\\u{afffd}\\u{b0000}-\\u{bfffd}\\u{c0000}-\\u{cfffd}\\u{d0000}-\\u{dfffd}' +
  '\\u{e1000}-\\u{efffd}'
export const PRIVATE_USE = '\\u{e000}-\\u{f8ff}\\u{f0000}-\\u{ffffd}\\u{100000}-\\u{10fffd}'
/** RFC 3987. */
export const { absolute: IRI, reference: IRI_REFERENCE } = grammar(UCS, PRIVATE_USE)
