import { tinyRepository } from '../../src/engines/webgpu/tiny-repository.test-helper.js'
import { type Listening, listen } from '../support/serve.js'

export interface SlowHub extends Listening {
  /** Sends the rest of what is held back, and holds back nothing more. */
  release(): void
}

/** A hub whose every model is a tiny decoder with random weights. It sends half of each, slowly, and the rest when told to. */
export async function slowHub(): Promise<SlowHub> {
  // A prompt of some hundred words has a place in it.
  const { files } = tinyRepository(1, 2048)
  const held = new Set<() => void>()
  let open = false
  const server = await listen((request, response) => {
    const name = new URL(request.url!, 'http://hub').pathname.split('/resolve/main/')[1] ?? ''
    const bytes = files.get(name)
    response.setHeader('access-control-allow-origin', '*')
    if (!bytes) return void response.writeHead(404).end()
    response.setHeader('content-length', bytes.length)
    if (open || request.method === 'HEAD' || !name.endsWith('.bin')) return void response.end(bytes)
    let at = 0
    // Slowly, and from the half on so slowly that it never ends: there is always news, however late somebody looks.
    const timer = setInterval(() => {
      const step = at < bytes.length >> 1 ? bytes.length >> 5 : 16
      response.write(bytes.subarray(at, at + step))
      at += step
    }, 50)
    const rest = () => {
      clearInterval(timer)
      response.end(bytes.subarray(at))
    }
    held.add(rest)
    response.on('close', () => {
      clearInterval(timer)
      held.delete(rest)
    })
  })
  return {
    ...server,
    release() {
      open = true
      for (const rest of held) rest()
    },
  }
}
