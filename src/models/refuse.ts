import { V1Error } from '../contract/index.js'

/** The error of a model that cannot be run, whatever the request. */
export function refuse(model: string, feature: string, more = ''): V1Error {
  return new V1Error(500, `${model} cannot be run: ${feature} is not supported. ${more || 'Choose another model.'}`, {
    code: 'model_not_supported',
    // Asking again changes nothing.
    headers: { 'x-should-retry': 'false' },
  })
}
