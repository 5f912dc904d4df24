#!/usr/bin/env python3
"""A worker for crawlnode with urllib and the client of clients/python.

    PYTHONPATH=clients/python python3 examples/worker_client.py 127.0.0.1:27295 [NAME]

It ends when the crawl has finished. The client keeps leases, repeats and other nodes; what is left
is how a page is fetched. `client.work(crawlnode.fetch_page)` is the whole of it without urllib.
docs/python.md has the calls, docs/workers.md the rules.
"""
import sys
import urllib.error
import urllib.parse
import urllib.request

import crawlnode


class Stay(urllib.request.HTTPRedirectHandler):
    """Redirects are answers: the cluster decides where they lead."""

    def redirect_request(self, *_):
        return None


# Without proxies of the environment: the address is the one that the cluster has judged.
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), Stay())


def fetch(task):
    """Makes one request of a host whose turn it is."""
    url = urllib.parse.urlsplit(task.url)
    if url.scheme != "http":  # a certificate is that of the name: fetch_page checks it
        return crawlnode.fetch_page(task)
    port = ":%d" % url.port if url.port else ""
    host = "[%s]" % task.ip if ":" in task.ip else task.ip
    at = urllib.parse.urlunsplit((url.scheme, host + port, url.path, url.query, ""))
    headers = {"Host": url.netloc, "User-Agent": task.user_agent}
    request = urllib.request.Request(at, headers=headers)
    try:
        answer = opener.open(request, timeout=30)
    except urllib.error.HTTPError as e:
        answer = e  # 3xx, 4xx and 5xx
    with answer:
        links = [answer.headers["Location"]] if "Location" in answer.headers else None
        return crawlnode.Result(
            answer.status, links, answer.headers.get("Content-Type", ""), answer.read(10 << 20),
            retry_after=answer.headers.get("Retry-After"),
            x_robots_tag=answer.headers.get_all("X-Robots-Tag") or (),
        )


def main():
    with crawlnode.Client(sys.argv[1] if len(sys.argv) > 1 else None) as client:
        summary = client.work(fetch, sys.argv[2] if len(sys.argv) > 2 else None)
    print(summary)


if __name__ == "__main__":
    main()
