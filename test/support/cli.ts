import { fileURLToPath } from 'node:url'

/** The built command line. */
export const PROGRAM = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))

/** What the command line is asked for where JSON is. */
export const SCHEMA = {
  type: 'object',
  properties: { word: { type: 'string', maxLength: 8 }, kind: { enum: ['a', 'b'] } },
  required: ['word', 'kind'],
  additionalProperties: false,
}
