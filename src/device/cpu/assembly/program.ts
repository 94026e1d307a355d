/** Operations of a program: four words, then the arguments that `abi.ts` names. */
import { BLOCK, GATED, GROUP, HEADER_BYTES, MATMUL, OPERATION_BYTES, PRIVATE, Product } from './abi'
import { groupBytes } from './matmul'
import { runOperation } from './operations'

/** What slices of its items are multiples of. */
export function unitOf(operation: usize): i32 {
  return load<i32>(operation, 4)
}

/** Items that are taken at a time. */
export function chunkOf(operation: usize): i32 {
  return load<i32>(operation, 8)
}

export function itemsOf(operation: usize): i32 {
  return load<i32>(operation, 12)
}

export function isPrivate(operation: usize): bool {
  return unitOf(operation) === PRIVATE
}

export function isShared(operation: usize): bool {
  return unitOf(operation) > 0 && itemsOf(operation) > 0
}

export function runItems(operation: usize, from: i32, to: i32, thread: i32): void {
  runOperation(load<i32>(operation), operation + HEADER_BYTES, from, to, thread)
}

export function runWhole(operation: usize, thread: i32): void {
  runItems(operation, 0, itemsOf(operation), thread)
}

/** What thread `thread` does for itself before `operation`, not going back beyond the program's begin. */
export function runPrivate(begin: usize, operation: usize, thread: i32): void {
  let first = operation
  while (first > begin && isPrivate(first - OPERATION_BYTES)) first -= OPERATION_BYTES
  for (; first < operation; first += OPERATION_BYTES) runWhole(first, thread)
}

/** Bytes of weights that an item of a product reads. */
export function weightsOfItem(operation: usize): usize {
  const args = operation + HEADER_BYTES
  const code = load<i32>(operation)
  if (code !== MATMUL && code !== GATED) return 0
  return <usize>groupBytes(Product.kind(args), Product.columns(args)) * (code === GATED ? BLOCK / GROUP : 1)
}

/** Where they begin: of a gated product, those of the gates. */
export function weightsOf(operation: usize): usize {
  return Product.matrix(operation + HEADER_BYTES)
}
