export type { GrammarSource, QuoteSource, TextPart, TextSource, TokenConstraint } from '../contract/index.js'
export { type CompileOptions, compile, compileInSlices } from './compile.js'
export { type ExampleOptions, example } from './example.js'
export { Fuel } from './fuel.js'
export { Grammar, GrammarCache } from './grammar.js'
export { GrammarError } from './grammar-error.js'
export { type DeepPartial, type PartialOptions, partial } from './partial.js'
export type { Formats } from './schema/context.js'
export { SchemaError, type SchemaPath, schemaErrorMessage } from './schema-error.js'
export {
  choice,
  fromSource,
  fromSourceInSlices,
  type GrammarPart,
  gbnf,
  lark,
  quoted,
  regex,
  repeat,
  type SourceOptions,
  sequence,
  structuralTag,
  upTo,
  without,
} from './texts.js'
export { type ForcedRun, forcedTokens, type TokenSpelling } from './tokens/forced.js'
export { maskLogits } from './tokens/logits.js'
export { Vocabulary, type VocabularyOptions } from './tokens/vocabulary.js'
export type { LayoutOption } from './values/format.js'
