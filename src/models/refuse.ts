import { V1Error } from '../contract/index.js'

/** The error of a model that cannot be run, whatever the request. */
export function refuse(model: string, feature: string, more = ''): V1Error {
  return new V1Error(500, `${model} cannot be run: ${feature} is not supported. ${more || 'Choose another model.'}`, {
    code: 'model_not_supported',
    // Asking again changes nothing.
    headers: { 'x-should-retry': 'false' },
  })
}

/** The error of weights that are not what was planned. */
export function malformedWeights(message: string): V1Error {
  return new V1Error(500, message, { code: 'malformed_weights', headers: { 'x-should-retry': 'false' } })
}

/** Refuses tensors that nothing has asked for. */
export function assertNoneLeft(left: readonly string[]): void {
  if (left.length === 0) return
  const more = left.length > 1 ? ` and ${left.length - 1} more` : ''
  throw new V1Error(500, `The tensor ${left[0]}${more} would not be used: this model is not what it says it is.`, {
    code: 'model_not_supported',
    headers: { 'x-should-retry': 'false' },
  })
}
