"""Makes each call of the client to a cluster, while TestPythonCallsUnderKills kills the node that
it was given. It says on standard output how far it is, and waits on standard input where the test
has to do something. Arguments: the node, another one, the web server, and the seeds. CRAWLNODE_TOKEN
is a token of the role admin, READ_TOKEN one of the role read, OTHER_TOKEN one of another cluster.
"""
import collections
import http.client
import os
import sys
import threading
import time
import urllib.parse
from datetime import timedelta

import crawlnode

given, other, web, *seeds = sys.argv[1:]
client = crawlnode.Client(given)


def say(*words):
    print(*words, flush=True)
    if sys.stdin.readline() == "":
        sys.exit("the test has gone")


def check(what, got, want):
    if got != want:
        sys.exit("%s: %r, not %r" % (what, got, want))


def becomes(what, ask, want):
    """Asks until the answer is right: a node that is held up tells and learns late."""
    end = time.monotonic() + 240
    while (got := ask()) != want:
        if time.monotonic() > end:
            sys.exit("%s: %r, not %r" % (what, got, want))
        time.sleep(0.2)


# Events, from before the first seed to the end of the crawl, on whichever node.
events = []
stream = client.events()


def follow():
    for event in stream:
        events.append(event)
        if event.code == "crawl_finished":
            return


follower = threading.Thread(target=follow)
follower.start()
becomes("members", lambda: client.status().cluster.members.alive, 3)
check("members of a node's own status", len(client.status(scope="node").nodes), 1)

# Roles and keys.
for name, token, want in (
    ("read", os.environ["READ_TOKEN"], crawlnode.Forbidden),
    ("another cluster", os.environ["OTHER_TOKEN"], crawlnode.Untrusted),
    ("none", "", crawlnode.Unauthorized),
):
    try:
        crawlnode.Client(given, token=token).seeds(seeds)
        sys.exit("seeds with the token " + name)
    except want as e:
        print(name, "-", e)
crawlnode.Client(given, token=os.environ["READ_TOKEN"]).status()

# Settings hold on all nodes.
old = client.settings()
new = client.set(delay=timedelta(milliseconds=60), exclude=["*/none/*"], version=old.version)


def there():
    settings = crawlnode.Client(other).settings()
    return settings.delay, settings.exclude


becomes("settings", there, ("60ms", ["*/none/*"]))
try:
    client.set(delay="1s", version=old.version)
    sys.exit("an old version was accepted")
except crawlnode.VersionConflict:
    pass
try:
    client.set(max_depth="deep", delays=3)
    sys.exit("nonsense was accepted")
except crawlnode.BadRequest as e:
    check("wrong fields", sorted(f["field"] for f in e.errors), ["delays", "max_depth"])

report = client.seeds([*seeds, seeds[0], "gopher://a/"])
# A page that is fetched meanwhile may link to a seed that is still on its way.
check("seeds", (report.accepted + report.duplicates, report.accepted > 0, report.duplicates > 0,
                [b.line for b in report.invalid]), (len(seeds) + 1, True, True, [len(seeds) + 2]))
say("seeded")  # the test kills the node
follower.join()

counted = collections.Counter(e.code for e in events)
for code in ("settings_changed", "crawl_started", "node_failed", "crawl_finished"):
    if counted[code] < 1:
        sys.exit("no event %s: %s" % (code, counted))
if counted["crawl_finished"] != 1 or counted["crawl_started"] != 1:
    sys.exit("an event came twice: %s" % counted)
check("events are of other nodes in the end", given in events[-1].source, False)
print("pages", client.status().throughput.pages_total)
say("finished")  # the test judges the web server before this program asks it, too

# The archive has what the web server sends; what the killed node had is gone until it is back.
compared = 0
for seed in seeds:
    for capture in client.captures(seed):
        content = client.content(seed, capture)
        parts = urllib.parse.urlsplit(seed)
        asked = http.client.HTTPConnection(web, timeout=60)
        asked.request("GET", parts.path, headers={"Host": parts.netloc})
        answer = asked.getresponse()
        check("status of " + seed, content.status, answer.status)
        check("content of " + seed, content, answer.read())
        check("type of " + seed, content.content_type, "text/html")
        compared += 1
        decoded = client._fetch(capture, 1 << 20, "answer").body  # for codings without a module
        check("decoded " + seed, decoded.partition(b"\r\n\r\n")[2], content)
        check("newest", client.content(seed), content)
try:
    client.content("http://nowhere.test/")
    sys.exit("content of nothing")
except crawlnode.NotFound:
    pass


def results():
    first, second = (client.search("page", size=5, page=n) for n in (1, 2))
    return len(first), first.total >= 5, {h.link for h in first} & {h.link for h in second}


becomes("two pages of results", results, (5, True, set()))  # the index follows the crawl
client.close()
say("compared", compared)
