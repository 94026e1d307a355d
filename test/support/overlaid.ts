/** The same object but for these; its methods are still its own, as native code wants them. */
export function overlaid<T extends object>(of: T, own: Partial<T>): T {
  return new Proxy(of, {
    get(target, name) {
      const value: unknown = name in own ? Reflect.get(own, name) : Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
