// Package crawlnode holds the tests that read the tree itself: who imports whom, and
// that every package explains itself.
package crawlnode

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "crawlnode"

// rule is one row of the import table; docs/architecture.md has the same rows, without why.
type rule struct {
	packages []string
	may      []string // project packages; a trailing /* stands for any directly below
	why      string
}

// table says which project packages a package may import. Everything else of
// the project is forbidden to it.
var table = []rule{
	{
		[]string{"web/urlnorm", "web/robots", "web/simhash", "dnscache", "metrics", "door", "ticks", "clusterkey", "simweb", "store/files", "fairshare", "scheduler/timers", "api/urlfrontier/wire", "importance/pagerank", "web/css", "web/mime", "node/fanout", "node/resources", "recrawl/estimate", "recrawl/claims", "focus", "web/render", "web/render/decide"}, nil,
		"a leaf: it must be usable, testable and readable alone",
	},
	{
		[]string{"web/htmlparse", "web/sitemap", "web/scope", "web/normalize", "web/cookies", "crawl"}, []string{"web/urlnorm"},
		"a leaf that speaks of canonical URLs, and urlnorm is the only maker of those",
	},
	{
		[]string{"web/fetcher"}, []string{"web/mime", "web/urlnorm"},
		"it fetches canonical URLs, and says of which type an answer is",
	},
	{
		[]string{"web/rewrite"}, []string{"web/css", "web/htmlparse", "web/urlnorm"},
		"pure: it changes the links of a page; where a URL was saved is a function that it is given",
	},
	{
		[]string{"ring"}, []string{"crawl"},
		"a pure core: it knows the nouns and neither disk, network nor its callers",
	},
	{
		[]string{"importance"}, []string{"crawl"},
		"a pure core: it knows numbers of URLs, and neither disk, network nor what a link is",
	},
	{
		[]string{"retry"}, []string{"crawl"},
		"a pure table of what is fetched again: scheduler, pipeline and config read the same one",
	},
	{
		[]string{"web/traps"}, []string{"web/scope", "web/urlnorm"},
		"it judges texts and URLs that it is given, and names patterns as the scope reads them",
	},
	{
		[]string{"scheduler"}, []string{"crawl", "fairshare", "retry", "scheduler/timers"},
		"a pure core: it knows the nouns and the rules of shares, and neither disk, network nor its callers",
	},
	{
		[]string{"recrawl/policy"}, []string{"crawl", "recrawl/estimate"},
		"a pure core: it divides visits among beliefs, and knows neither pages, disk nor its callers",
	},
	{
		[]string{"recrawl"}, []string{"crawl", "recrawl/estimate", "recrawl/policy", "recrawl/claims"},
		"a pure core: it judges visits and plans the next ones; storing and fetching are its callers'",
	},
	{
		[]string{"store/archive"}, []string{"crawl", "web/simhash", "store/files"},
		"it stores what it is given and knows neither fetching nor the frontier",
	},
	{
		[]string{"store/readback"}, []string{"crawl", "store/archive", "store/wacz", "web/fetcher", "web/htmlparse", "web/maintext", "web/mime", "web/simhash", "web/urlnorm"},
		"it reads archives, through a node or from a folder, and changes nothing",
	},
	{
		[]string{"store/derived/follow"}, []string{"crawl", "store/derived", "store/files", "web/urlnorm"},
		"it reads what package derived writes",
	},
	{
		[]string{"store/sink"}, []string{"crawl"},
		"it carries lines to other systems, whatever they say",
	},
	{
		[]string{"store/newest", "store/table"}, []string{"crawl", "store/archive"},
		"they read what an index says; where it lies, and what the records have, is their callers'",
	},
	{
		[]string{"store/wacz", "store/s3test"}, nil,
		"they pack or keep bytes that they are given, and know nothing of crawls",
	},
	{
		[]string{"store/upload"}, []string{"store/s3test"},
		"it copies files that it is given, and knows nothing of crawls; its tests have a store of their own",
	},
	{
		[]string{"node/uploads"}, []string{"crawl", "store/archive", "store/upload"},
		"it copies finished files and reads them back; who writes them is not its concern",
	},
	{
		[]string{"store/derived"}, []string{"crawl", "web/htmlparse", "web/urlnorm", "store/files"},
		"it writes down what was read of a page and knows neither fetching nor the archive",
	},
	{
		[]string{"store/mirror"}, []string{"crawl", "store/archive", "store/files", "store/readback", "web/rewrite", "web/urlnorm"},
		"it makes files of captures; where those come from is an interface that it declares",
	},
	{
		[]string{"store/scopeset"}, []string{"web/scope", "store/files"},
		"it keeps entries and what they open; judging is the scope's, and carrying them to others the node's",
	},
	{
		[]string{"store/search/analyse"}, nil,
		"a leaf: it makes words of text",
	},
	{
		[]string{"store/search/rank"}, nil,
		"a leaf: it computes scores",
	},
	{
		[]string{"store/search/query"}, []string{"store/search/analyse", "web/urlnorm"},
		"pure: it reads questions",
	},
	{
		[]string{"store/search/snippet"}, []string{"store/search/analyse"},
		"pure: it chooses passages",
	},
	{
		[]string{"store/search/segment"}, []string{"store/search/analyse", "store/search/rank"},
		"it keeps one immutable part of an index; which parts there are is known above",
	},
	{
		[]string{"store/search/held"}, []string{"store/search/segment"},
		"it tells which documents of a segment are of some partitions",
	},
	{
		[]string{"store/search"}, []string{"store/files", "store/search/analyse", "store/search/held", "store/search/query", "store/search/rank", "store/search/segment", "store/search/snippet"},
		"the index of one node: it stores what it is given and knows neither fetching nor other nodes",
	},
	{
		[]string{"web/maintext"}, []string{"web/htmlparse"},
		"it reads the text of a page; what it is for is known above",
	},
	{
		[]string{"store/linkgraph"}, []string{"crawl", "store/archive", "store/readback", "web/htmlparse", "web/urlnorm"},
		"it reads what crawls have left on disk; ranking what it reads is done elsewhere",
	},
	{
		[]string{"frontier/storage"}, []string{"crawl", "store/files"},
		"it stores bytes; what keys and values mean is known above",
	},
	{
		[]string{"frontier/layout"}, []string{"crawl", "importance", "web/urlnorm"},
		"pure: it says what keys and values look like, and knows neither store, clock nor goroutine",
	},
	{
		[]string{"frontier/reader"}, []string{"crawl", "web/urlnorm", "frontier/layout", "frontier/result", "frontier/storage"},
		"it reads one snapshot and changes nothing",
	},
	{
		[]string{"frontier/order"}, []string{"crawl", "importance", "web/urlnorm", "frontier/layout", "frontier/reader", "frontier/storage"},
		"it says where a queued URL waits; the frontier moves it",
	},
	{
		[]string{"frontier/cash"}, []string{"crawl", "importance", "web/urlnorm", "frontier/commit", "frontier/layout", "frontier/order", "frontier/reader", "frontier/storage"},
		"it plans what becomes of a partition's cash, and asks the writer to carry it out",
	},
	{
		[]string{"frontier/texts"}, []string{"crawl", "frontier/commit", "frontier/layout", "frontier/reader"},
		"it keeps the documents of pages as bytes; what is in them the index knows",
	},
	{
		[]string{"frontier/places"}, []string{"crawl", "frontier/commit", "frontier/layout"},
		"it knows where a queue entry stands, and not what is in it",
	},
	{
		[]string{"frontier/contents"}, []string{"crawl", "frontier/commit", "frontier/layout", "frontier/reader"},
		"it remembers payloads beside the URLs, in the same writes",
	},
	{
		[]string{"frontier/due"}, []string{"crawl", "recrawl", "frontier/layout", "frontier/reader"},
		"it reads the due pages of a snapshot; what is done with them is the frontier's",
	},
	{
		[]string{"frontier/result"}, []string{"crawl", "recrawl", "frontier/layout"},
		"what a visit makes of a URL's record knows neither the store nor the cluster",
	},
	{
		[]string{"frontier/filters"}, []string{"crawl", "frontier/layout", "frontier/reader", "frontier/storage"},
		"it spares look-ups in the store; what is known is decided above",
	},
	{
		[]string{"frontier/recovery"}, []string{"crawl", "frontier/layout", "frontier/reader", "frontier/storage"},
		"it judges what a start finds, before there is a writer",
	},
	{
		[]string{"frontier/commit"}, []string{"crawl", "frontier/storage", "frontier/layout", "frontier/reader", "frontier/filters", "frontier/recovery", "store/files"},
		"it carries out requests; what they mean is known above",
	},
	{
		[]string{"frontier/listing"}, []string{"crawl", "web/scope", "web/urlnorm", "frontier/layout", "frontier/reader", "frontier/result", "frontier/storage"},
		"it reads URLs out of a snapshot in pages; the patterns are those of the scope",
	},
	{
		[]string{"frontier/offline"}, []string{"crawl", "frontier", "frontier/layout", "frontier/listing", "frontier/reader", "frontier/storage", "web/urlnorm"},
		"it reads the stores of nodes that do not run, which its tests fill with a frontier",
	},
	{
		[]string{"frontier"}, []string{"crawl", "importance", "recrawl", "web/urlnorm", "frontier/cash", "frontier/commit", "frontier/contents", "frontier/due", "frontier/storage", "frontier/layout", "frontier/listing", "frontier/order", "frontier/places", "frontier/reader", "frontier/result", "frontier/filters", "frontier/texts"},
		"one node's engine knows no cluster",
	},
	{
		[]string{"peer"}, []string{"door"},
		"calls between nodes; whom they are from and what they mean is known above, and the door is for strangers",
	},
	{
		[]string{"membership/consensus"}, []string{"ring", "crawl"},
		"a pure core: it decides about views and leases, and knows neither gossip, disk, network nor time",
	},
	{
		[]string{"membership/prober"}, []string{"membership/consensus", "crawl", "ticks"},
		"it observes processes and addresses; what a proof leads to is decided by views",
	},
	{
		[]string{"membership/gossip"}, []string{"membership/consensus", "crawl", "door"},
		"the edge to memberlist; what its news lead to is decided by views, and the door is for strangers",
	},
	{
		[]string{"membership/join"}, []string{"membership/consensus", "membership/gossip", "crawl"},
		"it tries addresses through an interface that it declares; who founds a cluster is decided above",
	},
	{
		[]string{"membership/storage"}, []string{"membership/consensus", "crawl"},
		"it stores the state of the views and knows neither gossip nor network",
	},
	{
		[]string{"membership"}, []string{"membership/consensus", "membership/gossip", "membership/join", "membership/prober", "membership/storage", "ring", "crawl"},
		"the cluster knows no web, and views come before partitions",
	},
	{
		[]string{"handoff/machine"}, []string{"crawl", "ring"},
		"a pure core: it decides who holds which partition, and knows neither store, peers nor time",
	},
	{
		[]string{"handoff/wire", "handoff/acks"}, []string{"handoff/machine", "crawl"},
		"it speaks of partitions and sets in the machine's nouns, and knows neither store, peers nor driver",
	},
	{
		[]string{"handoff/hints"}, []string{"handoff/wire", "crawl"},
		"it keeps mutations on disk as they go over the wire; who needs them is known by replication",
	},
	{
		[]string{"handoff/replication"}, []string{"handoff/acks", "handoff/hints", "handoff/machine", "handoff/wire", "crawl"},
		"it sends what the machine orders; store, streams and the machine's inbox reach it through its Options",
	},
	{
		[]string{"handoff/copies"}, []string{"handoff/machine", "handoff/wire", "crawl"},
		"it takes what others send; store and gate are interfaces that it declares",
	},
	{
		[]string{"handoff"}, []string{"handoff/*", "crawl", "ring", "ticks"},
		"the cluster knows no web; views and stores reach it through interfaces that it declares",
	},
	{
		[]string{"pipeline"}, []string{"crawl", "retry", "web/*"},
		"one page's trip; where pages come from and go to are interfaces that it declares",
	},
	{
		[]string{"config"}, []string{"crawl", "focus", "importance", "retry", "store/upload", "web/normalize", "web/scope"},
		"flags become values; it starts nothing",
	},
	{
		[]string{"api/search"}, []string{"crawl"},
		"it writes results in the forms of others; finding them is the node's",
	},
	{
		[]string{"api/codes"}, nil,
		"a table: what is printed as a code, for whoever explains it",
	},
	{
		[]string{"api/dashboard"}, []string{"api/codes", "crawl", "store/readback", "ticks"},
		"it shows what an interface tells it; asking, guarding and serving are the API's",
	},
	{
		[]string{"api/urllist"}, []string{"crawl"},
		"it walks pages that its caller reads, so that the API and the command line write the same lists",
	},
	{
		[]string{"api/plaintext"}, []string{"api/analysis", "crawl"},
		"pure: a report in, text for people out, so that the API and the command line say the same",
	},
	{
		[]string{"api/analysis"}, []string{"api/urllist", "crawl"},
		"a report in other words; what it counts it reads through a function that it is given",
	},
	{
		[]string{"api/captures"}, []string{"crawl", "store/archive", "web/urlnorm"},
		"it selects and prints lines of an index; where those come from is a function that it is given",
	},
	{
		[]string{"api/urlfrontier"}, []string{"api/urlfrontier/wire", "crawl", "door", "web/urlnorm"},
		"another protocol in front of an interface that it declares, so that it can be tested without a node",
	},
	{
		[]string{"api"}, []string{"api/analysis", "api/captures", "api/dashboard", "api/plaintext", "api/search", "api/urllist", "crawl", "metrics", "door"},
		"HTTP in front of an interface that it declares, so that it can be tested without a node",
	},
	{
		[]string{"api/client"}, []string{"crawl", "metrics"},
		"HTTP in front of an interface that it declares, so that it can be tested without a node",
	},
	{
		[]string{"node/addresses/turns"}, []string{"crawl"},
		"a pure core: it decides whose turn an address is, and knows neither network, clock nor what is requested",
	},
	{
		[]string{"node/addresses"}, []string{"crawl", "node/addresses/turns", "peer", "ticks"},
		"it carries the messages about turns; who holds what, and how members are reached, is node's",
	},
	{
		[]string{"node/breadth"}, nil,
		"it decides from figures that it is given; what a fetch is, and what the figures come from, is node's",
	},
	{
		[]string{"node/changes"}, []string{"crawl", "membership", "node/events", "node/status"},
		"it compares views and decides nothing; when every partition is served again is judged by package status",
	},
	{
		[]string{"node/contents"}, []string{"crawl", "frontier", "peer", "pipeline", "ring", "ticks", "web/simhash", "web/urlnorm"},
		"it answers the pipeline from the frontier and from peers; who holds what, and whom to call, are functions that node gives it",
	},
	{
		[]string{"node/crawldoc"}, []string{"crawl", "config", "clusterkey", "focus", "node/datadir", "pipeline", "store/files", "store/scopeset", "web/normalize", "web/scope", "web/urlnorm"},
		"what the nodes agree on, its rules and its file; carrying it to others is node's",
	},
	{
		[]string{"node/keyfile"}, []string{"clusterkey", "crawl", "node/datadir"},
		"it reads and makes files of keys and tokens; no node has to run",
	},
	{
		[]string{"node/preflight"}, []string{"config", "membership", "node/datadir", "node/disk", "node/keyfile", "node/links", "peer"},
		"it looks at what a start would meet, and starts no node",
	},
	{
		[]string{"node/finish"}, []string{"crawl", "membership", "node/crawldoc", "node/fanout", "peer", "ticks"},
		"it decides when the crawl ends and who may fetch its last pages; how others are reached, and what ends the process, is node's",
	},
	{
		[]string{"node/ended"}, []string{"config", "crawl", "frontier", "frontier/listing", "frontier/offline", "membership/storage", "node/crawldoc", "node/datadir", "node/inspect", "node/status", "ring", "scheduler", "store/archive", "web/urlnorm"},
		"it answers from what nodes have left, by the rules of those that run, and changes nothing",
	},
	{
		[]string{"node/inspect"}, []string{"crawl", "frontier", "frontier/listing", "node/crawldoc", "node/fanout", "pipeline", "recrawl", "ring", "scheduler", "store/archive", "web/*"},
		"it reads what others keep, for people, and changes nothing; how members are reached is node's",
	},
	{
		[]string{"node/access"}, []string{"clusterkey", "crawl", "node/datadir"},
		"it judges callers by the cluster's key and records what they change; what they may do is the API's",
	},
	{
		[]string{"node/rotation"}, []string{"clusterkey", "crawl", "membership", "node/datadir", "node/fanout", "store/files"},
		"it replaces the cluster's key step by step; gossip and connections follow through functions that node gives it",
	},
	{
		[]string{"node/spread"}, []string{"config", "crawl", "membership", "node/crawldoc", "node/datadir", "peer", "store/scopeset"},
		"it makes the crawl document and the scope entries the same on all members; what a new document means is node's",
	},
	{
		[]string{"node/status"}, []string{"crawl", "node/crawldoc"},
		"pure: it makes a document of what the nodes have said, and knows neither disk, network nor clock",
	},
	{
		[]string{"node/judge"}, []string{"crawl", "frontier", "frontier/layout", "recrawl", "recrawl/claims", "recrawl/estimate", "recrawl/policy"},
		"it joins the pure recrawl to the frontier's writes; the price reaches it as a function, and it keeps nothing",
	},
	{
		[]string{"node/indexer"}, []string{"crawl", "frontier", "frontier/texts", "importance", "node/fanout", "pipeline", "store/files", "store/search", "web/maintext", "web/urlnorm", "ticks"},
		"it brings documents into the node's index and asks those of all nodes; calls and rules are functions that it is given",
	},
	{
		[]string{"node/rendering"}, []string{"crawl", "node/dispatch", "peer", "pipeline", "ring", "web/htmlparse", "web/render", "web/render/decide", "web/scope", "web/urlnorm"},
		"it shows pages to the browser and has what they ask for fetched in the hosts' turns; who holds a host is a function that it is given",
	},
	{
		[]string{"node/ranking"}, []string{"crawl", "frontier", "frontier/cash", "frontier/commit", "frontier/layout", "frontier/order", "handoff", "importance", "peer", "web/urlnorm", "ticks"},
		"it carries credits between partitions; what they are worth is package importance's",
	},
	{
		[]string{"node/links"}, []string{"crawl", "frontier", "handoff", "peer", "pipeline", "ring", "ticks", "web/normalize", "web/scope", "web/urlnorm"},
		"it carries links between the frontier and the peers; views, settings and the other ends of a page reach it through interfaces that it declares",
	},
	{
		[]string{"node/sinks"}, []string{"crawl", "node/datadir", "store/derived", "store/derived/follow", "store/files", "store/sink"},
		"it joins the list of pages to the sinks; where a sink is, and what a page is, is not its concern",
	},
	{
		[]string{"node/leases"}, nil,
		"a pure core: it decides which worker has which URLs, and knows neither the clock nor what a visit is",
	},
	{
		[]string{"node/workers"}, []string{"crawl", "node/fanout", "node/leases", "pipeline", "ring", "web/urlnorm"},
		"it joins leases to the dispatcher and the pipeline, through interfaces; who holds what, and the way to other nodes, are functions that it is given",
	},
	{
		[]string{"node/tracing"}, []string{"crawl", "frontier", "node/links", "peer", "pipeline", "web/scope", "web/urlnorm"},
		"it decorates interfaces that others declare, and decides nothing",
	},
	{
		[]string{"node/transfer"}, []string{"crawl", "frontier", "frontier/storage", "handoff", "membership", "node/datadir", "peer"},
		"it joins handoff to the frontier and to peers; what a move means for fetching is node's",
	},
	{
		[]string{"node/dispatch"}, []string{"crawl", "dnscache", "fairshare", "frontier", "peer", "retry", "ring", "scheduler", "web/robots", "web/urlnorm", "ticks"},
		"it joins scheduler, frontier and resolver; the lease, the view, the moves and the way to peers reach it as hooks and orders",
	},
	{
		[]string{"node/orders"}, []string{"crawl", "node/fanout"},
		"operators' orders that end nodes; how they travel and what ends is node's",
	},
	{
		[]string{"node/drain"}, []string{"crawl", "frontier", "handoff", "membership"},
		"it takes the steps by which a node leaves; who asks for them, and what ends the process, is node's",
	},
	{
		[]string{"node/datadir"}, []string{"store/files"},
		"it knows files and the disk below them; what is in them is its users'",
	},
	{
		[]string{"node/disk"}, []string{"node/datadir", "store/files", "ticks"},
		"it watches the disks under a data directory; what a full or a dead one means for the crawl is node's",
	},
	{
		[]string{"node/network"}, []string{"config", "dnscache", "door", "frontier/storage", "membership", "node/datadir"},
		"it binds addresses and holds what a simulation puts in the place of sockets and clocks; it serves nothing",
	},
	{
		[]string{"node/egress"}, []string{"config", "crawl", "dnscache", "membership", "web/fetcher"},
		"it judges addresses by flags, settings and peers, and connects to none",
	},
	{
		[]string{"node/outputs"}, []string{"config", "crawl", "frontier", "node/datadir", "node/disk", "node/uploads", "pipeline", "store/archive", "store/derived", "store/files", "store/upload", "web/htmlparse"},
		"it joins the stores of the archive and of derived files to the pipeline and to the disk's room",
	},
	{
		[]string{"node/events"}, []string{"crawl", "membership", "node/crawldoc", "store/archive"},
		"it remembers what happened, for people, and causes nothing",
	},
	{
		[]string{"node/given"}, []string{"config", "crawl", "node/crawldoc"},
		"it compares flags with the crawl document; who starts a node and what follows from a difference is not its concern",
	},
	{
		[]string{"node/revisits"}, []string{"crawl", "frontier", "frontier/layout", "node/judge", "recrawl", "recrawl/estimate", "recrawl/policy"},
		"it joins the pure policy of revisits to the frontier; members and settings are functions that it is given",
	},
	{
		[]string{"node/heartbeat"}, []string{"crawl", "membership", "peer"},
		"it carries what members say of themselves; what that means for views and leases is membership's",
	},
	{
		[]string{"node/report"}, []string{"config", "crawl", "dnscache", "frontier", "frontier/storage", "handoff", "membership", "metrics", "scheduler", "web/scope",
			"node/breadth", "node/changes", "node/contents", "node/crawldoc", "node/datadir", "node/disk", "node/dispatch", "node/egress", "node/finish", "node/heartbeat", "node/leases", "node/links", "node/outputs", "node/resources", "node/revisits", "node/sinks", "node/status", "node/transfer", "node/uploads", "peer"},
		"it reads every part of a node for its status and its metrics, and changes none",
	},
	{
		[]string{"node"}, []string{"node/*", "web/*", "crawl", "ticks", "ring", "scheduler", "store/*", "frontier", "frontier/storage", "membership", "handoff",
			"fairshare", "pipeline", "config", "peer", "door", "dnscache", "metrics", "clusterkey"},
		"the composition root wires the packages; what shows it to people stands above it",
	},
	{
		[]string{"cli/remote"}, []string{"api/client", "api/plaintext", "cli/command", "config", "crawl", "node", "node/datadir", "node/ended", "node/keyfile"},
		"how a verb reaches a node, or what one has left; what it asks is the verb's part",
	},
	{
		[]string{"cli/lists"}, []string{"api/client", "api/plaintext", "api/urllist", "cli/command", "cli/remote", "crawl"},
		"lists, from a cluster or from the data directories of nodes that do not run",
	},
	{
		[]string{"cli/searchverb"}, []string{"api/client", "api/plaintext", "cli/command", "cli/remote", "crawl", "node/datadir", "node/indexer", "store/archive", "store/readback", "store/search", "web/htmlparse", "web/urlnorm"},
		"it asks a node through the API, or an index that no node uses, which it makes of archives",
	},
	{
		[]string{"cli/worker"}, []string{"api/client", "cli/command", "cli/remote", "crawl", "web/fetcher", "web/htmlparse", "web/simhash", "web/urlnorm"},
		"a worker of a cluster: it knows the cluster through the client alone",
	},
	{
		[]string{"cli/recrawl"}, []string{"api/client", "api/urllist", "cli/command", "cli/remote", "cli/seedlist", "crawl"},
		"it reads a list and hands back what it read, through the API alone",
	},
	{
		[]string{"cli/stop"}, []string{"api/client", "api/plaintext", "cli/command", "cli/remote", "crawl", "node/datadir"},
		"it gives the order and waits; what ends how is the node's part",
	},
	{
		[]string{"cli/command"}, []string{"api/plaintext", "config", "crawl", "web/scope", "web/urlnorm"},
		"what all verbs share; it knows no verb and no node",
	},
	{
		[]string{"cli/process"}, []string{"api/client", "cli/command"},
		"it starts this program again and waits for it; what runs there is not linked in",
	},
	{
		[]string{"cli/codes"}, []string{"api/codes", "cli/command", "crawl"},
		"a table and a verb; its test holds it against the codes that the program has",
	},
	{
		[]string{"cli/pagefiles"}, []string{"api/client", "api/plaintext", "cli/command", "crawl", "node/crawldoc", "store/archive", "store/files", "store/mirror", "store/readback", "web/normalize"},
		"it reads archives, through a node or from a folder, and writes what package mirror makes of them",
	},
	{
		[]string{"cli/export"}, []string{"api/client", "api/plaintext", "cli/command", "cli/pagefiles", "cli/remote", "crawl", "store/archive", "store/newest", "store/readback", "store/s3test", "store/table", "store/upload", "store/wacz", "web/htmlparse", "web/urlnorm"},
		"its verbs read archives, through a node or from folders, and write them in the forms of others",
	},
	{
		[]string{"cli/replay"}, []string{"api/client", "api/plaintext", "cli/command", "cli/remote", "crawl", "store/archive", "store/newest", "store/readback", "store/wacz", "web/htmlparse", "web/rewrite", "web/urlnorm"},
		"a server of its own for archived pages, which a node must not be",
	},
	{
		[]string{"cli/graph"}, []string{"api/plaintext", "cli/command", "importance/pagerank", "store/files", "store/linkgraph"},
		"it computes from files, without a node",
	},
	{
		[]string{"cli/focus"}, []string{"api/plaintext", "cli/command", "config", "crawl", "focus", "store/archive", "store/readback", "web/htmlparse", "web/urlnorm"},
		"it reads pages from files and learns from them, without a node",
	},
	{
		[]string{"cli/warcfiles"}, []string{"api/plaintext", "cli/command", "crawl", "store/archive"},
		"it reads files, and neither asks nor starts a node",
	},
	{
		[]string{"cli/help"}, []string{"cli/codes", "cli/command", "config"},
		"made from the parser's model; it knows no verb but its own",
	},
	{
		[]string{"cli/bench"}, []string{"api/client", "cli/command", "cli/process", "crawl", "simweb"},
		"it looks at nodes from outside: they are processes, reached through the API",
	},
	{
		[]string{"cli/demo"}, []string{"api/client", "cli/command", "cli/process", "crawl", "simweb", "web/render"},
		"it looks at nodes from outside, as cli/bench; of web/render it uses the search for a browser",
	},
	{
		[]string{"cli/doctor"}, []string{"api/client", "api/plaintext", "cli/command", "config", "crawl", "node/keyfile", "node/network", "node/preflight"},
		"it checks what a node would find, and starts none",
	},
	{
		[]string{"cli/seedlist"}, []string{"api", "api/plaintext", "cli/command", "crawl", "node/preflight"},
		"it reads and checks what a person gives; handing it to a node is the verbs' part",
	},
	{
		[]string{"cli/mistakes"}, []string{"cli/help", "config"},
		"it knows the command line and its texts; it prints and runs nothing",
	},
	{
		[]string{"cli/seedwatch"}, []string{"api/plaintext", "cli/seedlist", "crawl", "web/urlnorm"},
		"it reads a node's reports; what follows is done by the verb",
	},
	{
		[]string{"cli/givenup"}, []string{"api/plaintext", "crawl", "frontier/offline", "node/datadir"},
		"the crawl verb tells what was given up when its node has ended, so it reads the directory",
	},
	{
		[]string{"cli"}, []string{"api", "api/client", "api/urlfrontier", "api/plaintext", "cli/*", "config", "crawl", "node", "node/keyfile", "store/readback", "store/s3test"},
		"what a person types and reads; the engine's packages are reached through node and the API",
	},
	{
		[]string{"cmd/crawlnode"}, []string{"cli"},
		"the command holds no logic",
	},
	{
		[]string{"integration", "integration/simnet", "integration/heldcalls", "integration/scale", "integration/linkrank", "integration/mutants", "integration/searchquality", "integration/structure"}, []string{"*", "*/*", "api/urlfrontier/wire"},
		"the tests of the whole may use everything",
	},
}

// forTests are the packages that any package's tests may import beside its
// row: judges and fakes that know nothing of the package under test (the store in memory
// is one), and urlnorm, because the nouns hold canonical URLs and nobody else can make one.
// A package's tests may also import the packages below it.
var forTests = []string{"simweb", "integration/simnet", "integration/heldcalls", "web/urlnorm", "frontier/storage", "frontier/frontiertest"}

// source is one parsed Go file of the project.
type source struct {
	path  string // slash-separated, from the root
	dir   string
	test  bool
	file  *ast.File
	fset  *token.FileSet
	lines int
}

// sources are all Go files below the root. They are parsed once, for all tests: none may change them.
func sources(t *testing.T) []*source {
	t.Helper()
	all, err := parsedOnce()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var parsedOnce = sync.OnceValues(func() (all []*source, err error) {
	err = fs.WalkDir(os.DirFS("."), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && p != "." && (name == "testdata" || name == "bin" || name[0] == '.' || name[0] == '_') {
			return fs.SkipDir
		}
		if _, err := os.Stat(filepath.Join(filepath.FromSlash(p), "go.mod")); err == nil && d.IsDir() && p != "." {
			return fs.SkipDir // a module of its own
		}
		if d.IsDir() || !strings.HasSuffix(p, ".go") {
			return nil
		}
		text, err := os.ReadFile(filepath.FromSlash(p))
		if err != nil {
			return err
		}
		s, err := parse(p, string(text))
		all = append(all, s)
		return err
	})
	return all, err
})

// parsed parses the text of one file.
func parsed(t *testing.T, p, text string) *source {
	t.Helper()
	s, err := parse(p, text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func parse(p, text string) (*source, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, p, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	return &source{
		path: p, dir: path.Dir(p), test: strings.HasSuffix(p, "_test.go"), file: file, fset: fset,
		lines: strings.Count(text, "\n"),
	}, nil
}

// rowOf finds the row of a package. A package of test helpers, named like its
// room with "test" behind (frontier/frontiertest), has its room's row.
func rowOf(dir string) (row rule, ok bool) {
	for _, r := range table {
		for _, p := range r.packages {
			if p == dir || dir == p+"/"+path.Base(p)+"test" {
				return r, true
			}
		}
	}
	return rule{}, false
}

// judge says why the package in dir may not import target, or nothing.
func judge(dir, target string, test bool) string {
	row, ok := rowOf(dir)
	if !ok {
		return fmt.Sprintf("package %s has no row in the import table of root_test.go: give it one, here and in docs/architecture.md", dir)
	}
	for _, may := range row.may {
		// Match fails for a malformed pattern only, and the table has none.
		if ok, _ := path.Match(may, target); ok {
			return ""
		}
	}
	if room := path.Dir(target); test && target == room+"/"+path.Base(room)+"test" && room != dir {
		return judge(dir, room, test) // a package's helpers come with the package
	}
	helper := strings.HasPrefix(dir, target+"/") && strings.HasSuffix(dir, "test")
	if dir == target || helper || test && (slices.Contains(forTests, target) || strings.HasPrefix(target, dir+"/")) {
		return ""
	}
	may := "nothing of the project"
	if len(row.may) > 0 {
		may = strings.Join(row.may, ", ")
	}
	return fmt.Sprintf("%s must not import %s. It may import %s, because it is %s", dir, target, may, row.why)
}

func TestImportTable(t *testing.T) {
	for _, s := range sources(t) {
		if s.dir == "." {
			continue
		}
		for _, spec := range s.file.Imports {
			p, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			target, ok := strings.CutPrefix(p, module+"/")
			if !ok {
				continue
			}
			if why := judge(s.dir, target, s.test); why != "" {
				t.Errorf("%s: %s", s.fset.Position(spec.Pos()), why)
			}
		}
	}
}

var rewrite = flag.Bool("rewrite", false, "write the import table into docs/architecture.md")

// documented is the import table as docs/architecture.md has it.
func documented() string {
	var b strings.Builder
	b.WriteString("| package | may import |\n|---|---|\n")
	for _, r := range table {
		may := strings.Join(r.may, ", ")
		switch may {
		case "":
			may = "nothing of the project"
		case "*, */*":
			may = "everything"
		}
		fmt.Fprintf(&b, "| %s | %s |\n", strings.Join(r.packages, ", "), may)
	}
	return b.String()
}

// TestImportTableIsDocumented: docs/architecture.md has the table of this file.
func TestImportTableIsDocumented(t *testing.T) {
	raw, err := os.ReadFile(architecture)
	if err != nil {
		t.Fatal(err)
	}
	const head = "\n| package | may import |\n"
	before, rest, found := strings.Cut(string(raw), head)
	rows, after, ended := strings.Cut(rest, "\n\n")
	if !found || !ended {
		t.Fatalf("%s has no import table", architecture)
	}
	if *rewrite {
		if err := os.WriteFile(architecture, []byte(before+"\n"+documented()+"\n"+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	real := strings.Split(strings.TrimSuffix(documented(), "\n"), "\n")[1:]
	if written := strings.Split(rows, "\n"); !slices.Equal(written, real) {
		differ(t, "the import table", written, real)
		t.Error("its rows differ from root_test.go: go test . -run TestImportTableIsDocumented -rewrite")
	}
}

// The rules themselves: what the table forbids is found, with the reason.
func TestImportTableForbids(t *testing.T) {
	for _, c := range []struct {
		dir, target string
		test, ok    bool
	}{
		{"web/urlnorm", "crawl", false, false},
		{"web/fetcher", "web/urlnorm", false, true},
		{"web/fetcher", "simweb", false, false},
		{"web/fetcher", "simweb", true, true},
		{"frontier", "membership", false, false},
		{"frontier/frontiertest", "frontier", false, true},
		{"frontier", "frontier/frontiertest", true, true},
		{"frontier", "frontier/frontiertest", false, false},
		{"node", "frontier/frontiertest", true, true},
		{"pipeline", "frontier/frontiertest", true, false},
		{"pipeline", "web/robots", false, true},
		{"node", "api", false, false},
		{"cmd/crawlnode", "node", false, false},
		{"integration", "store/archive", true, true},
		{"util", "crawl", false, false},
	} {
		if why := judge(c.dir, c.target, c.test); (why == "") != c.ok {
			t.Errorf("%s -> %s (test %v): %q", c.dir, c.target, c.test, why)
		}
	}
}

func TestEveryPackageExplainsItself(t *testing.T) {
	explained := map[string]bool{}
	for _, s := range sources(t) {
		if s.dir == "." || s.test {
			continue
		}
		explained[s.dir] = explained[s.dir] || false
		if path.Base(s.path) != "doc.go" {
			continue
		}
		opening := "Package " + s.file.Name.Name + " "
		if s.file.Name.Name == "main" {
			opening = "Command " + path.Base(s.dir) + " "
		}
		if !strings.HasPrefix(s.file.Doc.Text(), opening) {
			t.Errorf("%s: the package comment must begin with %q", s.path, opening)
		}
		explained[s.dir] = true
	}
	for dir, ok := range explained {
		if !ok {
			t.Errorf("%s has no doc.go: say there what the package is for, the life of its thing, its queues, and what it does not do", dir)
		}
	}
}

// TestNoConflictMarkers: no text of the tree holds what a merge leaves behind.
func TestNoConflictMarkers(t *testing.T) {
	t.Parallel()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "bin" || d.Name() == "node_modules" || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if !slices.Contains([]string{".go", ".md", ".txt", ".yaml", ".yml", ".proto", ".html", ".css", ".js"}, filepath.Ext(path)) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(text), "\n") {
			if strings.HasPrefix(line, "<<<<"+"<<< ") || strings.HasPrefix(line, ">>>>"+">>> ") {
				t.Errorf("%s:%d: %s", path, i+1, line)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
