/** Asks the application's own route again and again, from a process of its own, and tells how long each took. */
import { Agent, request } from 'node:http'
import { type Time, Watch } from '../../scripts/hostile-clients/ready.js'

const [origin, pid] = process.argv.slice(2) as [string, string]
const PAUSE_MS = 10
const agent = new Agent({ keepAlive: true, maxSockets: 1 })
let times: Time[] = []

function ask(): void {
  const watch = new Watch(Number(pid), { computed: false }).start()
  request(`${origin}/own`, { agent }, (response) =>
    response.resume().once('end', () => {
      times.push(watch.ms)
      setTimeout(ask, PAUSE_MS)
    }),
  )
    .once('error', () => process.exit(1))
    .end()
}

process.on('message', () => {
  process.send!(times)
  times = []
})
process.on('disconnect', () => process.exit())
ask()
