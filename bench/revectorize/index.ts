/**
 * What the CPU device's option `revectorize` makes of products: the same passes in a process without it and in one with it,
 * in turns. Node 24 on x64. `--between A --between B` compares other builds: `usual`, `revectorize`, or a way to multiply bytes
 * (`bytes`, `pairs`, `wide`, `whole`).
 *
 *     npm run bench:revectorize -- [--rows N] [--rounds N] [--type Q4_0 Q4_K Q8_0 F16] [--between bytes --between pairs]
 *
 * Prints, for each type, the best of the rounds in billions of multiplications a second of processor time, and fails where
 * an answer differs by a bit.
 */
import { execFileSync } from 'node:child_process'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Found } from './child.js'

const { values, positionals } = parseArgs({
  options: {
    rows: { type: 'string', default: '64' },
    rounds: { type: 'string', default: '5' },
    type: { type: 'string', multiple: true, default: [] },
    between: { type: 'string', multiple: true, default: ['usual', 'revectorize'] },
  },
  allowPositionals: true,
})
const chosen = [...values.type, ...positionals]
const types = chosen.length > 0 ? chosen : ['Q4_0', 'Q4_K', 'Q6_K', 'Q8_0', 'F16']
const child = fileURLToPath(new URL('child.ts', import.meta.url))

const rounds = Array.from({ length: Number(values.rounds) }, () =>
  values.between.slice(0, 2).map((build): Found => {
    const args = ['--import', 'tsx', child, build, values.rows, ...types]
    return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }))
  }),
)

let differs = false
console.log(
  `Node ${process.versions.node}, ${values.rows} rows: GMul/s ${values.between[0]}, ${values.between[1]}, ratio of the best, ratios of the rounds`,
)
for (const type of types) {
  const of = (which: number) => rounds.map((round) => round[which]![type]!)
  const [without, by] = [of(0), of(1)]
  const best = (found: typeof by) => Math.max(...found.map(({ speed }) => speed))
  const same = new Set([...without, ...by].map(({ result }) => result)).size === 1
  differs ||= !same
  const each = by.map(({ speed }, i) => (speed / without[i]!.speed).toFixed(2)).join(' ')
  const figures = [best(without).toFixed(1), best(by).toFixed(1), (best(by) / best(without)).toFixed(2), each]
  console.log([type, ...figures, same ? 'the same bits' : 'OTHER BITS'].join('\t'))
}
process.exit(differs ? 1 : 0)
