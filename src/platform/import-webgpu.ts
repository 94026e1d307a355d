/** WebGPU in Node, which is not a part of it: an optional package, looked for when it is asked for. */
export const importWebgpu = (): Promise<typeof import('webgpu')> => importNamed('webgpu')

/** Bundlers would refuse to build where a literal name is not installed; these marks are for those that look further. */
function importNamed(name: string): Promise<typeof import('webgpu')> {
  return import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ name)
}
