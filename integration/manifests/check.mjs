// check.mjs: reads a JSON list of Kubernetes objects from standard input, holds each against the schema of its kind, and writes a JSON list with
// a list of complaints for each object; an empty one when all is well.
//
// The schemas, like the API server's, let unknown fields pass; the server then warns or drops them. Here they are errors. A validator looks at each
// field that it knows, so a field that it has not looked at is unknown.
import { readFileSync } from "node:fs";

const schemas = { v1: "CoreV1", "apps/v1": "AppsV1", "policy/v1": "PolicyV1", "networking.k8s.io/v1": "NetworkingV1" };

// watched wraps a value so that the fields that are read of it are noted.
function watched(value, path, all) {
  if (value === null || typeof value !== "object") {
    return value;
  }
  const entry = { value, path, seen: new Set() };
  all.push(entry);
  const inner = new Map();
  return new Proxy(value, {
    get(target, key) {
      if (typeof key === "string" && Object.hasOwn(target, key)) {
        entry.seen.add(key);
        if (!inner.has(key)) {
          inner.set(key, watched(target[key], `${path}/${key}`, all));
        }
        return inner.get(key);
      }
      return Reflect.get(target, key);
    },
    ownKeys(target) { // a map, such as labels: every key is known
      Object.keys(target).forEach((key) => entry.seen.add(key));
      return Reflect.ownKeys(target);
    },
  });
}

async function check(object) {
  const group = schemas[object.apiVersion];
  if (!group) {
    return [`apiVersion ${object.apiVersion} is not in check.mjs`];
  }
  const { validate } = await import(`./node_modules/kubernetes-models/_schemas/IoK8sApi${group}${object.kind}.mjs`);
  const all = [];
  if (!validate(watched(object, "", all))) {
    return validate.errors.map((e) => `${e.instancePath}: ${e.keyword} ${JSON.stringify(e.params)}`);
  }
  return all.flatMap(({ value, path, seen }) =>
    Array.isArray(value) ? [] : Object.keys(value).filter((key) => !seen.has(key)).map((key) => `${path}/${key}: unknown field`));
}

const found = [];
for (const object of JSON.parse(readFileSync(0, "utf8"))) {
  try {
    found.push(await check(object));
  } catch (e) {
    found.push([e.message]);
  }
}
process.stdout.write(JSON.stringify(found) + "\n");
