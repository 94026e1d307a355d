/** A process that keeps usage in a file, for tests: `<file> <most lines>`, then commands on stdin. */
import { createInterface } from 'node:readline'
import { usageEvent } from './event.test-helper.js'
import { fileUsage } from './file.js'

const [path, maxLines] = process.argv.slice(2) as [string, string]
const ledger = fileUsage(path, { maxLines: Number(maxLines) })
const say = (text: string) => process.stdout.write(`${text}\n`)

let recorded = 0

async function record(): Promise<void> {
  await ledger.record(usageEvent({ requestId: `req_${process.pid}_${recorded++}` }))
  say('kept')
}

const commands: Readonly<Record<string, () => Promise<void>>> = {
  record,
  async run() {
    for (;;) {
      await record()
      await new Promise((resolve) => setTimeout(resolve))
    }
  },
  async count() {
    const rows = await ledger.rows(0, Number.POSITIVE_INFINITY)
    say(`counted ${rows.reduce((sum, { requests }) => sum + requests, 0)}`)
  },
  async close() {
    await ledger.close?.()
    say('closed')
  },
}

await ledger.open?.()
say('open')
for await (const line of createInterface({ input: process.stdin })) await commands[line]!()
