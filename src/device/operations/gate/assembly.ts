import { Gate } from '../../cpu/assembly/abi'
import { gateRow } from '../../cpu/assembly/elementwise'

export function gate(args: usize, from: i32, to: i32, _thread: i32): void {
  for (let row = <usize>from; row < <usize>to; row++) {
    const gates = Gate.gates(args) + row * Gate.gatesStride(args)
    const values = Gate.values(args) + row * Gate.valuesStride(args)
    gateRow(Gate.gate(args), gates, values, Gate.out(args) + row * Gate.outStride(args), Gate.columns(args))
  }
}
