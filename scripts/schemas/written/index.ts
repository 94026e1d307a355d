import { MCP } from './mcp.js'
import { OPENAPI } from './openapi.js'
import { PYDANTIC } from './pydantic.js'
import { TYPEBOX } from './typebox.js'
import { ZOD } from './zod.js'

/** Schemas as libraries write them, by the library and by name. */
export const WRITTEN: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  zod: ZOD,
  Pydantic: PYDANTIC,
  TypeBox: TYPEBOX,
  'MCP tools': MCP,
  OpenAPI: OPENAPI,
}
