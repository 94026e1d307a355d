/** Run by Deno: carries out the order in its first argument and prints the report. */
import { type BenchOrder, carryOut } from '../../src/bench/elsewhere.js'

declare const Deno: { readonly args: readonly string[]; exit(code: number): never }

const report = await carryOut(JSON.parse(Deno.args[0]!) as BenchOrder, (message) => console.error(message))
console.log(JSON.stringify(report))
Deno.exit(0)
