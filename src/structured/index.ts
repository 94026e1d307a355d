export type { GrammarSource, TextPart, TextSource, TokenConstraint } from '../engine.js'
export { type CompileOptions, compile } from './compile.js'
export { type ExampleOptions, example } from './example.js'
export { Fuel } from './fuel.js'
export { Grammar } from './grammar.js'
export { GrammarError } from './grammar-error.js'
export { type DeepPartial, type PartialOptions, partial } from './partial.js'
export type { LayoutOption } from './schema/format.js'
export { SchemaError, type SchemaPath, schemaErrorMessage } from './schema-error.js'
export {
  choice,
  fromSource,
  type GrammarPart,
  gbnf,
  lark,
  regex,
  repeat,
  sequence,
  structuralTag,
  upTo,
  without,
} from './texts.js'
export { type ForcedRun, forcedTokens, type TokenSpelling } from './tokens/forced.js'
export { maskLogits } from './tokens/logits.js'
export { Vocabulary, type VocabularyOptions } from './tokens/vocabulary.js'
