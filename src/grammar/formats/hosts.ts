/** Names of hosts, RFC 1123 and IDNA 2008, and the addresses that end in them. */

// Two hyphens at the third place announce punycode, whose validity no automaton can decide.
const LABEL = '(?!..--)[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?'
export const HOSTNAME = `^${LABEL}(?:\\.${LABEL})*$`

/**
 * Letters that IDNA 2008 takes as they are, beside any others: of scripts that are written from left to right, lower
 * case, and composed. What it says of the rest depends on what stands around.
 */
export const IDN_LETTERS =
  '\\u{e0}-\\u{f6}\\u{f8}-\\u{ff}\\u{3ac}-\\u{3c1}\\u{3c3}-\\u{3ce}\\u{430}-\\u{45f}' +
  '\\u{3041}-\\u{3096}\\u{30a1}-\\u{30fa}\\u{4e00}-\\u{9fa5}\\u{ac00}-\\u{d7a3}'
/** So many of them are at most 63 bytes of punycode, whichever they are. */
export const IDN_MOST = 12
const IDN_LABEL = `(?:${LABEL}|(?=[^.@]{1,${IDN_MOST}}(?:\\.|$))(?!..--)[a-z0-9${IDN_LETTERS}](?:[a-z0-9${IDN_LETTERS}-]*[a-z0-9${IDN_LETTERS}])?)`
export const IDN_HOSTNAME = `^${IDN_LABEL}(?:\\.${IDN_LABEL})*$`
/** Labels of `IDN_MOST` letters are at most 63 bytes, so that with their dots 253 bytes hold this many characters. */
export const IDN_HOSTNAME_LENGTH = 3 * (IDN_MOST + 1) + IDN_MOST

const ATEXT = "a-zA-Z0-9!#$%&'*+/=?^_`{|}~\\-"
// All top-level domains are letters, and most libraries ask for them.
export const EMAIL = `^(?=[^@]{1,64}@)[${ATEXT}]+(?:\\.[${ATEXT}]+)*@(?:${LABEL}\\.)+[a-zA-Z]{2,63}$`
/** RFC 6531: letters of any script before the `@`, of which 64 bytes hold this many. */
export const IDN_EMAIL = `^(?=[^@]{1,16}@)[${ATEXT}\\p{L}]+(?:\\.[${ATEXT}\\p{L}]+)*@${IDN_LABEL}(?:\\.${IDN_LABEL})+$`

const WORD = "[\\p{L}\\d][\\p{L}\\d'_\\-]*"
/** An address, or a name before one in angle brackets. */
export const NAME_EMAIL = `^(?:${EMAIL.slice(1, -1)}|${WORD}(?: ${WORD})* <${EMAIL.slice(1, -1)}>)$`
