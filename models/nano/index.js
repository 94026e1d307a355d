/** What `webgpu({ models: [nano] })` takes: this package's folder is a model repository. */
export const nano = Object.freeze({ id: 'local-v1/nano', from: new URL('./', import.meta.url).href })
