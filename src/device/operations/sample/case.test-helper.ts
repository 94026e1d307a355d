import { type Case, type Desk, ROWS, SPANS } from '../desk.test-helper.js'
import { sample } from './index.js'

const row = { topP: 0.9, seed: 7, index: 3 }

function begun(desk: Desk) {
  const sampler = desk.device.sampler({ vocabulary: 160, tokens: 150, rows: ROWS, slots: ROWS })
  return { sampler, begin: () => desk.begin({ spans: SPANS, sampler }) }
}

export const sampleCase: Case = {
  async run(desk) {
    const { sampler, begin } = begun(desk)
    const logits = desk.filled(160)
    const rows = [0, 0.5, 1, 2].map((temperature, slot) => ({ ...row, slot, temperature }))
    const pass = begin()
    pass.run(sample, sampler, logits, rows)
    return (await pass.submit()).map(({ token }) => token)
  },
  misfit(desk) {
    const { sampler, begin } = begun(desk)
    begin().run(sample, sampler, desk.empty(80), [{ ...row, slot: 0, temperature: 0 }])
  },
}
