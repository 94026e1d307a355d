/** Each name of an option of this type; TypeScript asks for all of them. */
export type OptionNames<Options> = Readonly<Record<keyof Options, true>>

/** Refuses an option that there is not, as code without types may name it; `of`: whose options they are. */
export function assertOptions<Options extends object>(of: string, given: Options, names: OptionNames<Options>): void {
  // What is no object of options at all is refused by what it lacks.
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(names, name))
  if (unknown === undefined) return
  throw new TypeError(`${of}: '${unknown}' is not an option; the options are ${Object.keys(names).join(', ')}.`)
}

/** What is offered, by its id: of two with one id, a request could mean only one. `named`: how one is given an id. */
export function byId<Model extends { readonly id: string }>(
  of: string,
  models: readonly Model[],
  named = '{ id, from }',
): Map<string, Model> {
  const found = new Map(models.map((model) => [model.id, model]))
  if (found.size === models.length) return found
  const { id } = models.find((model) => found.get(model.id) !== model)!
  throw new TypeError(`${of}: '${id}' is in 'models' twice: leave one out, or give it another id, ${named}.`)
}
