/** A schema of objects with these properties and no others; all of them are required, where nothing else is said. */
export const closed = <P extends object>(properties: P, required: readonly string[] = Object.keys(properties)) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})
