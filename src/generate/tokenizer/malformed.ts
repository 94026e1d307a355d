import { V1Error } from '../../contract/index.js'

export function malformed(what: string, cause?: unknown): V1Error {
  return new V1Error(500, `The model's tokenizer cannot be read: ${what}`, { code: 'model_files', cause })
}
