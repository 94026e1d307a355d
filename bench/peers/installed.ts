import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'

/** Where a package lies in the `node_modules` of a folder that the user names; peers are no dependencies of ours. */
export function installed(folder: string, name: string, file = name): string {
  try {
    return createRequire(join(resolve(folder), 'here.js')).resolve(file)
  } catch (cause) {
    throw new TypeError(`${name} is not installed in ${folder}: npm install ${name} there.`, { cause })
  }
}
