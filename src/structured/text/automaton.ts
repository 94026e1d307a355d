/** Languages of strings: regular expressions, formats, lengths, finite sets, and set operations on them. */

export { formatAutomaton } from './formats.js'
export { lengthBetween, withLength } from './lengths.js'
export { literalSet } from './literals.js'
export { compileRegex } from './regex.js'
export { ANY_TEXT, complement, concat, difference, disjoint, intersect, isSubset, NO_TEXT, union } from './sets.js'
export { DEAD, type TextAutomaton, TextError } from './types.js'
export { acceptsText, shortestText } from './words.js'
