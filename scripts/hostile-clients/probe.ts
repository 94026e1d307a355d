/**
 * Callers that mean well, in a process of their own: one asks for the list of models again and again; the others, each
 * with a key that was never seen before, ask for a person. Tells how long each took.
 */
import { Agent, request } from 'node:http'
import { isPerson, PERSON, strict } from './bodies.js'
import { type Time, Watch } from './ready.js'

const [origin, pid] = process.argv.slice(2) as [string, string]
const PAUSE_MS = 20
const BETWEEN_MS = 50
const kept = new Agent({ keepAlive: true, maxSockets: 1 })
let next = 0
const newKey = () => `sk-new-${next++}`
const lister = newKey()

export interface Guest {
  readonly time: Time
  readonly status: number
  readonly good: boolean
}

export interface Told {
  readonly listed: readonly Time[]
  readonly guests: readonly Guest[]
}

let listed: Time[] = []
let guests: Guest[] = []

function list(): void {
  const watch = new Watch(Number(pid), { computed: false }).start()
  const again = () => {
    listed.push(watch.ms)
    setTimeout(list, PAUSE_MS)
  }
  request(`${origin}/v1/models`, { agent: kept, headers: { authorization: `Bearer ${lister}` } }, (response) =>
    response.resume().once('close', again),
  )
    .once('error', again)
    .end()
}

function guest(): void {
  const body = JSON.stringify(strict(PERSON))
  const headers = { authorization: `Bearer ${newKey()}`, 'content-type': 'application/json' }
  const watch = new Watch(Number(pid)).start()
  const settle = (status: number, text = '') => {
    const good = status === 200 && isPerson(text)
    guests.push({ time: watch.ms, status, good })
    setTimeout(guest, BETWEEN_MS)
  }
  request(`${origin}/v1/chat/completions`, { method: 'POST', headers }, (response) => {
    let text = ''
    response.setEncoding('utf8').on('data', (piece) => {
      text += piece
    })
    response.once('end', () => settle(response.statusCode!, text))
  })
    .once('error', () => settle(0))
    .end(body)
}

process.on('message', () => {
  process.send!({ listed, guests } satisfies Told)
  listed = []
  guests = []
})
process.on('disconnect', () => process.exit())
list()
guest()
