/**
 * The functions of a program. Each takes a pointer to its arguments, which `abi.ts` or its operation names and explains,
 * and a range of its items; items are independent of one another. Strides are bytes.
 */
import { NORM, Norm, PACK, PREPARE, Prepare } from './abi'
import { runDefined } from './defined'
import { rmsnorm } from './elementwise'
import { pack } from './pack'
import { prepare } from './prepare'

export function runOperation(code: i32, args: usize, from: i32, to: i32, thread: i32): void {
  if (code === NORM) norm(args, from, to, thread)
  else if (code === PREPARE) prepareRows(args, from, to, thread)
  else if (code === PACK) pack(args, from, to)
  else runDefined(code, args, from, to, thread)
}

function prepareRows(args: usize, from: i32, to: i32, thread: i32): void {
  const out = Prepare.out(args) + <usize>thread * Prepare.gap(args)
  prepare(Prepare.kind(args), Prepare.x(args), Prepare.xStride(args), out, from, to, Prepare.columns(args))
}

function norm(args: usize, from: i32, to: i32, thread: i32): void {
  const k = Norm.columns(args)
  const own = <usize>thread * Norm.gap(args)
  const out = Norm.out(args) + own
  const stride = (<usize>k) << 2
  rmsnorm(Norm.x(args), Norm.xStride(args), Norm.weight(args), out, stride, from, to, k, Norm.epsilon(args))
  prepare(Norm.kind(args), out, stride, Norm.prepared(args) + own, from, to, k)
}
