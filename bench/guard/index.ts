/**
 * `npm run bench:guard`: counts what must not change unseen (work of threads, passes, dispatches, bytes, files, chosen
 * kernels) and compares it with expected.json. `-- --write` accepts what is found. `npm test` does the same.
 */
import { writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { ACCEPT, differences } from './compare.js'
import { countAll } from './count.js'
import { EXPECTED, expected } from './expected.js'

const { values } = parseArgs({ options: { write: { type: 'boolean' } } })
const found = await countAll()
const changed = differences(await expected(), found)
for (const line of changed) console.log(line)
if (values.write) {
  await writeFile(EXPECTED, `${JSON.stringify(found, null, 2)}\n`)
  console.log(`${changed.length} accepted.`)
  process.exit()
}
console.log(changed.length > 0 ? ACCEPT : 'All counts are as expected.')
process.exit(changed.length > 0 ? 1 : 0)
