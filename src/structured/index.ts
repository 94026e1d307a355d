export { type CompileOptions, compile } from './compile.js'
export { Fuel } from './fuel.js'
export { Grammar } from './grammar.js'
export { SchemaError, type SchemaPath, schemaErrorMessage } from './schema-error.js'
