// Part of building the documentation: the playground beside its pages.
import { fileURLToPath } from 'node:url'
import { buildPlayground } from './build.js'

const site = process.env.SITE?.replace(/\/?$/, '/playground/')
await buildPlayground({
  ...(site !== undefined && { site }),
  out: fileURLToPath(new URL('../../../docs/.vitepress/dist/playground', import.meta.url)),
})
