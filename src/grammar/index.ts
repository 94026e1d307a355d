/** The door of this room. From JSON Schema, grammars and regular expressions to token masks, and the judge of what was written. */
export { Constraints } from './constraints/constraints.js'
export { quoteSource, quotesOf, saysQuote } from './constraints/quoted.js'
export { beginInSlices } from './grammar.js'
export { documentCheck } from './judge.js'
export type { PatternMatch } from './pattern/machine.js'
export { Pattern } from './pattern/pattern.js'
export { isPublished, PUBLISHED } from './pattern/published.js'
export {
  compile,
  example,
  type Formats,
  fromSource,
  fromSourceInSlices,
  Grammar,
  GrammarCache,
  GrammarError,
  type LayoutOption,
  SchemaError,
  type SchemaPath,
  Vocabulary,
} from './structured.js'
export { bytesOf, type ForcedRun, forcedTokens, narrow } from './tokens/forced.js'
export { learnVocabulary } from './tokens/learned.js'
