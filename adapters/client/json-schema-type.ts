/** The type of the documents that a JSON Schema written as a literal describes; `unknown` for parts that it cannot express. */
export type FromSchema<S> = S extends true
  ? unknown
  : S extends { readonly const: infer V }
    ? V
    : S extends { readonly enum: readonly (infer V)[] }
      ? V
      : S extends { readonly anyOf: readonly (infer Each)[] }
        ? FromSchema<Each>
        : S extends { readonly type: infer T }
          ? FromType<T, S>
          : unknown

type FromType<T, S> = T extends readonly (infer Each)[]
  ? FromType<Each, S>
  : T extends 'string'
    ? string
    : T extends 'number' | 'integer'
      ? number
      : T extends 'boolean'
        ? boolean
        : T extends 'null'
          ? null
          : T extends 'array'
            ? FromItems<S>[]
            : T extends 'object'
              ? FromProperties<S>
              : unknown

type FromItems<S> = S extends { readonly items: infer Items } ? FromSchema<Items> : unknown

type FromProperties<S> = S extends { readonly properties: infer Properties }
  ? Flat<
      { [K in keyof Properties & RequiredOf<S>]: FromSchema<Properties[K]> } & {
        [K in Exclude<keyof Properties, RequiredOf<S>>]?: FromSchema<Properties[K]>
      }
    >
  : Record<string, unknown>

type RequiredOf<S> = S extends { readonly required: readonly (infer Names)[] } ? Names : never
type Flat<T> = { [K in keyof T]: T[K] }
