/** Tools of sessions, as their authors define them. */
export { descriptorHash, inputJsonSchema, type Descriptor } from './descriptor-hash';
export {
  defineTool,
  ToolError,
  ToolOutcomeUnknown,
  type ToolCall,
  type ToolFound,
  type ToolHandler,
} from './tool-handler';
