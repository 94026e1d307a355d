import { offeredModel } from '../engines/webgpu/location.js'
import type { ModelOptions } from '../engines/webgpu/options.js'
import { openRepository } from '../models/files/open.js'
import type { WeightSource } from '../models/files/source.js'
import { isMadeUp, openMadeUp } from './made-up.js'

/** The weights of a model by the name under which it is measured, for who looks at them without an engine. */
export async function weightsOf(model: string | ModelOptions): Promise<WeightSource> {
  const { id, location } = offeredModel(model)
  if (isMadeUp(id)) return openMadeUp(id).weights
  const options = { report: () => {}, signal: new AbortController().signal }
  return (await openRepository(location, options)).weights
}
