// check.mjs FILE...: reads WARC files with warcio and writes what was found, as one JSON document:
//
//   bytes     of all files
//   records   how many, by WARC-Type
//   captures  {type, url, status, truncated, file, offset, length} of each response and revisit
//   resolved  revisits by profile, the last word of it, whose WARC-Refers-To is a response with the same digest, URL and date
//   failures  {url, text} of each metadata record
//   errors    one sentence each; none when all is well
//
// Each record is read three times: its payload and its block with warcio, and the bytes between the offsets that warcio
// names, unpacked by node's zlib: they must be one gzip member that holds one record. Digests are computed by node's crypto.
import { createHash } from "node:crypto";
import { createReadStream, readFileSync } from "node:fs";
import { basename } from "node:path";
import { gunzipSync } from "node:zlib";
import { WARCParser } from "warcio";

const found = { bytes: 0, records: {}, captures: [], resolved: {}, failures: [], errors: [] };

// What revisits refer to: responses by record id, and the revisits, in any order of files.
const responses = new Map();
const revisits = [];

// base32 writes a digest as WARC files have it (RFC 4648, 20 bytes need no padding).
function base32(bytes) {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  let text = "";
  let bits = 0;
  let held = 0;
  for (const b of bytes) {
    held = (held << 8) | b;
    for (bits += 8; bits >= 5; bits -= 5) {
      text += letters[(held >> (bits - 5)) & 31];
    }
    held &= (1 << bits) - 1;
  }
  return text;
}

const sha1 = (bytes) => "sha1:" + base32(createHash("sha1").update(bytes).digest());

// checkMember holds the bytes of a member against being one record with that block.
function checkMember(packed, block, fail) {
  let text;
  try {
    text = gunzipSync(packed);
  } catch (e) {
    fail(`is no gzip member: ${e.message}`);
    return;
  }
  const end = text.indexOf("\r\n\r\n");
  if (!text.subarray(0, 5).equals(Buffer.from("WARC/")) || end < 0) {
    fail("does not begin with a record");
  } else if (!text.subarray(end + 4).equals(Buffer.concat([block, Buffer.from("\r\n\r\n")]))) {
    fail(`holds ${text.length - end - 8} bytes behind the header, warcio reads a block of ${block.length}`);
  }
}

// readAll yields each record with its place, once it was read to its end.
async function* readAll(path, options) {
  const parser = new WARCParser(createReadStream(path), { keepHeadersCase: true, ...options });
  let record = await parser.parse();
  while (record) {
    const offset = parser.offset;
    const content = Buffer.from(await record.readFully(false));
    const next = await parser.parse(); // only then the end is known
    yield { record, content, offset };
    record = next;
  }
}

async function checkFile(path) {
  const file = readFileSync(path);
  const blocks = [];
  for await (const r of readAll(path, { parseHttp: false })) {
    blocks.push(r);
  }
  found.bytes += file.length;
  let n = 0;
  for await (const { record, content, offset } of readAll(path, { parseHttp: true })) {
    const block = blocks[n];
    const length = (blocks[n + 1]?.offset ?? file.length) - offset;
    const fail = (what) => found.errors.push(`${basename(path)}: record ${n} at ${offset}: ${what}`);
    checkRecord(record, content, block, offset, fail);
    if (block) {
      checkMember(file.subarray(offset, offset + length), block.content, fail);
    }
    found.records[record.warcType] = (found.records[record.warcType] ?? 0) + 1;
    if (record.warcType === "response" || record.warcType === "revisit") {
      found.captures.push({
        type: record.warcType, url: record.warcTargetURI, status: record.httpHeaders?.statusCode ?? 0,
        truncated: record.warcHeader("WARC-Truncated") ?? "", file: basename(path), offset, length,
      });
    }
    if (record.warcType === "response") {
      responses.set(record.warcHeader("WARC-Record-ID"), { url: record.warcTargetURI, date: record.warcDate, digest: record.warcHeader("WARC-Payload-Digest") });
    }
    if (record.warcType === "revisit") {
      revisits.push({ record, fail });
    }
    if (record.warcType === "metadata") {
      found.failures.push({ url: record.warcTargetURI, text: content.toString() });
    }
    n++;
  }
  if (n !== blocks.length) {
    found.errors.push(`${basename(path)}: ${n} records with their payloads, ${blocks.length} with their blocks`);
  }
}

function checkRecord(record, payload, block, offset, fail) {
  if (!block || block.offset !== offset) {
    fail(`its block stands at ${block?.offset}`);
    return;
  }
  if (block.content.length !== Number(record.warcHeader("Content-Length"))) {
    fail(`${block.content.length} bytes, Content-Length says ${record.warcHeader("Content-Length")}`);
  }
  const said = record.warcHeader("WARC-Block-Digest");
  if (said !== sha1(block.content)) {
    fail(`the block's digest is ${sha1(block.content)}, the record says ${said}`);
  }
  if (record.warcType === "response" && record.warcHeader("WARC-Payload-Digest") !== sha1(payload)) {
    fail(`the payload's digest is ${sha1(payload)}, the record says ${record.warcHeader("WARC-Payload-Digest")}`);
  }
  if (record.warcType === "revisit" && payload.length > 0) {
    fail(`a revisit with a payload of ${payload.length} bytes`);
  }
  if (record.warcType !== "warcinfo" && !URL.canParse(record.warcTargetURI)) {
    fail(`its URL is ${record.warcTargetURI}`);
  }
}

const profiles = "http://netpreserve.org/warc/1.1/revisit/";

// resolve holds a revisit against the record that it refers to.
function resolve({ record, fail }) {
  const field = (name) => record.warcHeader(name);
  const profile = field("WARC-Profile") ?? "";
  const kind = profile.slice(profiles.length);
  if (!profile.startsWith(profiles) || (kind === "server-not-modified") !== (record.httpHeaders?.statusCode === 304)) {
    fail(`status ${record.httpHeaders?.statusCode} with the profile ${profile}`);
  }
  if (!field("WARC-Refers-To-Target-URI")) {
    fail("it refers to no URL");
  }
  if (field("WARC-Payload-Digest") === sha1(Buffer.alloc(0)) && kind === "server-not-modified") {
    fail("its digest is that of no bytes, not of what has not changed");
  }
  if (!field("WARC-Refers-To")) {
    return;
  }
  const original = responses.get(field("WARC-Refers-To"));
  if (!original) {
    fail(`it refers to ${field("WARC-Refers-To")}, which is not there`);
  } else if (original.url !== field("WARC-Refers-To-Target-URI") || original.date !== field("WARC-Refers-To-Date") || original.digest !== field("WARC-Payload-Digest")) {
    fail(`it refers to ${field("WARC-Refers-To-Target-URI")} of ${field("WARC-Refers-To-Date")} with ${field("WARC-Payload-Digest")}, that is ${JSON.stringify(original)}`);
  } else {
    found.resolved[kind] = (found.resolved[kind] ?? 0) + 1;
  }
}

// What warcio finds odd it says here.
console.warn = (...words) => found.errors.push("warcio: " + words.join(" "));

for (const path of process.argv.slice(2)) {
  try {
    await checkFile(path);
  } catch (e) {
    found.errors.push(`${basename(path)}: ${e.stack}`);
  }
}
revisits.forEach(resolve);
process.stdout.write(JSON.stringify(found) + "\n");
