// client.mjs: makes every call of the URLFrontier protocol at a node, with libraries and a reading of
// the contract that are not ours, and writes what was wrong.
//
// client.mjs ADDRESS PROTO HTTP < {"hosts": ["127.0.0.1", ...], "urls": [["http://...", ...], ...]}
//
// urls has at least three URLs of each of two hosts. HTTP is the address of the node's API.
// stdout  {"calls": ["GetURLs", ...], "errors": ["..."]}: the calls that were made, and what failed
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import grpc from "@grpc/grpc-js";
import loader from "@grpc/proto-loader";

const [address, proto, http] = process.argv.slice(2);
const { hosts, urls } = JSON.parse(readFileSync(0, "utf8"));
const contract = grpc.loadPackageDefinition(
  loader.loadSync(proto, { keepCase: true, longs: Number, enums: String, defaults: true, oneofs: true }),
).urlfrontier.URLFrontier;
const client = new contract(address, grpc.credentials.createInsecure());
const calls = new Set();
const errors = [];
const patience = 240_000; // ms, for what a busy machine takes its time for

function check(what, got, want) {
  if (!isDeepStrictEqual(got, want)) {
    errors.push(`${what}: ${JSON.stringify(got)}, want ${JSON.stringify(want)}`);
  }
}

const deadline = () => ({ deadline: Date.now() + patience });

// call makes a call with one answer.
function call(name, request) {
  calls.add(name);
  return new Promise((done, failed) => {
    client[name](request, deadline(), (error, answer) => (error ? failed(error) : done(answer)));
  });
}

// code makes a call that must fail, and returns the name of its code.
async function code(name, request) {
  try {
    await call(name, request);
    return "OK";
  } catch (error) {
    return grpc.status[error.code];
  }
}

// read makes a call with a stream of answers.
function read(name, request) {
  calls.add(name);
  return all(client[name](request, deadline()));
}

// put sends messages over one stream, ends it, and returns the acknowledgements.
function put(name, messages) {
  calls.add(name);
  const stream = client[name](deadline());
  const acks = all(stream);
  for (const m of messages) {
    stream.write(m);
  }
  stream.end();
  return acks;
}

function all(stream) {
  return new Promise((done, failed) => {
    const got = [];
    stream.on("data", (m) => got.push(m));
    stream.on("error", failed);
    stream.on("end", () => done(got));
  });
}

// becomes asks until it gets what is wanted: figures and lists may be some seconds old.
async function becomes(what, ask, want) {
  let got;
  try {
    await until(what, async () => isDeepStrictEqual((got = await ask()), want));
  } catch {
    check(what, got, want);
  }
}

// until calls ask until it returns something, and fails when that takes too long.
async function until(what, ask) {
  for (const end = Date.now() + patience; ; await new Promise((wake) => setTimeout(wake, 50))) {
    const got = await ask();
    if (got) {
      return got;
    }
    if (Date.now() > end) {
      throw new Error(`${what}: not after ${patience} ms`);
    }
  }
}

// settled sends items until none must be sent again, and returns their statuses in their order.
function settled(name, messages, statuses) {
  return until(`${name} without FAIL`, async () => {
    const got = statuses(await put(name, messages));
    return got.includes("FAIL") ? null : got;
  });
}

const lists = (metadata) => Object.fromEntries(Object.entries(metadata).map(([k, values]) => [k, { values }]));

// own is metadata without what the node adds.
const own = (metadata) =>
  Object.fromEntries(
    Object.entries(metadata)
      .filter(([k]) => !k.startsWith("crawlnode.") && k !== "depth")
      .map(([k, list]) => [k, list.values]),
  );

const discovered = (crawlID, url, metadata = {}, ID = "") => ({
  ID,
  discovered: { info: { url, crawlID, metadata: lists(metadata) } },
});
const known = (crawlID, url, date, metadata = {}) => ({
  ID: url,
  known: { info: { url, crawlID, metadata: lists(metadata) }, refetchable_from_date: date },
});
const urlOf = (item) => (item.known ?? item.discovered).info.url;
const statusesOf = (acks) => acks.map((a) => a.status);
const now = () => Math.floor(Date.now() / 1000);
const count = async (crawlID, more = {}) => (await call("CountURLs", { crawlID, ...more })).value;

// given asks until a crawl gives something of a host.
let asked = 0; // when the URL that was given last was asked for: its time began later
const given = (crawlID, key, delay = 30) =>
  until(`a URL of ${key} in ${crawlID}`, async () => {
    asked = Date.now();
    const got = await read("GetURLs", { crawlID, key, max_queues: 5, max_urls_per_queue: 5, delay_requestable: delay });
    return got.length > 0 ? got : null;
  });

const [a, b] = urls;
const about = { who: ["shop", "ü", ""], "fetch.note": ["1"] };

async function main() {
  check("ListNodes", (await call("ListNodes", {})).values, [http]);

  // Two crawls hold one URL, each with metadata of its own.
  const items = [
    discovered("shop", a[0], about, "one"),
    discovered("shop", a[1]),
    discovered("news", a[0], { who: ["news"] }),
    discovered("shop", ""),
    discovered("shop", a[2], { big: ["x".repeat(5000)] }),
    discovered("shop", a[2], { big: ["x".repeat(3900)] }),
  ];
  const acks = await until("PutURLs without FAIL", async () => {
    const got = await put("PutURLs", items);
    return statusesOf(got).includes("FAIL") ? null : got;
  });
  check("PutURLs", acks.map((k) => k.ID), ["one", a[1], a[0], "", a[2], a[2]]);
  check("PutURLs", statusesOf(acks).slice(3), ["SKIPPED", "SKIPPED", "OK"]);
  const batch = { ID: "b1", items: [b[0], b[1], ""].map((url) => ({ url, crawlID: "shop" })) };
  check("PutDiscovered", await settled("PutDiscovered", [batch], (k) => k[0].statuses), ["OK", "OK", "SKIPPED"]);
  const probe = await put("PutDiscovered", [{ ID: "probe", items: [] }]);
  check("an empty batch", probe, [{ ID: "probe", statuses: [] }]);

  // Counts and lists by crawl.
  const crawls = (await call("ListCrawls", {})).values;
  check("ListCrawls", ["news", "shop"].filter((id) => crawls.includes(id)), ["news", "shop"]);
  check("CountURLs of shop", await count("shop"), 5);
  check("CountURLs of news", await count("news"), 1);
  check("CountURLs of nobody", await count("nobody"), 0);
  check("CountURLs of a host", await count("shop", { key: hosts[1] }), 2);
  check("CountURLs with a filter", await count("shop", { filter: "HTTP" }), 0);
  check("CountURLs without case", await count("shop", { filter: "HTTP", ignoreCase: true }), 5);
  const listed = await read("ListURLs", { crawlID: "shop" });
  check("ListURLs of shop", listed.map(urlOf).sort(), [a[0], a[1], a[2], b[0], b[1]].sort());
  for (const item of listed) {
    if (urlOf(item) === a[0]) {
      check("ListURLs has metadata", own((item.known ?? item.discovered).info.metadata), about);
      check("ListURLs has the date of creation", Math.abs(item.creation_date - now()) < 600, true);
    }
  }
  check("a page of ListURLs", (await read("ListURLs", { crawlID: "shop", start: 3, size: 1 })).length, 1);
  check("ListURLs of nobody", await read("ListURLs", { crawlID: "nobody" }), []);
  const queues = async () => {
    const l = await call("ListQueues", { crawlID: "shop", include_inactive: true });
    return [[...l.values].sort(), l.crawlID, l.start, l.size];
  };
  await becomes("ListQueues of shop", queues, [[...hosts].sort(), "shop", 0, 2]);
  const stats = async (crawlID) => {
    const s = await call("GetStats", { crawlID });
    return [s.size, s.inProcess, s.numberOfQueues, s.counts.completed, s.crawlID];
  };
  await becomes("GetStats of shop", () => stats("shop"), [5, 0, 2, 0, "shop"]);
  check("GetStats of nobody", (await call("GetStats", { crawlID: "nobody" })).size, 0);
  check("a URL of another crawl", await code("GetURLStatus", { url: a[1], crawlID: "news" }), "NOT_FOUND");

  // One URL of a host at a time, over all crawls; it is given again after delay_requestable.
  const first = (await given("shop", hosts[0], 3))[0];
  const of = { [a[0]]: about, [a[1]]: {}, [a[2]]: { big: ["x".repeat(3900)] } };
  check("GetURLs", [first.key, first.crawlID, own(first.metadata)], [hosts[0], "shop", of[first.url]]);
  const beside = await read("GetURLs", { crawlID: "news", delay_requestable: 30 });
  if (Date.now() - asked < 3000) {
    check("given of a host that is being fetched", beside, []);
  }
  // Nobody else has it: a result after its time counts, without the node's metadata.
  await until("the end of its time", async () => (await call("GetStats", { crawlID: "shop" })).inProcess === 0);
  const due = now() + 7200;
  const after = { "fetch.statusCode": ["200"], "url.path": [a[0], a[1]] };
  check("a late result", await settled("PutURLs", [known("shop", first.url, due, after)], statusesOf), ["OK"]);
  const status = await call("GetURLStatus", { url: first.url, crawlID: "shop", key: hosts[0] });
  check("GetURLStatus", [status.known?.refetchable_from_date, own(status.known?.info.metadata ?? {})], [due, after]);
  check("a discovered URL that is known", ["OK", "SKIPPED"].includes((await settled("PutURLs", [discovered("shop", first.url)], statusesOf))[0]), true);
  check("it stays known", (await call("GetURLStatus", { url: first.url, crawlID: "shop" })).known?.refetchable_from_date, due);
  const news = (await given("news", hosts[0]))[0];
  check("GetURLs of news", [news.url, own(news.metadata)], [a[0], { who: ["news"] }]);
  check("a result without a date", await settled("PutURLs", [known("news", a[0], 0)], statusesOf), ["OK"]);
  await becomes("GetStats of news", () => stats("news"), [0, 0, 1, 1, "news"]);

  // Blocks, pauses and settings.
  await call("SetActive", { state: false });
  await until("a pause", async () => !(await call("GetActive", {})).state);
  check("given in a pause", await read("GetURLs", { crawlID: "shop" }), []);
  await call("SetActive", { state: true });
  await until("the end of a pause", async () => (await call("GetActive", {})).state);
  const of1 = { crawlID: "shop", key: hosts[1] };
  await call("SetDelay", { ...of1, delay_requestable: 3600 });
  await call("BlockQueueUntil", { ...of1, time: now() + 3600 });
  check("given of a blocked host", await read("GetURLs", { crawlID: "shop", key: hosts[1] }), []);
  await call("BlockQueueUntil", { key: hosts[1], crawlID: "shop", time: 0 });
  const unblocked = (await given("shop", hosts[1]))[0];
  check("given after a block", [b[0], b[1]].includes(unblocked.url), true);
  check("its result", await settled("PutURLs", [known("shop", unblocked.url, due)], statusesOf), ["OK"]);
  check("given of a queue with a delay", await read("GetURLs", of1), []);
  await call("SetDelay", { ...of1, delay_requestable: 0 });
  const undelayed = (await given("shop", hosts[1]))[0];
  check("given without the delay", undelayed.url, unblocked.url === b[0] ? b[1] : b[0]);
  check("its result", await settled("PutURLs", [known("shop", undelayed.url, 0)], statusesOf), ["OK"]);
  check("one more", await settled("PutURLs", [discovered("shop", b[2])], statusesOf), ["OK"]);
  await call("SetCrawlLimit", { ...of1, limit: 1 }); // of completed URLs
  const unlimited = await read("GetURLs", { crawlID: "shop", delay_requestable: 1 });
  check("given of a queue at its limit", unlimited.filter((u) => u.key === hosts[1]), []);
  check("SetCrawlLimit of nothing", await code("SetCrawlLimit", { crawlID: "shop", key: "nobody.example", limit: 2 }), "NOT_FOUND");
  await call("SetDelay", { delay_requestable: 1 });
  await call("SetCrawlLimit", { limit: 1000 });
  await call("SetLogLevel", { level: "INFO", local: true });

  // Deletions leave other crawls alone, and what was deleted may come again.
  check("PurgeURLs of nothing old", (await call("PurgeURLs", { crawlID: "shop", days: 1 })).value, 0);
  check("DeleteQueue", (await call("DeleteQueue", { crawlID: "shop", key: hosts[0] })).value, 3);
  check("DeleteQueue of nothing", (await call("DeleteQueue", { crawlID: "shop", key: hosts[0] })).value, 0);
  check("shop after that", [await count("shop"), await count("news")], [3, 1]);
  check("a deleted URL", await code("GetURLStatus", { url: a[0], crawlID: "shop" }), "NOT_FOUND");
  check("put again", await settled("PutURLs", [discovered("shop", a[0], about)], statusesOf), ["OK"]);
  const again = (await given("shop", hosts[0]))[0];
  check("given again", [again.url, own(again.metadata)], [a[0], about]);
  check("DeleteCrawl", (await call("DeleteCrawl", { value: "shop" })).value, 4);
  check("DeleteCrawl of nothing", (await call("DeleteCrawl", { value: "shop" })).value, 0);
  const left = (await call("ListCrawls", {})).values;
  check("ListCrawls after that", [left.includes("shop"), left.includes("news")], [false, true]);
  check("news after that", [await count("shop"), await count("news")], [0, 1]);
}

try {
  await main();
} catch (error) {
  errors.push(error.stack);
}
client.close();
console.log(JSON.stringify({ calls: [...calls].sort(), errors }));
