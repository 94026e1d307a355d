/** Words that say nothing of which values are valid, and stand in most schemas. */
export const ANNOTATIONS: ReadonlySet<string> = new Set([
  ...['$schema', '$id', 'id', '$comment', '$defs', 'definitions', '$anchor', '$dynamicAnchor', '$vocabulary'],
  ...['title', 'description', 'default', 'examples', 'example', 'deprecated', 'readOnly', 'writeOnly'],
  ...['contentEncoding', 'contentMediaType', 'contentSchema'],
])
