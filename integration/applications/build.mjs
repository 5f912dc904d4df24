// build.mjs FOLDER: compiles the applications, each into a folder of its name.
import { cp, mkdir } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const here = dirname(fileURLToPath(import.meta.url)), out = resolve(process.argv[2]);
for (const name of ["react", "vue", "hash", "lazy"]) {
  await build({ root: join(here, name), configFile: false, logLevel: "error", build: { outDir: join(out, name), emptyOutDir: false, target: "esnext" } });
  await cp(join(here, "page.css"), join(out, name, "page.css"));
}
await mkdir(join(out, "docsify"), { recursive: true });
await cp(join(here, "docsify"), join(out, "docsify"), { recursive: true });
await cp(join(here, "page.css"), join(out, "docsify", "page.css"));
for (const part of ["docsify.min.js", "themes"]) await cp(join(here, "node_modules", "docsify", "lib", part), join(out, "docsify", "lib", part), { recursive: true });
