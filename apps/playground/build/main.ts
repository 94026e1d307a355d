// npm run playground: builds the page, serves it on this machine, says where.
import { buildPlayground } from './build.js'
import { servePlayground } from './serve.js'

const port = Number(process.env.PORT ?? 8090)
const hub = process.env.HUB
const folder = await buildPlayground({ hub, site: process.env.SITE })
const { url } = await servePlayground(folder, { port, hub }).catch((error: NodeJS.ErrnoException) => {
  if (error.code !== 'EADDRINUSE') throw error
  console.error(`Port ${port} is taken: PORT=0 npm run playground takes a free one.`)
  process.exit(1)
})
console.log(`local-v1 playground  ${url}`)
