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

const ESCAPED = `%${HEX}{2}`
const UNRESERVED = 'a-zA-Z0-9\\-._~'
const SUB_DELIMS = "!$&'()*+,;="
const PCHAR = `(?:[${UNRESERVED}${SUB_DELIMS}:@]|${ESCAPED})`
const PCHAR_NO_COLON = `(?:[${UNRESERVED}${SUB_DELIMS}@]|${ESCAPED})`
const SCHEME = '[a-zA-Z][a-zA-Z0-9+\\-.]*'
const USER_INFO = `(?:[${UNRESERVED}${SUB_DELIMS}:]|${ESCAPED})*`
const IP_LITERAL = `\\[(?:${IPV6}|[vV]${HEX}+\\.[${UNRESERVED}${SUB_DELIMS}:]+)\\]`
const REG_NAME = `(?:[${UNRESERVED}${SUB_DELIMS}]|${ESCAPED})*`
const AUTHORITY = `(?:${USER_INFO}@)?(?:${IP_LITERAL}|${REG_NAME})(?::\\d*)?`
const SEGMENTS = `(?:\\/${PCHAR}*)*`
const ROOTED = `\\/\\/${AUTHORITY}${SEGMENTS}|\\/(?:${PCHAR}+${SEGMENTS})?`
const TAIL = `(?:\\?(?:${PCHAR}|[/?])*)?(?:#(?:${PCHAR}|[/?])*)?`

/** With a scheme. RFC 3986 lets nothing follow it (`about:`); ajv-formats does not. */
export const URI = `${SCHEME}:(?:${ROOTED}|${PCHAR}+${SEGMENTS})${TAIL}`

/** With or without a scheme. */
export const URI_REFERENCE = `(?:${SCHEME}:(?:${ROOTED}|${PCHAR}+${SEGMENTS})?|(?:${ROOTED}|${PCHAR_NO_COLON}+${SEGMENTS})?)${TAIL}`
