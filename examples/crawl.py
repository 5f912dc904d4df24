#!/usr/bin/env python3
"""A crawl step by step, from Python: each part is a cell of a notebook.

    crawlnode --name n1 --contact you@example.org --index on     # in another terminal
    PYTHONPATH=clients/python python3 examples/crawl.py https://docs.example.org/

CRAWLNODE_ADDR names another node than that of this machine, and CRAWLNODE_TOKEN_FILE the token of a
cluster with a key. docs/python.md has the calls.
"""
import sys

import crawlnode

# %% The cluster, by any of its nodes.
client = crawlnode.Client()
seed = sys.argv[1]
print("the crawl is", client.status().crawl.state)

# %% Settings hold for all nodes, at once.
before = client.settings()
after = client.set(max_depth=20, version=before.version)
print("max_depth was %d and is %d" % (before.max_depth, after.max_depth))

# %% Seeds start the crawl. Events from before them: none is missed.
events = client.events()
print("seeds:", client.seeds([seed]))

# %% What happens, until the crawl has ended.
for event in events:
    print(event.time, event.level, event.code, "-", event.message)
    if event.code == "crawl_finished":
        break
events.close()

# %% Figures.
status = client.status()
print("%d pages on %d nodes, %d errors" % (
    status.throughput.pages_total, len(status.nodes), status.fetch.errors_total))

# %% The archive: what was stored of a page, and the page.
for capture in client.captures(seed):
    print(capture.at, capture.status, capture.file, capture.offset)
page = client.content(seed)
print(page.content_type, len(page), "bytes:", ascii(page.text()[:60]))

# %% Search, if the nodes have an index (--index on). Text of pages is no text for a terminal.
try:
    hits = client.search("page", size=3)
    print(hits.total, "pages found")
    for hit in hits:
        print("%.2f" % hit.score, hit.link, ascii(hit.title))
except crawlnode.Conflict as e:
    print("no search:", e)

client.close()
