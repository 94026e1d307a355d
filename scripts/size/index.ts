/**
 * `npm run sz`: lines and files of each room beside its ceiling, and through how many files and functions of `src` a
 * strict and a plain chat go. `-- --write` sets all ceilings just above what is there:
 * a commit of its own, which says why. A change that needs more raises by hand what it exceeds.
 */
import { writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { above, CEILINGS, ceilingOf, ceilings, longer, mostWays, sizes, WAYS, wayCeiling, ways } from './rooms.js'

const { values } = parseArgs({ options: { write: { type: 'boolean' } } })
const found = await sizes()
const gone = await ways()
if (values.write) {
  const next = Object.fromEntries([...found].map(([room, size]) => [room, ceilingOf(size)]))
  await writeFile(CEILINGS, `${JSON.stringify(next, null, 2)}\n`)
  const longest = Object.fromEntries(Object.entries(gone).map(([request, way]) => [request, wayCeiling(way)]))
  await writeFile(WAYS, `${JSON.stringify(longest, null, 2)}\n`)
}
const most = await ceilings()
console.log(
  `${'room'.padEnd(18)}${'lines'.padStart(8)}${'at most'.padStart(9)}${'files'.padStart(8)}${'at most'.padStart(9)}`,
)
for (const [room, { lines, files }] of found) {
  const ceiling = most.get(room)
  const cells = [lines, ceiling?.lines ?? '-'].map((cell, i) => `${cell}`.padStart(8 + i))
  const others = [files, ceiling?.files ?? '-'].map((cell, i) => `${cell}`.padStart(8 + i))
  console.log([room.padEnd(18), ...cells, ...others].join(''))
}
const mostGone = await mostWays()
for (const [request, { files, functions }] of Object.entries(gone)) {
  const { files: mostFiles, functions: mostFunctions } = mostGone[request] ?? { files: '-', functions: '-' }
  console.log(
    `A ${request} chat: ${files} files (at most ${mostFiles}), ${functions} functions (at most ${mostFunctions})`,
  )
}
const grown = [...above(found, most), ...longer(gone, mostGone)]
for (const line of grown) console.log(line)
if (grown.length > 0)
  console.log('Make it smaller, or raise its number in scripts/size/*.json, and say why in the commit.')
process.exit(grown.length > 0 ? 1 : 0)
