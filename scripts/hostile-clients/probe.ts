/** A caller of its own, in a process of its own: asks for the list of models again and again, and says how long it took. */
import { Agent, request } from 'node:http'

const [origin, key] = process.argv.slice(2) as [string, string]
const PAUSE_MS = 20
const agent = new Agent({ keepAlive: true, maxSockets: 1 })
const headers = { authorization: `Bearer ${key}` }
let times: number[] = []

function ask(): void {
  const began = performance.now()
  const again = () => {
    times.push(performance.now() - began)
    setTimeout(ask, PAUSE_MS)
  }
  request(`${origin}/v1/models`, { agent, headers }, (response) => response.resume().once('close', again))
    .once('error', again)
    .end()
}

process.on('message', () => {
  process.send!(times)
  times = []
})
process.on('disconnect', () => process.exit())
ask()
