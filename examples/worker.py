#!/usr/bin/env python3
"""A worker for crawlnode: fetches what the cluster leases it, and reports what it found.

    python3 worker.py http://127.0.0.1:27295 [NAME]

It ends when the crawl has finished. Python's standard library is enough. The rules are in docs/workers.md.
"""
import concurrent.futures, hashlib, html.parser, http.client, json, os, ssl, sys, time, urllib.error, urllib.parse, urllib.request

API, NAME = sys.argv[1], (sys.argv[2:] or ["python"])[0]
TOKEN = os.environ.get("CRAWLNODE_TOKEN", "")  # of a cluster with a key
MAX_BODY = 10 << 20


def ask(path, body=None):
    """Calls the API. It tries again for as long as no node answers, or one asks to wait."""
    while True:
        request = urllib.request.Request(API + path, json.dumps(body).encode() if body else None, {"Content-Type": "application/json"})
        if TOKEN:
            request.add_header("Authorization", "Bearer " + TOKEN)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as e:
            if e.code == 410:  # the lease has ended: its URLs are queued again
                return None
            if e.code not in (429, 503):
                raise
            time.sleep(float(e.headers.get("Retry-After", 1)))
        except OSError:
            time.sleep(1)


class Links(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        self.found += [value for name, value in attributes if tag in ("a", "area") and name == "href" and value]


def fetch(leased, agent):
    """Makes one request, to the address that the cluster has judged, without following a redirect."""
    url = urllib.parse.urlsplit(leased["url"])
    start = time.monotonic()
    try:
        address = leased["ip"] or url.hostname
        if url.scheme == "https":
            connection = http.client.HTTPSConnection(address, url.port or 443, timeout=30)
            connection.sock = ssl.create_default_context().wrap_socket(connection._create_connection((address, url.port or 443), 30), server_hostname=url.hostname)
        else:
            connection = http.client.HTTPConnection(address, url.port or 80, timeout=30)
        path = urllib.parse.urlunsplit(("", "", url.path or "/", url.query, ""))
        connection.request("GET", path, headers={"Host": url.netloc, "User-Agent": agent, "Connection": "close"})
        answer = connection.getresponse()
        body = answer.read(MAX_BODY)
        connection.close()
    except (OSError, http.client.HTTPException) as e:
        return {"url": leased["url"], "status": "error", "error": "timeout: " + str(e) if isinstance(e, TimeoutError) else "other: " + str(e)}
    links, kind = [], answer.getheader("Content-Type", "")
    if 300 <= answer.status < 400:
        links = [answer.getheader("Location", "")]
    elif answer.status == 200 and kind.startswith("text/html"):
        page = Links()
        page.feed(body.decode("utf-8", "replace"))
        links = page.found
    wait = answer.getheader("Retry-After", "")
    return {
        "url": leased["url"], "status": "success", "http_status": answer.status, "content_type": kind.split(";")[0], "content_length": len(body),
        "content_hash": "sha1:" + hashlib.sha1(body).hexdigest(), "links": links[:10_000], "links_found": len(links),
        "fetch_time_ms": (time.monotonic() - start) * 1000, "retry_after": int(wait) if wait.isdigit() else 0,
    }


def main():
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        while True:
            lease = ask(f"/api/v1/frontier/next?worker_id={urllib.parse.quote(NAME)}&batch_size=32&timeout_ms=5000")
            if lease["urls"]:
                results = list(pool.map(lambda leased: fetch(leased, lease["user_agent"]), lease["urls"]))
                report = ask("/api/v1/frontier/results", {"lease_id": lease["lease_id"], "results": results})
                print(len(results), "fetched:", report or "too late", flush=True)
            elif lease["crawl_state"] == "finished":
                return


main()
