/** The small MCP server over standard input and output, as a program: `mcp-server.ts LOG`. Invariant: it serves what `mcp-tools.ts` does. */
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { serveTools } from './mcp-tools';

void serveTools(process.argv[2] ?? '').connect(new StdioServerTransport());
