/** Tools of sessions, as their authors define them. */
export { descriptorHash, inputJsonSchema, type Descriptor } from './descriptor-hash';
export { mcpTools, type McpToolOptions, type McpToolsOptions } from './mcp-tools';
export {
  defineTool,
  ToolError,
  ToolOutcomeUnknown,
  type ToolCall,
  type ToolFound,
  type ToolHandler,
} from './tool-handler';
