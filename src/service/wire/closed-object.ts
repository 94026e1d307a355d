import type { JsonObject } from '../../platform/index.js'

/** The schema of an object that has these properties and no others. */
export const closedObject = (properties: JsonObject, required: readonly string[]): JsonObject => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})
