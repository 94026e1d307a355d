/**
 * Regular expressions of ECMAScript with the flag `u`, as a regular language: groups no deeper than two, without names
 * and what refers back to them, classes of ASCII.
 */

const DEPTH = 2
const HEX = '[0-9a-fA-F]'
const CODE = `x${HEX}{2}|u${HEX}{4}`
// Without the flag, braces of digits say how many `u`: with nothing behind them that repeats, either reading stands.
const BRACED = `\\\\u\\{0*(?:10${HEX}{4}|${HEX}{1,5})\\}`
const CATEGORY = '[pP]\\{(?:L|Lu|Ll|Lt|Lm|Lo|M|N|Nd|P|S|Z|Zs|C|Cc|Letter|Alphabetic|ASCII|White_Space|Emoji)\\}'
const ESCAPED = `\\\\(?:[dDsSwWtnvfr^$\\\\.*+?()[\\]{}|/]|c[a-zA-Z]|${CODE}|${CATEGORY})`

// A dash between two is a range only where the second is certain to be the greater.
const RANGE = '[0-4]-[5-9]|[a-m]-[n-z]|[A-M]-[N-Z]'
const MEMBER = `${RANGE}|[^\\\\\\]\\-]|${ESCAPED}|${BRACED}|\\\\[-b]`
const CLASS = `\\[\\^?(?:${MEMBER})*\\]`

const SMALL = Array.from({ length: 10 }, (_, n) => `${n},(?:[${n}-9]|[1-9]\\d)`).join('|')
const QUANTIFIER = `(?:[*+?]|\\{(?:0|[1-9]\\d?),?\\}|\\{(?:${SMALL})\\})\\??`

function disjunction(depth: number, around = ''): string {
  const group = depth === 0 ? '' : `|\\((?:\\?:)?${disjunction(depth - 1)}\\)`
  const atom = `(?:[^\\^$\\\\.*+?()[\\]{}|]|\\.|${ESCAPED}|${CLASS}${group})(?:${QUANTIFIER})?`
  return `(?:${atom}|${BRACED}|[\\^$|]|\\\\[bB]${around})*`
}

// What looks ahead or back stands outermost.
export const REGEX = `^${disjunction(DEPTH, `|\\(\\?<?[=!]${disjunction(0)}\\)`)}$`
