/** What `webgpu({ models: [nano] })` takes: this package's folder is a model repository. */
export const nano = Object.freeze({
  id: 'local-v1/nano',
  // Cloudflare Workers and bundles of CommonJS know no folder. Who only imports it there may use something else.
  get from() {
    if (import.meta.url) return new URL('./', import.meta.url).href
    throw new Error(
      "local-v1-nano does not know where its files are: there is no import.meta.url here. Keep the package out of the bundle ('external'). Edge runtimes, such as Cloudflare Workers, run no models: there use local-v1/upstream.",
    )
  },
})
