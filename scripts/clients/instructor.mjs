import instructor from '@instructor-ai/instructor'
import OpenAI from 'openai'
import { z } from 'zod/v3'
import * as told from './told.mjs'

/** It reads schemas of zod 3 alone. */
const schema = z.object({ product: z.string(), quantity: z.number().int(), urgent: z.boolean() })

export function calls({ nano, key }) {
  const mode = (mode) => async () => {
    const client = (instructor.default ?? instructor)({ client: new OpenAI({ baseURL: nano, apiKey: key }), mode })
    const { _meta, ...order } = await client.chat.completions.create({
      model: told.NANO,
      messages: told.MESSAGES,
      response_model: { schema, name: 'Order' },
    })
    return told.anOrder(order)
  }
  return { TOOLS: mode('TOOLS'), JSON_SCHEMA: mode('JSON_SCHEMA'), JSON: mode('JSON'), MD_JSON: mode('MD_JSON') }
}
