/** Run by Bun: the services behind `Bun.serve`, until it is killed. */
import { outside, services } from './services.js'

declare const Bun: {
  serve(options: {
    hostname: string
    port: number
    fetch(request: Request, server: object): Response | Promise<Response>
  }): { port: number }
}

const here = services()
const { port } = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch: (request, server) => {
    const v1 = here.all.find((each) => each.match(request))
    return v1 ? v1.fetch(request, server) : outside(here, request)
  },
})
console.log(`listening on ${port}`)
