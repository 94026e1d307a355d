// Part of building the documentation: the playground beside its pages.
import { fileURLToPath } from 'node:url'
import { buildPlayground } from './build.js'

await buildPlayground({ out: fileURLToPath(new URL('../../../docs/.vitepress/dist/playground', import.meta.url)) })
