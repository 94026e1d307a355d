import { expect, it } from 'vitest'
import { serviceWorker } from '../../adapters/service-worker/service-worker.js'
import { localV1 } from '../../adapters/vite/index.js'
import { llamaCpp } from '../engines/llama-cpp/index.js'
import { promptApi } from '../engines/prompt-api/index.js'
import { scripted } from '../engines/scripted.js'
import { fallback } from '../engines/upstream/fallback.js'
import { upstream } from '../engines/upstream.js'
import { webgpu } from '../engines/webgpu/index.js'
import { webllm } from '../engines/webllm/index.js'
import { serve, webllm as webllmInWorker } from '../engines/webllm/worker/index.js'
import { createV1 } from '../service/v1.js'
import { fileUsage } from '../usage/file.js'

const engine = scripted({ models: { 'a/b': 'Hi' } })
const baseURL = 'http://there.test/v1'
const wrong = (options: object) => options as never

it.each([
  ['createV1', () => createV1(wrong({ engine, keys: 'none', timeout: 5 })), "'timeout'", 'timeoutMs'],
  ['webgpu', () => webgpu(wrong({ model: 'a/b' })), "'model'", 'models'],
  ['webgpu', () => webgpu({ models: [wrong({ id: 'a/b', contextLenght: 5 })] }), "'contextLenght'", 'contextLength'],
  ['llamaCpp', () => llamaCpp(wrong({ model: 'a/b' })), "'model'", 'models'],
  ['llamaCpp', () => llamaCpp({ models: [wrong({ id: 'a/b', from: './b.gguf', file: '' })] }), "'file'", 'from'],
  ['upstream', () => upstream(wrong({ baseUrl: baseURL, models: [] })), "'baseUrl'", 'baseURL'],
  ['webllm', () => webllm(wrong({ model: 'a/b' })), "'model'", 'models'],
  ['webllm', () => webllmInWorker(wrong({ model: 'a/b' })), "'model'", 'worker'],
  ['webllm', () => webllmInWorker(wrong({ loader: () => {} })), "'loader'", 'library'],
  ['serve', () => serve(wrong({ library: 'a' })), "'library'", 'loader'],
  ['scripted', () => scripted(wrong({ models: {}, delay: 5 })), "'delay'", 'delayMs'],
  ['promptApi', () => promptApi(wrong({ language: 'en' })), "'language'", 'languages'],
  ['fallback', () => fallback(engine, engine, wrong({ inFlight: 5 })), "'inFlight'", 'maxInFlight'],
  ['fileUsage', () => fileUsage('./usage', wrong({ lines: 5 })), "'lines'", 'maxLines'],
  ['serviceWorker', () => serviceWorker({ basePath: '/v1' }, wrong({ model: 'a/b' })), "'model'", 'preload'],
  ['local-v1/vite', () => localV1(wrong({ model: 'a/b' })), "'model'", 'models'],
])('%s names an option that there is not, and those that there are', (of, make, name, meant) => {
  expect(make).toThrow(new RegExp(`^${of}: ${name} is not an option; the options are .*\\b${meant}\\b`))
})

it('says what is missing where there are no options', () => {
  for (const none of [undefined, null]) expect(() => webgpu(none as never)).toThrow("webgpu: 'models' must be a list")
})

it.each([
  ['webgpu', () => webgpu({ models: ['a/b', { id: 'a/b', from: 'c/d' }] })],
  ['llamaCpp', () => llamaCpp({ models: ['./b.gguf', './b.gguf'] })],
  ['webllm', () => webllm({ models: ['a/b', 'a/b'] })],
])('%s names a model that is there twice', (of, make) => {
  expect(make).toThrow(new RegExp(`^${of}: '[^']+/b[^']*' is in 'models' twice: `))
})
