import { readFileSync, rmSync } from 'node:fs'
import { defineConfig } from 'tsup'
import { declarations } from './scripts/declarations.js'
import { throughDoors } from './scripts/through-doors.js'

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }

/** One flat folder: a chunk that says `new URL('./worker.js', import.meta.url)` finds its worker beside itself. */
const library = {
  index: 'src/index.ts',
  structured: 'src/grammar/structured.ts',
  messages: 'src/service/endpoints/messages/index.ts',
  ollama: 'src/service/endpoints/ollama/index.ts',
  testing: 'src/engines/scripted.ts',
  upstream: 'src/engines/upstream.ts',
  webgpu: 'src/engines/webgpu/index.ts',
  webllm: 'src/engines/webllm/index.ts',
  'llama-cpp': 'src/engines/llama-cpp/index.ts',
  'webllm-in-worker': 'src/engines/webllm/worker/index.ts',
  hono: 'adapters/hono.ts',
  express: 'adapters/express.ts',
  fastify: 'adapters/fastify.ts',
  deno: 'adapters/deno.ts',
  extract: 'adapters/extract.ts',
  'ai-sdk': 'adapters/ai-sdk.ts',
  react: 'adapters/react/index.ts',
  'prompt-api': 'src/engines/prompt-api/index.ts',
  next: 'adapters/next.ts',
  vite: 'adapters/vite/index.ts',
  'service-worker': 'adapters/service-worker/index.ts',
}

const common = {
  format: 'esm',
  target: 'es2022',
  define: { __VERSION__: JSON.stringify(version) },
  esbuildOptions(options: { minifySyntax?: boolean }) {
    // Objects that are spread where they are written become fields, which takes a tenth of a small model's step.
    options.minifySyntax = true
  },
} as const
const esbuildPlugins = [throughDoors()]

// Here, since of several builds none may do it beside the others.
rmSync('dist', { recursive: true, force: true })

const modules = defineConfig({
  ...common,
  esbuildPlugins,
  entry: {
    ...library,
    // Files of their own, so that who takes one name of the index does not get the validator with it.
    service: 'src/service/v1.ts',
    usage: 'src/usage/table.ts',
    partial: 'src/grammar/partial.ts',
    cli: 'src/cli/main.ts',
    'cpu-worker': 'src/device/cpu/cpu-worker.ts',
    'webgpu-worker': 'src/engines/webgpu/worker/webgpu-worker.ts',
    'webllm-worker': 'src/engines/webllm/worker/webllm-worker.ts',
  },
  platform: 'neutral',
  splitting: true,
  dts: { entry: declarations({ ...library, browser: 'adapters/browser.ts' }) },
  external: [
    /^node:/,
    'webgpu',
    '@mlc-ai/web-llm',
    'node-llama-cpp',
    'local-v1-nano',
    'vite',
    'react',
    '@ai-sdk/openai-compatible',
  ],
})

/** For pages without a bundler: with all that it needs. */
const browser = defineConfig({
  ...common,
  esbuildPlugins,
  entry: { browser: 'adapters/browser.ts' },
  platform: 'browser',
  splitting: false,
  minify: true,
  noExternal: [/^(?!node:)/],
  external: [/^node:/],
})

export default [modules, browser]
