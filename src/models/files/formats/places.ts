/** Where the tensors of a file lie: each in a place of its own. */
import { damaged } from '../failure.js'

interface Place {
  readonly name: string
  readonly from: number
  readonly to: number
}

/** Throws the name of a tensor that is there twice, or that shares bytes with another. */
export function assertNoOverlap(place: string, file: string, tensors: readonly Place[]): void {
  assertNamedOnce(place, tensors)
  const inOrder = tensors.filter(({ from, to }) => to > from).sort((a, b) => a.from - b.from)
  let [before] = inOrder
  for (const tensor of inOrder.slice(1)) {
    if (tensor.from < before!.to)
      throw damaged(place, `the tensors ${before!.name} and ${tensor.name} share bytes of ${file}.`)
    before = tensor
  }
}

/** Of tensors in several files. */
export function assertNamedOnce(place: string, tensors: readonly { readonly name: string }[]): void {
  const names = new Set<string>()
  for (const { name } of tensors) {
    if (names.has(name)) throw damaged(place, `it has the tensor ${name} twice.`)
    names.add(name)
  }
}
