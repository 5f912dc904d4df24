// Package node is one crawlnode process: it builds all parts, owns every
// goroutine, and carries URLs between them. It is the only room that knows both
// the web side and the cluster side. This page is the map of the whole.
//
// # The rooms
//
//	            cli, api                       people and programs
//	               │
//	             node                          this package
//	    ┌──────────┼───────────────┐
//	the engine     │          the cluster
//	pipeline       │          membership  ring
//	scheduler      │          handoff
//	frontier       │          peer
//	store/*        │
//	web/* dnscache │
//	               └ crawl (nouns), metrics, clusterkey, config
//
// The engine knows no cluster, the cluster knows no web; neither imports the
// other. What one needs of the other it declares as an interface, and the files
// of this package and the packages below it fill it: package dispatch (scheduler and frontier to
// pipeline), package links (pipeline to frontier and peers), package transfer (handoff to frontier and
// peer), serve.go (peer to all). The packages below this one each do one job of the
// node, and have a page of their own: access, contents, crawldoc, datadir, dispatch, finish, inspect, links, rotation, spread, status, transfer.
//
// # The life of a URL
//
//	seed or link ─ urlnorm ─ scope ─ ring.PartitionOf ─┬─ held here: frontier.Add
//	                                                   └─ else: peer.Forward to the holder ─ its frontier.Add
//	frontier ─ dispatcher ─ pipeline: DNS, robots, GET, parse, archive, derive ─ links.Completer
//	Completer: foreign links to their holders (at most 500 ms), then frontier.Complete:
//	        record, queue entry, own links, unacknowledged links to the outbox, in one transaction
//
// A link is therefore always behind a leased page, in an outbox, or in its
// owner's store. Complete is the only arrow that points back.
//
// A robots.txt that redirects to another host is fetched by who holds that host
// (package dispatch), as one visit in its turn; who wants it asks every second.
//
// # Who holds what
//
// membership decides numbered views; ring makes each view's table of owners;
// handoff moves partitions until every owner is the holder. Members tell each
// other every second, and at once after each move, what they hold (peers.go):
// links go to who says that it holds the partition, else to its owner. A node
// that gets a link for a partition that it does not hold says so, and the link
// stays with the sender.
//
// # The crawl document
//
// Settings, the crawl's state and the end of it are one small document
// (package crawldoc) of which the newest version wins everywhere; scope entries are a
// set that only grows, kept on disk as logs (store/scopeset). Package spread sends both
// to all members, and exchanges what a member missed after a renewal that showed a
// difference. Seeds wait until a majority has their entries, and no caller waits
// for a member that is silent. A node fetches nothing before it has, in its own
// boot, what at least half of the others have. It refuses no link for want of an entry
// while it may lack entries, or has heard from no member of some
// majority for two seconds: such a link waits in the outbox of its page, which is done,
// and is judged there (package links); a link of another node is answered "later".
//
// # The cluster's key
//
// While the cluster goes from one key to another (package rotation) every node first accepts
// both, then uses the new one, then refuses the old one.
//
// # Goroutines and queues
//
// Run starts everything and returns when all has ended. First stop the fetchers,
// then those who call peers, last the frontier's writer, so that nothing that
// was acknowledged is still on its way when the files close.
//
//	queue                     filled by                emptied by             bound               when full                   durable when
//	frontier requests         every changing call      frontier.Run           waiting callers     callers block               answered
//	queues of the dispatcher  workers, frontier,       Dispatcher.Run         package dispatch    callers block               not needed: the frontier has it
//	                          views, resolver
//	hosts in memory           dispatcher               visits, eviction       20,000 hosts        hosts wait in the wake index  always (frontier)
//	hosts held back           ready, over the share    a settled visit, time  hosts in memory     -                           always (frontier)
//	                          of their domain
//	names to ask for          hosts without address    64 look-ups, fewer     hosts in memory     -                           not needed
//	                                                   if the servers limit us
//	queries of a name server  look-ups                 its answers            64, or its window   look-ups wait, or ask       not needed
//	                                                                                              the next server
//	items of a host           loads                    visits                 64                  no more are loaded          always (frontier)
//	visits                    dispatcher               pipeline workers       --fetchers          hosts wait                  not needed
//	pages to read             fetches                  parser and archive     32 a processor,     no fetch begins             not needed: still queued
//	                                                                          + those in flight
//	pages that take the       fetches                  parser, after others   --fetchers; beside  no fetch of their domain    not needed: still queued
//	parser 100 ms                                                             others an eighth    begins
//	indexes to sort           a finished file          the archive's sorter   4                   the file's turn waits       always (.open file)
//	derived lines             parsed pages             Outputs, when 1 MiB    1 MiB an output     who adds compresses it      once a second; a killed
//	                                                   waits, or a checkpoint                     and the others wait         process loses none
//	payloads over 256 KiB     fetches                  the page is settled    --memory / 4        fetches wait                not needed
//	robots.txt files for      RobotsFile, peers        a visit of the host    1,024, 16 of a host,  who asks asks again         not needed: asked for again
//	other hosts                                                               answers of 16 MiB
//	links to one peer         package links            peer link stream       256 pieces of       ErrBusy: the outbox         acknowledged by the holder
//	                                                                          1,000 links, and
//	                                                                          1,000 that gather
//	questions and notes about Seen, Settle             contents's batcher     4,096 of each a peer, not asked: stored whole  not needed
//	contents for one peer                                                     a call of 500
//	payloads being stored     who asks first           a note, 5 s            65,536              not promised: stored whole  not needed
//	outbox                    links.Completer          links.Sender           the disk            low disk pauses the crawl   always (frontier)
//	incoming link batches     peers                    frontier.Add           one a stream        the sender waits            acknowledged
//	mutations for a replica   frontier.Run             handoff, its stream    64 MiB a replica,   hints are kept              acknowledged by the replica
//	                                                                          8 groups in flight
//	mutations of a partition  frontier.Run             when the copy is made  16 MiB, small: 4    the copy begins again       at the replica's commit
//	that is being copied
//	copies to delete          imports, Delete          frontier's sweep       256 MiB             no copy begins to arrive     always (frontier)
//	what a silent replica     links that were          its next link, age     256 MiB on disk,    the oldest goes: a whole    not needed: a whole copy
//	has missed                given up                                        64 MiB in memory    copy is made
//	copies to make            views                    handoff's copiers      partitions          4 large, 16 small at once   not needed
//	callers that wait for     Add                      replicas' answers      the callers         they wait, 0.5 to 10 s      not needed
//	replicas
//	copies to ask for         promotions              handoff's work loop    partitions          each is in it once          not needed: asked again
//	handoff inbox             links, calls, views      handoff.Driver.Run     256 events          callers block               each step before its event
//	a new cluster key         nodes rotate-key         rotation               one                    a second one is refused  before it is in effect
//	connections of an old     Pool.Renew               time, 6 s              one a peer and change  -                        not needed
//	identity
//	sent cache                acknowledged links       age                    262,144 links       old ones are forgotten      not needed
//	top hosts                 who looks at them        age, 1 s               5 orders, 100 each  -                           not needed
//	events for people         views, documents,        age                    1,000               the oldest are forgotten    not needed
//	                          status, seeds
//	strangers' connections    the listeners            trust, the end         128 HTTP, 64 RPC, 64     the oldest of the           not needed
//	                                                                          gossip                busiest address is closed
//	bytes of gossip streams   other nodes, strangers   the end of the stream  4 MiB each, 8 in all  the largest is closed       not needed
//	gossip packets            anybody, judged first    memberlist             500 a second and      dropped                     not needed
//	                                                                          sender, 5,000 in all
//	renewals                  one a second and peer    the call               one a peer          skipped                     not needed
//	scope entries for a       who adds or stores them  its exchange           256 KiB a call,     they wait on disk           the member's answer
//	member                                                                    one call a member
//	links to be judged        fetched pages            entries that were      those pages, 2 s    they go into the outbox     always (frontier)
//	                                                   heard of arrive
//	readings of clocks        one each 250 ms          the call               one a peer          skipped                     not needed
//
// Times to the next look that nobody tells of: renewals 1 s, outbox 1 s, rounds
// at the end 250 ms, sync to disk 1 s. Commits, and questions about contents, gather
// for 10 ms (decision 0163).
//
// # The end
//
// Package finish ends the crawl: after two rounds in which every member of a view is idle,
// with the same boots and the same activity, or by a limit. It also keeps the page permits
// (--max-pages), which the holder of partition 0 grants. ending.go fits it to the rest.
//
// A disk that does not answer (progress.go) ends the lease; what waits for it cannot be
// called back, so an end that was asked for does not wait for it either (lastcall.go).
//
// # What people see and order
//
// A node's block (status.go) is what it says of itself each second; the status is
// the sum of the last blocks, made and judged by package status: pure code, so that
// each step of a failure is a row of a table in the tests. A member is suspect
// after two seconds of silence, serves nothing after three or without a lease,
// and has failed when a view went on without it. A change of members (cluster.go)
// is over when every partition is served again; the log then says in one line
// what it came to. Orders (operators.go) go to any member: a drain travels to the
// node that it is for, forgetting is membership's, pause, resume and stop change
// the crawl document.
//
// Settings are changed the same way (package spread): a change is made on top of
// whatever document is the newest, and again when another one has won meanwhile. A
// gap that grew holds from the next request of each host on (package dispatch), a
// page limit that was set or lowered has the permits counted anew (package finish), and
// once the scope has changed what is queued is judged again before it is fetched.
//
// Questions about one URL, one host, the first hosts in an order, partitions, changes and archives are answered
// by package inspect, on any node; inspect.go fits it to the rest.
//
// What happened is kept as a list of events (events.go): views and documents tell of
// what they change, and once a second the status is held against the one before.
// Nothing of a page's trip takes part in that.
//
// # Who may fetch, and what is promised
//
// The dispatcher asks before each visit, the fetcher again at each request's
// write (mayFetch): the crawl runs, the lease is good, the view lists this boot,
// and the partition was acquired since this id last joined. A view goes to
// handoff only when membership has told whether it needs the full fence. A node
// that was excluded loses its page permits, and hears document and scope again
// before it judges or fetches anything.
//
// A link is acknowledged, to a peer or to who adds seeds, when the partition's
// in-sync replicas have it (package links), in the tenure in which it was
// stored. A batch of links is answered when its last partition is, at the latest
// after 3.5 s, and batches of one peer in order: a replica that falls silent holds
// the links of others up until its links are given up, 3 s later; from then on those
// that need its word are refused at once. Before a page is done its
// links to other partitions are acknowledged, those that are held here as well,
// or they stand in the page's outbox. Its links to its own partition
// are in its own mutation, so a replica has both or neither.
package node
