import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { judged, prebuiltRecords, reasonsOf } from '../scripts/webllm/records.js'

describe("WebLLM's prebuilt models", () => {
  it('are as many as the guide says, with the reasons that it names', async () => {
    const all = (await prebuiltRecords()).map(judged)
    expect(all.filter(({ architecture, quantisation }) => [architecture, quantisation].includes('unknown'))).toEqual([])
    const run = all.filter(({ lacks }) => lacks === undefined)
    const reasons = reasonsOf(all).map(([reason, count]) => `${count} of ${reason}`)
    const { version } = JSON.parse(readFileSync('node_modules/@mlc-ai/web-llm/package.json', 'utf8')) as {
      version: string
    }
    const guide = readFileSync('docs/guides/engines.md', 'utf8')
    const line = guide.split('\n').find((each) => each.includes('`npm run check:webllm-list`'))
    expect(line).toContain(`WebLLM ${version} lists ${all.length} models.`)
    expect(line).toContain(`runs ${run.length} of them from the same files`)
    for (const reason of reasons) expect(line).toContain(reason)
    // What users were promised.
    expect(run.length).toBeGreaterThanOrEqual(137)
  })
})
