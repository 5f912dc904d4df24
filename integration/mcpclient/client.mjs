// client.mjs: calls tools of a server of the Model Context Protocol, with the client of npm's
// @modelcontextprotocol/sdk, which checks answers by the schemas that the server gives.
//
// stdin   {command, args, calls: [{name, arguments}]}
// stdout  {server, tools: [name], results: [an answer, or {error: code}]}
import { readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const given = JSON.parse(readFileSync(0, "utf8"));
const client = new Client({ name: "npm", version: "1" });
const transport = new StdioClientTransport({
  command: given.command,
  args: given.args,
  stderr: "ignore",
});
await client.connect(transport);
const { tools } = await client.listTools();
const results = [];
for (const call of given.calls) {
  try {
    results.push(await client.callTool(call));
  } catch (error) {
    results.push({ error: error.code ?? String(error) });
  }
}
const server = client.getServerVersion();
await client.close();
console.log(JSON.stringify({ server, tools: tools.map((t) => t.name), results }));
