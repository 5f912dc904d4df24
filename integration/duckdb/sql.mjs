// sql.mjs: reads SQL from standard input, one query after the other with a line "--" between them, and writes the rows of
// each as a line of JSON: {rows} or {error}. Names of files are relative to the working directory.
import { readFileSync } from "node:fs";
import { DuckDBInstance } from "@duckdb/node-api";

const instance = await DuckDBInstance.create(":memory:");
const connection = await instance.connect();
for (const query of readFileSync(0, "utf8").split("\n--\n")) {
  try {
    const read = await connection.runAndReadAll(query);
    console.log(JSON.stringify({ rows: read.getRowsJson() }));
  } catch (e) {
    console.log(JSON.stringify({ error: String(e) }));
  }
}
