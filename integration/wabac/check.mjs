// Asks wabac, the engine of ReplayWeb.page, for pages of a WACZ or WARC file: check.mjs ADDRESS reads one JSON
// list [URL, time of its capture as yyyymmddhhmmss, text, fresh] a line, and fails when wabac shows
// another text for one. With fresh it asks as the first question of a visit: wabac forgets what it has
// read of the index. To read it again takes nearly all of the time, so that the first question is by turns
// that of a page and that of what a page loads. Everything runs in Node: its database is in memory.
import "fake-indexeddb/auto";
import { createInterface } from "node:readline";

globalThis.self = globalThis;
self.location = new URL("http://localhost/");
self.addEventListener ??= () => {};
const log = console.log;
console.log = console.error; // what wabac says
Error.stackTraceLimit = 0; // the database throws and catches an error for each row without a key

const { ArchiveRequest, SWCollections } = await import("@webrecorder/wabac/swlib");
const colls = new SWCollections({ main: "http://localhost/w/", root: "http://localhost/", static: "/", proxy: "/" });
await colls.loadAll();
const added = await colls.addCollection({ name: "c", file: { sourceUrl: process.argv[2] } }, () => {});
if (!added) {
  throw new Error("wabac does not load the file");
}
const { store } = added;
const [file] = Object.values(store.waczfiles ?? {}); // none in a WARC file

// As a page, and as what a page loads: wabac searches differently.
const destinations = ["iframe", "image"];
let asked = 0;
let missed = 0;
for await (const line of createInterface({ input: process.stdin })) {
  const [url, ts, text, fresh] = JSON.parse(line);
  if (fresh) {
    destinations.reverse();
    await store.db.clear("resources");
    for (const block of await store.db.getAll("ziplines")) {
      await store.db.put("ziplines", { ...block, loaded: false });
    }
  }
  for (const destination of destinations) {
    asked++;
    const request = { method: "GET", mode: "navigate", destination, headers: new Headers(), referrer: "", url: "http://localhost/" };
    const wanted = new ArchiveRequest(url, request, { ts, mod: "mp_" });
    wanted.url = url;
    const found = await store.getResource(wanted, "http://localhost/w/c/", { clientId: "" }, { pageId: file?.hash });
    const got = found ? (await found.getText()).text : "nothing";
    if (!got.includes(text)) {
      missed++;
      if (missed <= 20) {
        log(`${destination} ${url} at ${ts}: ${got.slice(0, 100)}, not ${text}`);
      }
    }
  }
}
log(`asked ${asked} missed ${missed}`);
process.exit(missed > 0 ? 1 : 0);
