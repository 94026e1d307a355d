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
    const sentence = `Of the ${all.length} models that WebLLM ${version} lists it runs ${run.length} from the same files; not ${reasons.join('; ')} (\`npm run check:webllm-list\`).`
    expect(readFileSync('docs/guides/engines.md', 'utf8')).toContain(sentence)
    // What users were promised.
    expect(run.length).toBeGreaterThanOrEqual(137)
  })
})
