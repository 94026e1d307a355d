import { install } from 'local-v1/service-worker'
import OpenAI from 'openai'

const form = document.querySelector('form')!
const text = document.querySelector('textarea')!
const status = document.querySelector<HTMLElement>('#status')!
const answer = document.querySelector('output')!

const device = await install({
  script: '/v1.js',
  onProgress: ({ phase, bytesLoaded, bytesTotal }) => {
    const share = bytesTotal > 0 ? ` ${Math.floor((100 * bytesLoaded) / bytesTotal)} %` : ''
    status.textContent = phase === 'ready' ? device.explanation : `The model is being loaded: ${phase}${share}`
  },
}).catch((error: Error) => {
  status.textContent = error.message
  throw error
})
status.textContent = device.explanation

// The official client, unmodified. Nothing leaves the device.
const client = new OpenAI(device.client)

form.addEventListener('submit', async (event) => {
  event.preventDefault()
  answer.value = ''
  try {
    const stream = await client.chat.completions.create({
      model: 'local-v1/nano',
      stream: true,
      messages: [
        { role: 'system', content: 'Extract the order.' },
        { role: 'user', content: text.value },
      ],
      response_format: {
        type: 'json_schema',
        json_schema: {
          name: 'order',
          strict: true,
          schema: {
            type: 'object',
            properties: {
              product: { type: 'string' },
              quantity: { type: 'integer' },
              urgent: { type: 'boolean' },
            },
            required: ['product', 'quantity', 'urgent'],
            additionalProperties: false,
          },
        },
      },
    })
    for await (const chunk of stream) answer.value += chunk.choices[0]?.delta.content ?? ''
  } catch (error) {
    answer.value = error instanceof Error ? error.message : String(error)
  }
})
document.querySelector('button')!.disabled = false
