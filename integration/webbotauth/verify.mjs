// verify.mjs: verifies signed requests and an answer with the directory of keys, and writes what it found.
//
// stdin   {requests: [{url, headers}], directory: {url, status, headers, body}}
// stdout  {verified: N, directory: N, errors: ["..."]}: how many requests, and signatures of the directory
//
// A request has to pass two packages that know nothing of each other: web-bot-auth, of an author of the
// draft, and http-message-signatures, which implements RFC 9421. web-bot-auth 0.1.3 does not know the
// parameter key of a component (RFC 9421, section 2.1.2) and takes the whole field, so it gets the
// dictionary's member, as structured-headers reads it, in its place.
import { createHash, createPublicKey, verify as verifyBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { httpbis } from "http-message-signatures";
import { parseDictionary, serializeItem } from "structured-headers";
import { MediaType, jwkToKeyID, helpers, validateNonce, verify } from "web-bot-auth";
import { verifierFromJWK } from "web-bot-auth/crypto";

const given = JSON.parse(readFileSync(0, "utf8"));
const found = { verified: 0, directory: 0, errors: [] };

// keys are those of the directory by the thumbprint that is computed here.
const keys = new Map();
for (const jwk of JSON.parse(given.directory.body).keys) {
  const id = await jwkToKeyID(jwk, helpers.WEBCRYPTO_SHA256, helpers.BASE64URL_DECODE);
  if (jwk.kid !== id) {
    found.errors.push(`the directory names a key ${jwk.kid}, its thumbprint is ${id}`);
  }
  const key = createPublicKey({ key: jwk, format: "jwk" });
  keys.set(id, {
    jwk,
    verifying: { id, algs: ["ed25519"], verify: async (data, signature) => verifyBytes(null, data, key, signature) },
  });
}
const keyLookup = async ({ keyid }) => keys.get(keyid)?.verifying ?? null;

// byRFC verifies every signature of a message with http-message-signatures.
async function byRFC(fields, params, message, request) {
  const config = { keyLookup, all: true, requiredFields: fields, requiredParams: params };
  if ((await httpbis.verifyMessage(config, message, request)) !== true) {
    throw new Error("http-message-signatures does not verify it");
  }
}

// byDraft verifies the signature of a request with web-bot-auth.
async function byDraft({ url, headers }) {
  const [label, [, params]] = [...parseDictionary(headers["signature-input"])][0];
  if (!validateNonce(params.get("nonce"))) {
    throw new Error("the nonce is not 64 bytes");
  }
  const member = parseDictionary(headers["signature-agent"]).get(label);
  const message = new Request(url, { headers: { ...headers, "signature-agent": serializeItem(member) } });
  await verify(message, await verifierFromJWK(keys.get(params.get("keyid")).jwk));
}

for (const r of given.requests) {
  try {
    await byRFC(["@authority"], ["created", "expires", "keyid", "tag"], { method: "GET", ...r });
    await byDraft(r);
    found.verified++;
  } catch (e) {
    found.errors.push(`${r.url}: ${e.message}`);
  }
}

const d = given.directory;
try {
  if (d.headers["content-type"] !== MediaType.HTTP_MESSAGE_SIGNATURES_DIRECTORY) {
    throw new Error(`the media type is ${d.headers["content-type"]}`);
  }
  const digest = `sha-256=:${createHash("sha256").update(d.body).digest("base64")}:`;
  if (d.headers["content-digest"] !== digest) {
    throw new Error(`Content-Digest is ${d.headers["content-digest"]}, of the body it is ${digest}`);
  }
  await byRFC(["content-digest"], ["created", "expires", "keyid", "tag"], d, { method: "GET", url: d.url, headers: {} });
  for (const [, params] of parseDictionary(d.headers["signature-input"]).values()) {
    if (params.get("tag") !== "http-message-signatures-directory") {
      throw new Error(`the tag is ${params.get("tag")}`);
    }
    found.directory++;
  }
} catch (e) {
  found.errors.push(`the directory: ${e.message}`);
}
process.stdout.write(JSON.stringify(found));
