#!/usr/bin/env node
// A worker for crawlnode: fetches what the cluster leases it, and reports what it found.
//
//     node worker.mjs http://127.0.0.1:27295 [NAME]
//
// It ends when the crawl has finished. Node.js 18 or later, no packages. The rules are in docs/workers.md.
import { createHash } from 'node:crypto'
import http from 'node:http'
import https from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'

const [api, name = 'node'] = process.argv.slice(2)
const token = process.env.CRAWLNODE_TOKEN // of a cluster with a key
const maxBody = 10 << 20

// ask calls the API. It tries again for as long as no node answers, or one asks to wait.
async function ask (path, body) {
  const headers = { 'Content-Type': 'application/json', ...(token && { Authorization: `Bearer ${token}` }) }
  for (;;) {
    let answer
    try {
      answer = await fetch(api + path, { method: body ? 'POST' : 'GET', headers, body: body && JSON.stringify(body) })
      if (answer.ok) return await answer.json()
    } catch {
      await sleep(1000)
      continue
    }
    if (answer.status === 410) return null // the lease has ended: its URLs are queued again
    if (answer.status !== 429 && answer.status !== 503) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
    await sleep(1000 * (answer.headers.get('Retry-After') ?? 1))
  }
}

// request makes one request, to the address that the cluster has judged. It follows no redirect.
function request (leased, agent) {
  const url = new URL(leased.url)
  const options = {
    host: leased.ip || url.hostname, port: url.port, servername: url.hostname, path: url.pathname + url.search,
    headers: { Host: url.host, 'User-Agent': agent }, agent: false, timeout: 30_000
  }
  return new Promise((resolve, reject) => {
    const r = (url.protocol === 'https:' ? https : http).get(options, answer => {
      const parts = []
      let size = 0
      answer.on('data', part => { if ((size += part.length) <= maxBody) parts.push(part) })
      answer.on('end', () => resolve({ answer, body: Buffer.concat(parts) }))
      answer.on('error', reject)
    })
    r.on('timeout', () => r.destroy(new Error('timeout: no answer in 30 s')))
    r.on('error', reject)
  })
}

async function visit (leased, agent) {
  const start = performance.now()
  const result = { url: leased.url }
  try {
    const { answer, body } = await request(leased, agent)
    const kind = answer.headers['content-type'] ?? ''
    let links = []
    if (answer.statusCode >= 300 && answer.statusCode < 400) {
      links = [answer.headers.location ?? '']
    } else if (answer.statusCode === 200 && kind.startsWith('text/html')) { // a real worker has a parser
      const text = value => value.replace(/&(amp|quot|#39|lt|gt);/g, (_, n) => ({ amp: '&', quot: '"', '#39': "'", lt: '<', gt: '>' }[n]))
      links = [...body.toString().matchAll(/<a\b[^>]*?\shref\s*=\s*("([^"]*)"|'([^']*)'|([^\s>]+))/gi)].map(m => text(m[2] ?? m[3] ?? m[4]))
    }
    return Object.assign(result, {
      status: 'success', http_status: answer.statusCode, content_type: kind.split(';')[0], content_length: body.length,
      content_hash: 'sha1:' + createHash('sha1').update(body).digest('hex'), links: links.slice(0, 10_000), links_found: links.length,
      fetch_time_ms: performance.now() - start, retry_after: Number(answer.headers['retry-after']) || 0
    })
  } catch (error) {
    return Object.assign(result, { status: 'error', error: error.message.startsWith('timeout') ? error.message : 'other: ' + error.message })
  }
}

for (;;) {
  const lease = await ask(`/api/v1/frontier/next?worker_id=${encodeURIComponent(name)}&batch_size=32&timeout_ms=5000`)
  if (lease.urls.length > 0) {
    const results = await Promise.all(lease.urls.map(leased => visit(leased, lease.user_agent)))
    const report = await ask('/api/v1/frontier/results', { lease_id: lease.lease_id, results })
    console.log(results.length, 'fetched:', report ?? 'too late')
  } else if (lease.crawl_state === 'finished') {
    break
  }
}
