import { type ModelOptions, offeredModel } from '../engines/index.js'
import { openRepository, type WeightSource } from '../models/index.js'
import { isMadeUp, openMadeUp } from './made-up.js'

/** The weights of a model by the name under which it is measured, for who looks at them without an engine. */
export async function weightsOf(model: string | ModelOptions): Promise<WeightSource> {
  const { id, location } = offeredModel(model)
  if (isMadeUp(id)) return openMadeUp(id).weights
  const options = { report: () => {}, signal: new AbortController().signal }
  return (await openRepository(location, options)).weights
}
