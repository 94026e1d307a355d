export { Fuel } from './fuel.js'
export { SchemaError, type SchemaPath, schemaErrorMessage } from './schema-error.js'
