import instructor from '@instructor-ai/instructor'
import OpenAI from 'openai'
import * as told from './told.mjs'

export function calls({ nano, key }) {
  const mode = (mode) => async () => {
    const client = (instructor.default ?? instructor)({ client: new OpenAI({ baseURL: nano, apiKey: key }), mode })
    const { _meta, ...order } = await client.chat.completions.create({
      model: told.NANO,
      messages: told.MESSAGES,
      response_model: { schema: told.Order, name: 'Order' },
    })
    return told.anOrder(order)
  }
  return { TOOLS: mode('TOOLS'), JSON_SCHEMA: mode('JSON_SCHEMA'), JSON: mode('JSON'), MD_JSON: mode('MD_JSON') }
}
