// Package node composes one crawlnode process: it builds the parts, starts and ends their
// goroutines, and connects the parts with each other. The parts are the folders beside this one
// and a few packages below it; no other package knows both the engine and the cluster.
//
// # The parts
//
//	            cli, api                       people and programs
//	               │
//	             node                          this package
//	    ┌──────────┼─────────────────┐
//	the engine     │ capabilities    the cluster
//	pipeline       │ recrawl         membership  ring
//	links          │ importance      handoff
//	scheduler      │ search  render  peer
//	frontier       │ workers  output
//	web dnscache   │ settings  security  status
//	               └ crawl (nouns), local (this machine), metrics, config
//
// The engine knows no cluster, the cluster knows no web; neither imports the other, except where a
// package exists to connect them (handoff/transfer, links, importance). A part declares what it
// needs of others, as an interface or as a function in its Options, and this package provides it.
// Adapters are named after the part that calls them: linkPeers are the peers as package links sees
// them.
//
//	package               what it does                                         fitted in by
//	finish                the end of the crawl; page permits                   finish.go
//	documents             pages of files that are none, such as PDF                    documents.go
//	handoff/transfer      partitions that come and go                          transfer.go
//	importance            credits between partitions; ranks                    ranking.go
//	links                 where a URL goes; when a page is done                links.go
//	links/contents        payloads and texts that were seen anywhere           dispatch.go
//	local/datadir, disk   the data directory; room and answers of the disks    open.go, status.go
//	local/resources       heap, processor time                                 open.go, status.go
//	membership/heartbeat  what members report each second                      heartbeat.go
//	output                archive and derived files, their uploads             open.go, dispatch.go
//	output/sink           sends results to other systems                       open.go, run.go
//	output/webhooks       sends events to other systems                        webhooks.go, run.go
//	recrawl               when known pages are visited again                   revisits.go
//	render                pages that a browser shows                           rendering.go
//	scheduler             which host is visited next; the right to fetch       dispatch.go
//	scheduler/breadth     how many pages are fetched at a time                 status.go, dispatch.go
//	scheduler/turns       spaces requests to one address over all nodes        addresses.go
//	search                the index of this node, and queries to all           index.go
//	security/access       authenticates callers of the API; audit log          access.go
//	security/egress       which addresses the crawl may connect to             open.go, dispatch.go
//	security/rotation     the cluster's key is replaced                        rotation.go
//	security/secrets      the file of --secrets, and cookie files              secrets.go
//	settings/crawldoc     the crawl document; flags of this start beside it    open.go, run.go
//	settings/spread       document and scope entries on all members            spread.go
//	status, status/report the status document; what this node says of itself   status.go
//	status/changes        the last change of members                           cluster.go
//	status/events         the list of what happened                            cluster.go, status.go
//	status/inspect        questions about one URL, one host, lists, archives   inspect.go
//	workers               leases URLs to programs that fetch pages             workers.go
//
// Below this package are: drain (how a node leaves), orders (operators' orders that end nodes),
// network (listeners; a simulation's network), tracing (traces of URLs) and preflight (what a start
// would meet, for the verbs).
//
// Calls of other members arrive at handler, which has one method for each, in the file of the part
// that serves it; serve.go has the list. Operators' orders to nodes are in operators.go.
//
// # From start to end
//
// Open locks the data directory, binds the addresses and opens everything on disk. Nothing runs yet
// and no node is called. Run starts the membership, waits for the first view that lists this boot
// (lead), then makes the engine: dispatcher, completer and handoff driver need the number of
// partitions, which a joining node learns from that view. A node fetches nothing before it has
// taken over the cluster's document (joinCrawl).
//
// While the node runs, three loops pass the state of the cluster to the parts: followViews (a view
// is passed to handoff only when membership has said whether it needs the full fence; a node that
// was excluded loses its permits and asks for the document again), scheduler.FollowLease (without a
// lease all fetches end at once), and measure (totals, disk, heap, the end of a change of members).
//
// Run returns when all parts have ended, in this order: the fetchers, then everything that calls
// peers, the listener for other nodes, last the frontier's writer. So nothing that was acknowledged
// is still on its way when the files are closed, and a node that finds the port closed may take
// over. A write that a dead disk does not complete cannot be cancelled, so a stop by an operator
// does not wait for it (lastcall.go).
//
// # The life of a URL
//
//	seed or link ─ urlnorm ─ scope ─ ring.PartitionOf ─┬─ held here: frontier.Add
//	                               else: peer.Forward ─┴─ the holder's frontier.Add
//	frontier ─ scheduler ─ pipeline: DNS, robots, GET, parse, archive, derive ─ links.Completer
//	Completer: foreign links to their holders (at most 500 ms), then frontier.Complete:
//	        record, queue entry, own links, unacknowledged links to the outbox, in one transaction
//
// A link is therefore always on a page that is not completed, in an outbox, or in its owner's
// store. Complete is the only arrow that points back.
//
// # Who may fetch
//
// The dispatcher calls mayFetch before each visit. The pipeline checks again when a request is
// written: Dispatcher.MayRequest calls mayFetch, and checks that the visit was not withdrawn and
// that it is this node's turn to request the address. mayFetch returns true if the crawl runs, the
// lease is valid, the view lists this boot, and the partition was acquired after this id last
// joined. The holder of an address's partition gives out the turns for all nodes; the right to do
// so (mayKeep) does not depend on whether this node crawls.
//
// # A changed document
//
// documentChanged acts on each new crawl document: the dispatcher pauses or resumes, the permits
// follow a new page limit, events record the change, and the next heartbeat is sent at once. A
// longer gap applies from the next request of each host on; after a change of the scope, queued
// URLs are judged again before they are fetched.
//
// # Queues
//
// Every queue is bounded. Each line has: bound; what happens when it is full; from when on its
// contents survive a crash. "Not needed" means that lost contents are requested again, or still
// queued.
//
// Between the frontier and the workers:
//
//	due pages                on disk, by time; as many queued as are fetched in 2 s, 1,024; always
//	frontier requests        the waiting callers; they block; durable when answered
//	queues of the dispatcher see package scheduler; callers block; always in the frontier
//	hosts in memory          20,000; others wait in the wake index; always in the frontier
//	hosts over their share   hosts in memory, until a visit of their domain is completed; always
//	items of a host          64; no more are loaded; always in the frontier
//	names to resolve         hosts in memory; 64 look-ups, fewer if a server limits us; not needed
//	queries of a server      64 or its window; look-ups wait or ask the next server; not needed
//	robots fetches           1,024, 16 of a host, answers of 16 MiB; asked again; not needed
//	pages for the browser    8 a renderer, half of the fetchers; their hosts wait; not needed
//	documents to read        8; the fetcher that brought one more waits; not needed
//	parts of those pages     1,024, 64 of a host, answers of --memory / 16; refused; not needed
//	copies to delete         256 MiB; no copy begins to arrive; always in the frontier
//
// From a fetch to the disk:
//
//	visits                   --fetchers, or as package breadth decides; hosts wait; not needed
//	pages to parse           32 a processor and those in flight; no fetch begins; not needed
//	slow pages (100 ms)      --fetchers, an eighth if others wait; their domain waits; not needed
//	payloads over 256 KiB    --memory / 4; fetches wait; not needed
//	links to be judged       those pages, for 2 s; they go into the outbox; always in the frontier
//	indexes to sort          4 files; the next file waits; always (the .open file)
//	documents to index       the disk; 1,000 or 8 MiB are read at a time; always in the frontier
//	derived lines            1 MiB an output; the caller compresses it; each second, and at a kill
//
// To other members:
//
//	summaries of revisits    the newest of each member, 278 bytes; replaced; not needed
//	links to one peer        256 pieces of 1,000, and 1,000 links; the outbox; acknowledged
//	outbox                   the disk; low disk pauses the crawl; always in the frontier
//	logs, outboxes of cash   the disk; folded after 1,500 pages or 30 s, sent each second; always
//	sent cache               262,144 links; the oldest are forgotten; not needed
//	incoming link batches    one a stream; the sender waits; when acknowledged
//	questions, notes         4,096 of each a peer, calls of 500; stored whole; not needed
//	payloads being stored    65,536, for 5 s; stored whole; not needed
//	turns of addresses       65,536 messages; the next are lost; not needed
//	heartbeats, clocks       one call a peer and kind; skipped; not needed
//	scope entries            256 KiB a call, one call a member; they wait on disk; the answer
//
// Partitions that move or are copied:
//
//	handoff inbox            256 events; callers block; each step before its event
//	copies to make           partitions, 4 large and 16 small at once; not needed
//	copies to ask for        partitions, each once; not needed
//	mutations for a replica  64 MiB, 8 groups in flight; hints are kept; the replica's answer
//	mutations during a copy  16 MiB, 4 if small; the copy begins again; the replica's commit
//	hints                    --catch-up, 16 GiB, 1/8 of what is free; a whole copy; see 0356
//	waiting for replicas     the callers, 0.5 to 10 s; not needed
//
// People, operators, strangers:
//
//	files to upload          the disk; low disk pauses the crawl; always, a part begins again
//	results for sinks        the lists of pages; the disk's limits; always, the last 500 come again
//	spans of traces          8,192; the next are lost; not needed
//	events for webhooks      100,000, 64 MiB of disk; the oldest are lost, counted; always
//	events                   1,000; the oldest are forgotten; not needed
//	questions to the index   8 asked, 16 calls answered; they wait a second, then 503; not needed
//	top hosts                5 orders of 100, for 1 s; not needed
//	pages of lists           2 are read at a time, 4 lists streamed; callers wait; asked for again
//	a new cluster key        one; a second one is refused; before it is in effect
//	connections with an old identity  one a peer and change, 6 s; not needed
//	strangers' connections   128 HTTP, 64 RPC, 64 gossip; the busiest address loses its oldest
//	gossip streams           4 MiB each, 8 in all; the largest is closed
//	gossip packets           500 a second and sender, 5,000 in all; dropped
//
// Loops without a signal poll: heartbeats, the outbox, and the fetchers' load for revisits every 1
// s, rounds at the end every 250 ms, the sync to disk every 1 s. Requests for a commit are
// collected for 10 ms, questions about contents for 15 ms, both for longer with more members
// (decision 0247).
package node
