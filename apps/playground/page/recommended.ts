import type { Model } from './api.js'
import { adviceFor, type Machine } from './machine.js'
import { aboutModel, isNano } from './model-names.js'
import type { Models } from './models.js'

/** More than this nobody downloads for a first try. */
const FIRST_TRY = 800_000_000

/** For a conversation: one that is here already, else the largest that runs well, else the smallest that runs at all. */
export function largerModel({ list }: Models, machine: Machine): Model | undefined {
  const converses = ({ id, capabilities }: Model) =>
    !isNano(id) && (aboutModel(id)?.use ?? (capabilities?.chat === false ? '' : 'chat')) === 'chat'
  const kindOf = (model: Model) => adviceFor(model, machine).kind
  const possible = list.filter((model) => converses(model) && kindOf(model) !== 'bad')
  const here = possible.find(
    ({ metadata, offered }) => metadata?.loaded || metadata?.kept || (machine.elsewhere && !offered),
  )
  const size = ({ metadata }: Model) => metadata?.download_bytes ?? Number.POSITIVE_INFINITY
  const bySize = possible.toSorted((a, b) => size(a) - size(b))
  const well = bySize.filter((model) => kindOf(model) === 'good' && size(model) <= FIRST_TRY)
  return here ?? well.at(-1) ?? bySize[0]
}
