/** The `inputSchema` of tools as servers of the Model Context Protocol write them: by hand, in their style. */

const SEVEN = { $schema: 'http://json-schema.org/draft-07/schema#' }
const closed = (properties: object, required: readonly string[] = []) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
  ...SEVEN,
})
const plain = (properties: object, required?: readonly string[]) => ({
  type: 'object',
  properties,
  ...(required && { required }),
})
const path = { type: 'string', description: 'An absolute path' }

export const MCP: Readonly<Record<string, unknown>> = {
  read_file: closed({ path, head: { type: 'number' }, tail: { type: 'number' } }, ['path']),
  edit_file: closed(
    {
      path,
      edits: {
        type: 'array',
        items: {
          type: 'object',
          properties: { oldText: { type: 'string' }, newText: { type: 'string' } },
          required: ['oldText', 'newText'],
          additionalProperties: false,
        },
      },
      dryRun: { type: 'boolean', default: false },
    },
    ['path', 'edits'],
  ),
  search_files: closed(
    { path, pattern: { type: 'string' }, excludePatterns: { type: 'array', items: { type: 'string' }, default: [] } },
    ['path', 'pattern'],
  ),
  list_allowed_directories: plain({}, []),
  fetch: {
    description: 'Parameters for fetching a URL.',
    properties: {
      url: { description: 'URL to fetch', format: 'uri', minLength: 1, title: 'Url', type: 'string' },
      max_length: {
        default: 5000,
        exclusiveMaximum: 1000000,
        exclusiveMinimum: 0,
        title: 'Max Length',
        type: 'integer',
      },
      start_index: { default: 0, minimum: 0, title: 'Start Index', type: 'integer' },
      raw: { default: false, title: 'Raw', type: 'boolean' },
    },
    required: ['url'],
    title: 'Fetch',
    type: 'object',
  },
  create_entities: plain(
    {
      entities: {
        type: 'array',
        items: plain(
          {
            name: { type: 'string' },
            entityType: { type: 'string' },
            observations: { type: 'array', items: { type: 'string' } },
          },
          ['name', 'entityType', 'observations'],
        ),
      },
    },
    ['entities'],
  ),
  create_issue: closed(
    {
      owner: { type: 'string' },
      repo: { type: 'string' },
      title: { type: 'string' },
      body: { type: 'string' },
      assignees: { type: 'array', items: { type: 'string' } },
      milestone: { type: 'number' },
      labels: { type: 'array', items: { type: 'string' } },
    },
    ['owner', 'repo', 'title'],
  ),
  list_issues: closed(
    {
      owner: { type: 'string' },
      repo: { type: 'string' },
      direction: { type: 'string', enum: ['asc', 'desc'] },
      sort: { type: 'string', enum: ['created', 'updated', 'comments'] },
      since: { type: 'string', format: 'date-time' },
      page: { type: 'number', minimum: 1 },
      perPage: { type: 'number', minimum: 1, maximum: 100 },
    },
    ['owner', 'repo'],
  ),
  sequentialthinking: plain(
    {
      thought: { type: 'string' },
      nextThoughtNeeded: { type: 'boolean' },
      thoughtNumber: { type: 'integer', minimum: 1 },
      totalThoughts: { type: 'integer', minimum: 1 },
      isRevision: { type: 'boolean' },
      branchId: { type: 'string' },
    },
    ['thought', 'nextThoughtNeeded', 'thoughtNumber', 'totalThoughts'],
  ),
  convert_time: plain(
    {
      source_timezone: { type: 'string' },
      time: { type: 'string', pattern: '^([01]\\d|2[0-3]):[0-5]\\d$' },
      target_timezone: { type: 'string' },
    },
    ['source_timezone', 'time', 'target_timezone'],
  ),
  git_log: {
    properties: {
      repo_path: { title: 'Repo Path', type: 'string' },
      max_count: { default: 10, title: 'Max Count', type: 'integer' },
      start: { anyOf: [{ type: 'string' }, { type: 'null' }], default: null, title: 'Start' },
    },
    required: ['repo_path'],
    title: 'GitLog',
    type: 'object',
  },
  slack_post_message: plain(
    {
      channel_id: { type: 'string' },
      text: { type: 'string' },
      thread_ts: { type: 'string', pattern: '^\\d{10}\\.\\d{6}$' },
    },
    ['channel_id', 'text'],
  ),
  screenshot: plain(
    {
      name: { type: 'string' },
      selector: { type: 'string' },
      width: { type: 'number' },
      height: { type: 'number' },
      encoded: { type: 'boolean' },
    },
    ['name'],
  ),
  query: plain(
    {
      sql: { type: 'string' },
      params: {
        type: 'array',
        items: { anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }, { type: 'null' }] },
      },
    },
    ['sql'],
  ),
  browser_click: closed(
    {
      ref: { type: 'string' },
      button: { type: 'string', enum: ['left', 'right', 'middle'] },
      modifiers: { type: 'array', items: { type: 'string', enum: ['Alt', 'Control', 'Meta', 'Shift'] } },
    },
    ['ref'],
  ),
}
