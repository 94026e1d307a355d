/** The requests that hosts of extractions print in their documentation, without what they foretell; no client has them yet. */
import * as told from './told.mjs'
import { extracted, FIELDS, INVOICE } from './typed.mjs'

const STATE =
  'Invoice INV-2291 from Northwind Supply, issued 2026-09-02, net 30. 4 pallets at $250.00 each, shipping $80.00. Contact: Dana Ruiz, Priya Shah.'
const PRINTED = {
  invoice_number: { type: 'text' },
  due_date: { type: 'date', instructions: 'Issue date plus the net payment days' },
  total: { type: 'number', decimals: 2, unit: 'USD', instructions: 'Pallets plus shipping' },
  contacts: { type: 'list', items: 'text' },
}
const FORETOLD = { type: 'estimate', min: 0, max: 120, step: 1 }

export function calls({ nano, key }) {
  const posted = async (path, body) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const response = await fetch(`${nano}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    const json = await response.json()
    if (!response.ok) throw new Error(json.error.message)
    return json
  }
  const asked = { model: told.NANO, state: STATE, fields: PRINTED }
  const answered = async (path, body) => {
    const { object, model, truncated, usage, answers } = await posted(path, body)
    told.same([object, model, truncated, usage.input_tokens > 0], ['extraction', told.NANO, false, true])
    return extracted(answers, body.fields, body.state)
  }
  return {
    'OpenRouter, POST /api/alpha/extractions': () =>
      answered('/api/alpha/extractions', { ...asked, provider: { allow_fallbacks: true }, session_id: 'session-1234' }),
    'Merge, POST /v1/extractions': () =>
      answered('/extractions', { ...asked, images: null, reference_date: '2026-11-26' }),
    'LiteLLM, POST /v1/extraction': () => answered('/extraction', { ...asked, images: [], stream: false }),
    'all types of fields': () =>
      answered('/extractions', { model: told.NANO, state: INVOICE, fields: FIELDS, reference_date: '2026-11-26' }),
    'again, and several at once': () =>
      told.sameAgain(async () => {
        const body = { model: told.NANO, state: INVOICE, fields: FIELDS, reference_date: '2026-11-26' }
        return (await posted('/extractions', body)).answers
      }),
    'an estimate is refused, and the error names it': async () => {
      const error = await posted('/extractions', { ...asked, fields: { days_to_pay: FORETOLD } }).catch(
        (thrown) => thrown,
      )
      told.same(/fields\.days_to_pay\.type/.test(error.message), true)
      return error.message
    },
  }
}
