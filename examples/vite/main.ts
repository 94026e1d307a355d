import { install } from 'local-v1/service-worker'
import OpenAI from 'openai'
import { zodResponseFormat } from 'openai/helpers/zod'
import { z } from 'zod'

const status = document.querySelector('#status')!
const button = document.querySelector('button')!
const answer = document.querySelector('output')!

const device = await install({ script: '/v1.js' }).catch((error: Error) => {
  status.textContent = error.message
  throw error
})
status.textContent = device.explanation

const client = new OpenAI(device.client)
const Order = z.object({ product: z.string(), quantity: z.int(), urgent: z.boolean() })

button.addEventListener('click', async () => {
  const completion = await client.chat.completions.parse({
    model: 'local-v1/nano',
    messages: [
      { role: 'system', content: 'Extract the order.' },
      { role: 'user', content: 'Please send 12 desk lamps, it is urgent.' },
    ],
    response_format: zodResponseFormat(Order, 'order'),
  })
  answer.value = JSON.stringify(completion.choices[0]?.message.parsed)
})
button.disabled = false
