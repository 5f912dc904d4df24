package codes

// Kind is where a code is printed.
type Kind string

// The kinds, in the order of docs/codes.md.
const (
	Health    Kind = "health reason"
	Exit      Kind = "exit code"
	Finish    Kind = "end of a crawl"
	Fetch     Kind = "error category"
	Skip      Kind = "skip reason"
	Limit     Kind = "bottleneck"
	Crawl     Kind = "state of a crawl"
	Cluster   Kind = "state of a cluster"
	Level     Kind = "level of health"
	Member    Kind = "state of a node"
	Change    Kind = "change of members"
	Host      Kind = "state of a host"
	URL       Kind = "state of a URL"
	Wall      Kind = "bot wall"
	Cut       Kind = "cut of a body"
	Found     Kind = "way to a URL"
	Robots    Kind = "robots verdict"
	Partition Kind = "state of a partition"
	Event     Kind = "event"
	Weight    Kind = "weight of an event"
	Showing   Kind = "decision of a browser"
	Result    Kind = "result of a worker"
	Role      Kind = "role"
	Outcome   Kind = "outcome of a request"
	Step      Kind = "step of a new key"
	Removed   Kind = "answer to a removal"
)

// Group says where the codes of a kind are seen.
type Group struct {
	Kind   Kind
	Prefix string // of their anchors in docs/codes.md
	Title  string
	Where  string
	// States need nobody to do anything: a code of them has a meaning, and no causes and remedy.
	States bool
}

// Groups are the kinds in their order.
var Groups = []Group{
	{Health, "", "Health reasons", "`cluster.health.reasons` in `/status`, the dashboard, `crawlnode status`. Critical: work stands still or may be lost.", false},
	{Exit, "exit-", "Exit codes", "The number with which a command ends.", false},
	{Finish, "finish-", "Ends of a crawl", "`crawl.finish_reason` in `/status`, and the last lines of `crawlnode crawl`: why a crawl has ended.", false},
	{Fetch, "fetch-", "Error categories", "`fetch.errors_by_category` and `fetch.given_up_by_reason` in `/status`: fetches that failed.", false},
	{Skip, "skip-", "Skip reasons", "`fetch.skipped_by_reason` in `/status` and the log of skipped URLs: URLs that were found and are not fetched.", false},
	{Limit, "bottleneck-", "Bottlenecks", "`bottleneck.cause` in `/status`: the main limit of the crawl's speed.", false},
	{Crawl, "crawl-", "States of a crawl", "`crawl.state` in `/status`.", true},
	{Cluster, "cluster-", "States of a cluster", "`cluster.state` in `/status`.", true},
	{Level, "level-", "Levels of health", "`cluster.health.level` in `/status`: that of the worst reason.", true},
	{Member, "node-", "States of a node", "`nodes[].state` in `/status`, and `crawlnode nodes list`.", true},
	{Change, "change-", "Changes of members", "`ring.last_change.cause` in `/status`.", true},
	{Host, "host-", "States of a host", "`crawlnode hosts show` and the dashboard.", true},
	{URL, "url-", "States of a URL", "`crawlnode urls list`, `crawlnode urls why`, the dashboard and `/api/v1/analysis/url`.", true},
	{Cut, "cut-", "Bodies that are not whole", "`WARC-Truncated` in the archive, and `crawlnode cat`: why the end of a body is missing.", true},
	{Wall, "wall-", "Bot walls", "`wall` of a URL, and `walls` of a host: the product whose challenge or block page came in place of a page. `crawlnode explain hosts_block_us` says what to do.", true},
	{Found, "via-", "Ways to a URL", "`via` of a URL: how it was found.", true},
	{Robots, "verdict-", "Robots verdicts", "What a host's robots.txt says, in `crawlnode urls why` and `crawlnode hosts show`.", true},
	{Partition, "partition-", "States of a partition", "`/api/v1/ring` and the dashboard's page *Ring*.", true},
	{Event, "event-", "Events", "`code` of an event, at `/api/v1/events` and in the dashboard.", true},
	{Weight, "event-level-", "Weights of events", "`level` of an event.", true},
	{Showing, "page-", "Pages and browsers", "`decided` of a page, with `--render`: whether it is shown to a browser.", true},
	{Result, "result-", "Results of workers", "`status` of a result that a worker hands in.", true},
	{Outcome, "outcome-", "Outcomes of requests", "`kind` in the log and in traces: what came of one request.", true},
	{Step, "key-", "Steps of a new key", "What `crawlnode nodes rotate-key` waits for.", true},
	{Removed, "removal-", "Answers to a removal", "`urls[].state` of `/api/v1/seeds/remove`, and `crawlnode seeds remove`.", true},
	{Role, "role-", "Roles", "What a token allows: `crawlnode tokens`, and the record of changes.", true},
}

// Entry explains one code.
type Entry struct {
	Kind    Kind
	Code    string
	Meaning string // what it says; "" for exit codes, which the command line explains
	Causes  string // what leads to it
	Do      string // what to do
}

// Entries are all codes, those of a kind together.
var Entries = []Entry{
	{Health, "paused_minority", "Critical. A node has no lease and fetches nothing.",
		"It reaches fewer than half of the members of its view: its network is cut, " +
			"or too many members are down at once.",
		"One node only: repair its network. Several: start the members that are down. " +
			"Members that will never come back: `crawlnode nodes forget NODE`."},
	{Health, "waits_for_members",
		"Critical. A restarted node waits, because too few members of its last view answer.",
		"The other members are down, moved to other addresses, or cannot be reached from here.",
		"Start the members that the message names. When they have moved, " +
			"give one of their addresses with `--join`."},
	{Health, "offline", "Critical. Some partitions have no copy that may be used.",
		"All nodes with their copies are down, or the copies at hand are damaged, " +
			"or may be older than those of nodes that are down. The `reason` of each partition in `GET " +
			"/api/v1/ring` shows which.",
		"Start the nodes that the reason or the message names. `docs/operations.md` has a table of the " +
			"reasons (Offline partitions). Only when nodes are gone for good: " +
			"`crawlnode nodes forget NODE`. If no copy is left then, " +
			"the URLs of those partitions are lost."},
	{Health, "partitions_unserved",
		"Critical. Nobody fetches the hosts of some partitions, and that will not end by itself.",
		"A member neither answers nor is known to be dead: a stopped process, a frozen machine, " +
			"a full one.",
		"Start or end the members that the message names."},
	{Health, "low_disk", "Critical. A node does not fetch, because a volume has less than 128 MiB " +
		"free, or that of the data directory has inodes for fewer than 512 more files; " +
		"or it does not store what it fetches, because the volume of its archive takes nothing.",
		"The archive or other files have filled the volume; or its quota is used up, " +
			"or it has no inodes left (`df -i`): then the message says how much is free all the same.",
		"Move finished files out of `warc/` and `derived/` (those without `.open`), or allow more. " +
			"The node resumes at 256 MiB free and 1,024 more files, or when the volume takes what waits. " +
			"`docs/operations.md` has a chapter about it."},
	{Health, "disk_full",
		"Critical, beside `low_disk`. A node stores nothing new; seeds are answered with 503.",
		"Less than 64 MiB are free, or inodes for fewer than 256 more files, " +
			"on the volume of the data directory; or the volume of the archive takes nothing, " +
			"and pages cannot be done before their records.",
		"As for `low_disk`. Hand-overs still work, so the node can be drained: " +
			"`crawlnode nodes drain NODE`. Partitions with pages that wait for their records stay until " +
			"there is space."},
	{Health, "disk_stalled", "Critical. The disk of a node has not answered for some seconds.",
		"A frozen file system, a hanging network volume, a dying disk.",
		"Look at the kernel's log and at the volume. The node resumes by itself; " +
			"the others take its hosts over meanwhile."},
	{Health, "dns_down", "Critical. No name server answers a node.",
		"The resolver is down, or its address is wrong, or port 53 is blocked.",
		"Check `--dns`, or `/etc/resolv.conf` when it is not set. No URL is given up meanwhile."},
	{Health, "keeper_silent",
		"Warning. Hosts wait because nobody says whose turn it is to request their addresses.",
		"The node that holds the address's partition cannot be reached from here, has no lease, " +
			"or nobody holds it: `--ip-delay` is kept over the whole cluster, " +
			"so there is no request without its word.",
		"Look at `crawlnode status` for nodes that are silent and partitions that nobody serves, " +
			"and repair the network between the nodes. With `ip-delay=0` addresses are not spaced, " +
			"and do not wait."},
	{Health, "trap",
		"Warning. A site makes pages without end, as a calendar with a link to the next month does.",
		"Behind the first 48 pages of the site, at least 24 of one kind of URL brought hardly any new " +
			"words, sequences of words or pictures, and no page of that kind does any more. " +
			"Links to them wait behind all others, and `--max-suspicious-per-host` bounds them.",
		"Leave them out with the `--exclude` that the message names; " +
			"the command in it does so at once. Pages that are wanted all the same: leave it, " +
			"or raise the bound."},
	{Health, "insecure", "Warning. A node listens beyond loopback without a cluster key.",
		"It was started with `--insecure`.",
		"Make a key with `crawlnode keygen` and start each node with `--cluster-key-file`."},
	{Health, "join_address_silent", "Warning. Nobody answers at an address of `--join`.",
		"The node there is down, or the address is wrong, or a firewall drops packets.",
		"Check the address and the gossip port (TCP and UDP). The node keeps trying."},
	{Health, "join_address_wrong", "Warning. Something else answers at an address of `--join`.",
		"Another program, another cluster, another key, " +
			"or the HTTP or RPC port instead of the gossip port.",
		"Correct the address: it is the one of `--gossip`, 27296 by default."},
	{Health, "not_admitted",
		"Warning. A node is not admitted to the cluster, although its members answer it.",
		"They cannot call it: its `--advertise` is wrong, or a firewall or NAT stands before its RPC " +
			"port. Or its name belongs to a member that is down.",
		"Start it with an `--advertise` that leads to it from the other machines, " +
			"and open the ports of `--gossip` and `--rpc` there. `crawlnode status` at a member says what " +
			"that one sees."},
	{Health, "calls_unanswered",
		"Warning. A node calls the others, and none of their calls to it are answered.",
		"Its `--advertise` is wrong, or a firewall or NAT stands before its RPC port. " +
			"It is not admitted; a member gets no partitions and gives none away.",
		"Correct the `--advertise` of the node that the message names, or open the port; " +
			"or stop that node."},
	{Health, "scope_behind", "Warning. A node cannot get the scope entries that another node has.",
		"The other node is down or slow.",
		"Start the node that the message names. Links outside the known scope wait meanwhile."},
	{Health, "taking_over", "Warning. Nobody fetches the hosts of some partitions for a moment.",
		"A node failed, and its lease has not run out yet.",
		"Nothing. It ends within seconds, or becomes `partitions_unserved`."},
	{Health, "node_failed", "Warning. A member failed and is not back.",
		"Its process or its machine ended.",
		"Start it again with the same command. When it will never come back: " +
			"`crawlnode nodes forget NODE`."},
	{Health, "under_replicated",
		"Warning. Some partitions have fewer copies than `--replication` asks for.",
		"A node is down, or copies are on their way to a new node.",
		"Wait while `repair` in `/status` advances. Otherwise start the missing node, or add one."},
	{Health, "partitions_stuck",
		"Warning. Some partitions have not moved for 30 s although they should.",
		"The other node is slow or cannot be reached, or its disk is full. The message gives the reason.",
		"Repair what the message names. Restarting the node that it names is safe."},
	{Health, "partitions_lost", "Warning. Some partitions began again, empty.",
		"A node was forgotten that had their only copies.",
		"Add the seeds of those hosts again. Adding all seeds again is harmless."},
	{Health, "domain_fails", "Warning. Most hosts of a domain fail or are too slow, " +
		"so they get a small share of look-ups and fetchers.",
		"Names that do not resolve, servers that send a few bytes a second, a crawler trap.",
		"Nothing, or leave the domain out: `crawlnode crawl-config set 'exclude=host:*.DOMAIN'`."},
	{Health, "copies_not_deleted", "Warning. Copies that are not used any more stay on a node's disk.",
		"The node cannot ask their owners, or its disk is full.",
		"Start the members that are down. The copies cost disk and nothing else."},
	{Health, "revisits_overdue", "Warning. Known pages that are due have waited for long.",
		"More visits are planned than the nodes, or a host's delay, allow: " +
			"short intervals with `--recrawl fixed`, a `--recrawl-min` that is too short, " +
			"nodes that are down.",
		"A longer `--recrawl-interval`, `--recrawl adaptive` (it plans what can be fetched), " +
			"a larger `--recrawl-share`, or more nodes."},
	{Health, "sink_fails", "Warning. A sink of `--sink` has taken no results for a minute.",
		"Its server is down or not reachable, or refuses: no such topic, no stream for the subject, " +
			"no permission, a full disk.",
		"Mend what the message says. Nothing is lost and the crawl goes on: " +
			"the results wait in the lists of pages on the node's disk, " +
			"and are sent when the sink takes them."},
	{Health, "webhook_fails",
		"Warning. A receiver of `--webhook` has taken no event for a minute, " +
			"or events cannot be stored for it.",
		"It is down or not reachable, its certificate is not valid, it answers with another status " +
			"than 2xx, or it answers after more than 15 s. Without the secret `webhook` in the file of " +
			"`--secrets` nothing is sent either.",
		"Mend what the message says. Nothing is lost and the crawl goes on: " +
			"the events wait in `webhooks` of the node's data directory, up to 100,000 or 64 MiB, " +
			"and are sent in order when the receiver takes them. See [webhooks.md](webhooks.md)."},
	{Health, "webhook_full",
		"Warning. Events were lost in the last hour before a receiver of `--webhook` took them.",
		"It was away for so long that more than 100,000 events or 64 MiB waited, " +
			"or the disk took no events for long. The oldest were removed.",
		"Bring the receiver back, or restart the node without that `--webhook`. " +
			"What was lost cannot be had again; `/status` has the state of now."},
	{Health, "upload_fails",
		"Warning. The object store of `--upload` has refused a file for a minute.",
		"It is down or not reachable, or refuses: no such bucket, a wrong key, no permission to write, " +
			"a full store, another object under that name.",
		"Mend what the message says. Nothing is lost and the crawl goes on: " +
			"the files wait on the node's disk, are tried again every 30 seconds, " +
			"and no file is removed that the store has not got whole. When the disk is nearly full, " +
			"fetching pauses (`low_disk`)."},
	{Health, "index_fails",
		"Warning. A node cannot write its index (`--index on`), so a search does not find the " +
			"newest pages.",
		"The volume of the data directory's `index/` is full or read-only, or a file there is damaged.",
		"Mend what the message says. Nothing is lost and the crawl goes on: " +
			"the texts are in the frontier, and the index catches up by itself. " +
			"A damaged index can be removed while the node does not run: it is made again."},
	{Health, "no_browser", "Warning. The crawl shows pages to a browser (`--render`), " +
		"and a node has none, or one that does not start: it takes pages as they were fetched.",
		"Chromium is not installed there or lacks libraries, or `--browser` names something else.",
		"Install `chromium-headless-shell` or `chromium` there, or name one with `--browser`, " +
			"and restart the node. Or `crawlnode crawl-config set render=off`."},
	{Health, "browser_no_sandbox", "Warning. The browser of a node runs without its sandbox.",
		"The node runs as root, and Chromium refuses its sandbox then.",
		"Run the node as another user. See [rendering.md](rendering.md#how-to-run-it-safely)."},
	{Health, "bot_key_differs", "Critical. A node fetches nothing, " +
		"because the other nodes sign their requests with another `--bot-key` or name another " +
		"`--bot-agent`, or it or they sign none.",
		"It was started without the flags, or with another file or address. " +
			"Nodes agree when their files have a key in common. The node that differs from most waits; " +
			"of two the one that signs nothing, then the one that started last.",
		"Restart the node that the message names with the `--bot-key` and `--bot-agent` of the others. " +
			"Nothing is lost: its hosts wait. See [let-in.md](let-in.md#several-nodes)."},
	{Health, "hosts_block_us",
		"Warning. Hosts answer with bot walls, and are left alone for a day at a time.",
		"Of the last ten answers of each, eight or more were walls: a challenge, a captcha, " +
			"or a page that says that the visitor is a robot. Such a page is archived, " +
			"and neither indexed nor followed.",
		"The dashboard lists them at `/hosts?sort=backoff`. Sign the requests (`--bot-key`) " +
			"and register the key with the network before the site; crawl slower (`--delay`); " +
			"ask the site's owner to let the crawl in; or give up: " +
			"`crawlnode crawl-config set exclude=...`. See [operations.md](operations.md#closed-doors)."},
	{Health, "secret_missing",
		"Warning. A node lacks a secret that a rule for sites names, " +
			"and the hosts of the rule wait there.",
		"The rules are the cluster's; the secrets stand in a file on each node. " +
			"This node was started without `--secrets`, or its file has no line of that name, " +
			"or another spelling of it.",
		"Add the line `NAME=VALUE` to the file of `--secrets` on the node that the message names, " +
			"and send it SIGHUP. A node without the flag needs a restart, " +
			"or the key `secrets` in its `--config` file before SIGHUP. Nothing is lost: the hosts wait. " +
			"See [security.md](security.md#secrets-of-a-node)."},
	{Health, "proxy_failing", "Warning. A proxy that a rule for sites names does not work for a node.",
		"It is down or not reachable from that node, refuses the user and password, " +
			"or refuses to connect. The message has its last error.",
		"Start it, correct the secret that the rule names for it, or give the rule another proxy: " +
			"`crawlnode crawl-config set sites=@FILE`. Nothing is lost: hosts without another proxy wait, " +
			"and no failure counts against them."},
	{Health, "source_address_missing",
		"Warning. A rule for sites names a source address that a node's machine does not have.",
		"Source addresses are those of one machine, and the rules are the cluster's. " +
			"Or the network was changed.",
		"Give the machine that address, or take it out of the rule: " +
			"`crawlnode crawl-config set sites=@FILE`. The hosts wait meanwhile."},
	{Health, "addresses_refused", "Warning. A node fetches nothing from addresses that the crawl's " +
		"`allow-net` has. Its own URLs there fail with `blocked_address`, those of other nodes do not.",
		"The node was started without `--allow-net`, which opens its own and its peers' addresses on " +
			"that node alone; the founder had it. On one machine all of loopback is such an address.",
		"If they are meant to be crawled, start that node with the `--allow-net` that the message " +
			"names. If a page only links there, nothing: the warning ends an hour after the last try. " +
			"See [operations.md](operations.md#addresses)."},

	{Exit, "0", "", "The work is done, or a limit that you set was reached.", "Nothing."},
	{Exit, "1", "", "An error without a code of its own. The last lines on standard error say which: no node answers at `--addr`, for example. `crawl`: no seed could be fetched, or the servers answered without a page; a line for each says why.", "Do what the last line says."},
	{Exit, "2", "", "A flag, a setting, the configuration file or a seed list is wrong, or a file or folder that is to be read is not there. Each mistake is named.", "Correct what is named. `crawlnode VERB --help` lists the flags."},
	{Exit, "3", "", "The data directory cannot be used, or the disk failed: permissions, another process in it, a newer data format, an I/O error.", "Do what the last line says. The same command resumes."},
	{Exit, "4", "", "The cluster refuses this node (other key, other cluster, other release), or the order is refused.", "Check `--addr` and `--join`. `crawlnode doctor` with the flags of the node finds most causes."},
	{Exit, "5", "", "SIGINT or SIGTERM came before the crawl's end.", "Run the same command again: it resumes."},
	{Exit, "6", "", "A volume has too little space.", "Make room, or choose another `--data-dir`, then run the same command again."},
	{Exit, "130", "", "A second SIGINT or SIGTERM ended the process at once.", "Run the same command again: it resumes."},

	{Finish, "frontier_exhausted",
		"Every URL that the crawl found and may fetch was fetched, given up or skipped.",
		"The scope is done. Or it is too narrow, robots.txt forbids the rest, " +
			"or the seeds have no links that a reader of HTML sees.",
		"Nothing, if it is all that you want. More: other seeds, a wider `--scope`, " +
			"`--render auto` for pages that scripts make; `crawl --again` fetches the seeds once more."},
	{Finish, "max_pages", "The crawl has had its `--max-pages`.",
		"The limit that you set. What is left stays in the queue.",
		"`crawlnode crawl-config set max-pages=N` on running nodes, " +
			"or `crawl` with a higher `--max-pages`: it goes on from there."},
	{Finish, "max_duration", "The crawl has run for its `--max-duration`.",
		"The limit that you set. What is left stays in the queue.",
		"`crawlnode crawl-config set max-duration=D` on running nodes, " +
			"or `crawl` with a longer `--max-duration`: it goes on from there."},
	{Finish, "stopped", "A person has ended the crawl.", "`crawlnode stop`, *Stop the crawl* in the dashboard, or the API.", "New seeds start it again; the queue is kept."},

	{Fetch, "dns", "The host's name could not be resolved.", "The name does not exist, or its name servers fail.", "Check the name with `crawlnode hosts show HOST`. When no name resolves, see `dns_down`."},
	{Fetch, "connect", "No connection came about.", "The server is down or refuses connections, or a firewall drops them.", "Nothing: the host is tried again at growing distances. All hosts at once: check this machine's network."},
	{Fetch, "tls", "TLS failed.", "The certificate is expired, self-signed, or of another name, or the server speaks no common version.", "`--tls-verify record` goes on with a bad certificate and records it; it also takes RSA key exchange, old ciphers and TLS 1.0 and 1.1."},
	{Fetch, "timeout", "The server did not answer in time, or too slowly.", "An overloaded or distant server, or one that drips.", "Nothing: it is tried again later."},
	{Fetch, "protocol", "The answer is not valid HTTP.", "Something else listens on that port, or a proxy damages the answer.", "Look at the URL: `crawlnode urls why URL`."},
	{Fetch, "truncated",
		"A page is not whole: its server ended it early, a limit of time did, or `--max-body`.",
		"The connection broke, or the server is slow.",
		"Nothing: what came is archived, marked (`WARC-Truncated`), and its links are followed. " +
			"A page of which nothing came is tried again."},
	{Fetch, "blocked_address", "The crawl must not connect to the host's address.", "The name resolves to a private, link-local or reserved address, or to one of `--deny-net`; or no contact is set for public ones.", "To crawl a private network: `--allow-net CIDR` on each node. `docs/security.md` says what can never be allowed."},
	{Fetch, "other", "The fetch failed for another reason.", "See the URL.", "`crawlnode urls why URL` gives the reason."},
	{Fetch, "proxy", "No proxy of the site's rule worked, so the site was not asked.",
		"The proxy is down, does not take its user and password, or refuses the site.",
		"Its URLs stay queued, and the host waits until a proxy may be tried again. " +
			"`crawlnode hosts show HOST` has the last reason. Mend the proxy, or the rule."},
	{Fetch, "rate_limited",
		"The host went on asking for fewer requests (429 or 503), so a URL was given up.",
		"The site allows fewer requests than the crawl makes, or is overloaded.",
		"A longer `--delay` for it; ask the site's owner. `crawlnode hosts show HOST` has the last " +
			"answers."},
	{Fetch, "blocked", "The host went on answering with a bot wall, so a URL was given up.",
		"The site, or a service before it, keeps robots out: with a challenge, a captcha or a refusal. " +
			"`wall` names the product.",
		"As for `hosts_block_us`. A wall is never passed; its answers are in the archive."},

	{Skip, "out_of_scope", "The URL is outside the crawl's scope.", "`--scope`, `--include` or `--exclude`.", "`crawlnode scope test URL` names the rule that decided."},
	{Skip, "robots", "The host's robots.txt forbids it.", "A rule for this user agent or for `*`.", "Ask the site's owner. `crawlnode urls why URL` names the rule."},
	{Skip, "depth", "It is more links away from a seed than `--max-depth`.", "The limit that you set.", "`crawlnode crawl-config set max-depth=N` raises it."},
	{Skip, "trap", "It looks like part of an endless series.", "Repeated path segments, calendars, sessions in the path.", "When the pages matter, add them as seeds."},
	{Skip, "too_long", "The URL is longer than the limit.", "Most often a trap or a broken template.", "Nothing."},
	{Skip, "host_budget", "The host has had its `--max-pages-per-host`, or its `--max-suspicious-per-host` of URLs that look like a trap.", "The limit that you set, or a site that makes pages without end.", "`crawlnode crawl-config set max-pages-per-host=N`, or `max-suspicious-per-host=N`, raises it."},
	{Skip, "scheme", "The link is no http or https URL.", "mailto:, javascript:, tel:, data: and the like.", "Nothing."},
	{Skip, "invalid", "The link is no valid URL.", "A broken page.", "Nothing."},
	{Skip, "focus", "The page fits the topic less than --focus-min allows.", "The crawl has a topic model (--focus), which judges pages by their text.", "Lower it with crawl-config set focus-min=N, or train a model that knows such pages."},
	{Skip, "nofollow", "The page asks that its links are not followed.", "A robots meta tag or an X-Robots-Tag header.", "Nothing: it is the site's wish."},

	{Limit, "politeness", "All hosts wait for their delay.", "Few hosts, or long delays: one host gives one page for each delay.", "More hosts, or a smaller `--delay` where the owner agrees."},
	{Limit, "fetchers", "All fetchers wait for servers, or a domain has used its share of them; with `--fetch off`: hosts wait for a worker.", "Slow servers, or many hosts; no worker, or too few.", "Raise `--fetchers`; start workers (`crawlnode worker`)."},
	{Limit, "cpu", "The processors are busy.", "Pages come faster than they are read.", "More nodes, or fewer outputs (`--derive`)."},
	{Limit, "dns", "Hosts wait for name servers.", "The name servers are slow, or limit this machine.", "Name servers nearby with `--dns`."},
	{Limit, "disk", "Commits wait for the disk, or there is too little space.", "A slow or full volume.", "A faster disk, space, or no `--sync`."},
	{Limit, "handoff", "Partitions move to other nodes.", "A node has come or gone.", "Nothing: it passes."},
	{Limit, "nothing_due",
		"Every known page was fetched, and none is due for its next visit. The crawl is `waiting`.",
		"`--recrawl` is on, and there is more capacity than the settings use.",
		"Nothing: the next visit is at `freshness.next_due_at`. More work: " +
			"a shorter `--recrawl-interval` or `--recrawl-min`, more seeds, or `crawlnode urls recrawl`. " +
			"An end: `crawlnode stop`, or `--recrawl off`."},
	{Limit, "index", "The processors are busy, and many pages wait for the index.", "Pages come faster than they are indexed (`--index on`).", "More nodes or processors; the index catches up when the crawl is slower. Without it: `crawlnode crawl-config set index=off`."},
	{Limit, "render", "Pages wait for a browser.", "More pages are fetched to be shown (`--render`) than the browsers can show.", "Raise `--renderers` while processors are idle, render fewer pages (`--render auto`, `--render-match`), or add nodes."},
	{Limit, "none", "Nothing limits the crawl.", "The fetchers keep up, or nothing is queued.", "Nothing."},

	{Crawl, "idle", "No seed has been added yet.", "", ""},
	{Crawl, "running", "URLs are queued, being fetched, or being sent to the node of their host.", "", ""},
	{Crawl, "waiting", "Every known URL was fetched; the crawl waits until a page is due for its next visit.", "", ""},
	{Crawl, "paused", "A person has paused the crawl. Open requests end, and no new one begins. `crawlnode resume` resumes it.", "", ""},
	{Crawl, "finished", "The crawl has ended; the reason stands beside it. New seeds start it again.", "", ""},

	{Cluster, "joining", "The answering node looks for its cluster, and crawls once it is a member.", "", ""},
	{Cluster, "running", "The members serve the partitions that they hold.", "", ""},
	{Cluster, "rebalancing", "Partitions move to other nodes, or are taken over from one that has failed. The rest is crawled meanwhile.", "", ""},
	{Cluster, "paused", "A person has paused the crawl.", "", ""},
	{Cluster, "paused_minority", "The answering node cannot reach a majority of the members, and fetches nothing.", "", ""},
	{Cluster, "draining", "The answering node hands its partitions to the others and leaves.", "", ""},
	{Cluster, "finished", "The crawl has ended on every node.", "", ""},
	{Cluster, "stopped", "No node runs: the answer was read from data directories.", "", ""},

	{Level, "ok", "Nothing needs attention.", "", ""},
	{Level, "warn", "Something needs attention; the crawl goes on.", "", ""},
	{Level, "critical", "Work has stopped somewhere, or may be lost.", "", ""},

	{Member, "alive", "It reports every second.", "", ""},
	{Member, "suspect", "It has not reported for two seconds. It fetches nothing once its lease has ended.", "", ""},
	{Member, "draining", "It hands its partitions to the others and leaves.", "", ""},
	{Member, "left", "It has left after handing over, or was declared gone (`crawlnode nodes forget`).", "", ""},
	{Member, "failed", "It was excluded after it fell silent; the others have its partitions, or take them over.", "", ""},
	{Member, "stopped", "It does not run: its data directory was read.", "", ""},

	{Change, "join", "A node has become a member.", "", ""},
	{Change, "leave", "A member has handed over and left.", "", ""},
	{Change, "failed", "A member fell silent and was excluded.", "", ""},

	{Host, "idle", "Nothing is queued.", "", ""},
	{Host, "parked", "Its URLs are on disk until there is room in memory.", "", ""},
	{Host, "loading", "Its URLs are being read from disk, its address is being looked up, or what was fetched is being read or shown.", "", ""},
	{Host, "waiting", "Its delay since the last request has not passed.", "", ""},
	{Host, "ready", "It may be requested now.", "", ""},
	{Host, "in_flight", "A request is open. There is never a second one.", "", ""},
	{Host, "backoff", "It asked for fewer requests, or failed: it waits longer than its delay.", "", ""},
	{Host, "frozen", "It failed too often, and is tried again much later.", "", ""},
	{Host, "held", "Its partition is about to move to another node.", "", ""},
	{Host, "over_share", "It is ready, and its domain or block of addresses has used its share of the fetchers.", "", ""},

	{URL, "unknown", "It was never found.", "", ""},
	{URL, "queued", "It waits for a fetch.", "", ""},
	{URL, "done", "It was fetched, with whatever status.", "", ""},
	{URL, "failed", "It was given up after its last try.", "", ""},
	{URL, "skipped", "robots.txt, a budget or a changed scope refused it in its turn.", "", ""},
	{URL, "broken",
		"Asked for in a list: a link that leads nowhere. Its URL was given up, or answered 4xx or 5xx.",
		"", ""},
	{URL, "refused", "The same as `skipped`, in its record.", "", ""},
	{URL, "pending", "The same as `queued`, in the words of the analysis.", "", ""},
	{URL, "fetched", "The same as `done`, in the words of the analysis.", "", ""},
	{URL, "error", "The same as `failed`, in the words of the analysis.", "", ""},
	{URL, "blocked", "robots.txt, a budget or the scope refuses it, in the words of the analysis.", "", ""},
	{URL, "host_dead",
		"Its host was given up: it did not answer while the crawl waited, or asks to be left alone.",
		"", ""},
	{URL, "redirects_to_itself",
		"It was fetched, and its redirect leads to itself: no cookie of it would change the next answer.",
		"", ""},

	{Cut, "length", "It is longer than `--max-body`, on the wire or decoded.", "", ""},
	{Cut, "time", "A limit of time ended it.", "", ""},
	{Cut, "disconnect", "The server ended it early, or sent what cannot be read further.", "", ""},

	{Wall, "other", "A bot wall of no known product, or of one that a later release knows.", "", ""},
	{Wall, "cloudflare", "A challenge or block page of Cloudflare.", "", ""},
	{Wall, "akamai", "A challenge or block page of Akamai.", "", ""},
	{Wall, "imperva", "A challenge or block page of Imperva, formerly Incapsula.", "", ""},
	{Wall, "datadome", "A challenge of DataDome.", "", ""},
	{Wall, "human", "A challenge of HUMAN, formerly PerimeterX.", "", ""},
	{Wall, "aws-waf", "A challenge or block page of Amazon's web application firewall.", "", ""},
	{Wall, "anubis", "The proof of work of Anubis.", "", ""},
	{Wall, "sucuri", "A challenge or block page of Sucuri.", "", ""},
	{Wall, "kasada", "A challenge of Kasada.", "", ""},
	{Wall, "f5", "A challenge or block page of F5.", "", ""},
	{Wall, "fastly", "A challenge or block page of Fastly.", "", ""},
	{Wall, "vercel", "A challenge of Vercel.", "", ""},
	{Wall, "reblaze", "A challenge of Reblaze.", "", ""},
	{Wall, "radware", "A challenge or block page of Radware.", "", ""},
	{Wall, "ddos-guard", "A challenge of DDoS-Guard.", "", ""},
	{Wall, "qrator", "A block page of Qrator.", "", ""},
	{Wall, "stackpath", "A challenge or block page of StackPath.", "", ""},
	{Wall, "barracuda", "A block page of Barracuda.", "", ""},
	{Wall, "wordfence", "A block page of Wordfence, a plugin of WordPress.", "", ""},
	{Wall, "go-away", "The challenge of go-away.", "", ""},
	{Wall, "azure", "A challenge or block page of Microsoft Azure.", "", ""},
	{Wall, "fortiweb", "A block page of FortiWeb.", "", ""},
	{Wall, "imunify360", "A challenge of Imunify360.", "", ""},
	{Wall, "distil", "A challenge of Distil Networks.", "", ""},
	{Wall, "arvancloud", "A challenge of ArvanCloud.", "", ""},

	{Found, "link", "A page links to it.", "", ""},
	{Found, "seed", "A person gave it.", "", ""},
	{Found, "redirect", "Another URL redirects to it.", "", ""},
	{Found, "sitemap", "A sitemap or a feed lists it.", "", ""},
	{Found, "asset", "A page needs it: an image, a style sheet, a script (`--assets`).", "", ""},
	{Found, "sitemap_file", "It is itself a sitemap, or may be one.", "", ""},
	{Found, "robots", "The robots.txt of another host redirects to it.", "", ""},
	{Found, "guess", "A person gave it without a scheme: https is tried, then http.", "", ""},
	{Found, "part", "A page in a browser asked for it (`--render`).", "", ""},
	{Found, "guest", "It is a URL of another crawl, for a client of the URLFrontier protocol.", "", ""},

	{Robots, "rules", "robots.txt has rules, which decide for each URL.", "", ""},
	{Robots, "allow_all", "robots.txt allows everything, or there is none.", "", ""},
	{Robots, "deny_all", "robots.txt cannot be had, so nothing of the host is fetched.", "", ""},
	{Robots, "allowed", "robots.txt allows it.", "", ""},
	{Robots, "forbidden", "robots.txt forbids it.", "", ""},
	{Robots, "unreachable", "robots.txt cannot be had, so nothing of the host is fetched.", "", ""},
	{Robots, "unknown", "robots.txt was not read yet, or the node that would know did not answer.", "", ""},

	{Partition, "held", "A node holds it and fetches its hosts.", "", ""},
	{Partition, "moving", "A node holds it, and it is to move to its owner.", "", ""},
	{Partition, "frozen", "It is about to move, or was just given away: nothing of it is fetched.", "", ""},
	{Partition, "promoting", "No node holds it; its owner is about to take it over.", "", ""},
	{Partition, "offline", "The nodes with usable copies are away.", "", ""},
	{Partition, "unknown", "No node that answers holds it.", "", ""},

	{Event, "node_joined", "A node has become a member, or has come back as a new process.", "", ""},
	{Event, "node_placed", "A node has another weight or zone, so partitions and copies move.", "", ""},
	{Event, "node_draining", "A node has begun to hand its partitions over.", "", ""},
	{Event, "node_left", "A node has left after handing over.", "", ""},
	{Event, "node_failed", "A node was excluded after it fell silent.", "", ""},
	{Event, "partitions_served", "After a change of members every partition is served again.", "", ""},
	{Event, "handoff_began", "Partitions have begun to move to other nodes.", "", ""},
	{Event, "handoff_ended", "Every partition is with its owner.", "", ""},
	{Event, "crawl_started", "The crawl has begun with its first seeds, or again with new ones.", "", ""},
	{Event, "crawl_paused", "A person has paused the crawl.", "", ""},
	{Event, "crawl_resumed", "A person has resumed the crawl.", "", ""},
	{Event, "crawl_finished", "The crawl has ended; the reason is among the fields.", "", ""},
	{Event, "settings_changed", "A person has changed settings of the crawl.", "", ""},
	{Event, "seeds_added", "A node has taken seeds.", "", ""},
	{Event, "store_damaged", "The store of a node had lost data, and is rebuilt from the copies on other nodes.", "", ""},
	{Event, "archive_repaired", "An archive file that a crash had left open is whole again.", "", ""},
	{Event, "trap_found", "A site makes pages without end; the message has the `--exclude` to use.", "", ""},
	{Event, "trouble", "A health reason has begun; the fields name it.", "", ""},
	{Event, "trouble_over", "A health reason has ended.", "", ""},

	{Weight, "info", "Something happened that needs nobody.", "", ""},
	{Weight, "warn", "It may need attention.", "", ""},
	{Weight, "error", "Something does not work while it lasts.", "", ""},

	{Showing, "rendered", "The page is shown to a browser: its text and its links are those after its scripts.", "", ""},
	{Showing, "plain", "The page is taken as the server sent it.", "", ""},

	{Result, "success", "The host has answered, with whatever status.", "", ""},
	{Result, "error", "The host has not answered, or not with a whole answer.", "", ""},
	{Result, "postponed", "There is no answer, and the client wants the URL again at a date.", "", ""},

	{Outcome, "fetched", "The host has answered with a page, of whatever status.", "", ""},
	{Outcome, "robots_fetched", "The host's robots.txt was fetched; the page is next.", "", ""},
	{Outcome, "refused", "robots.txt, a budget or the scope refuses the URL: no request was made.", "", ""},
	{Outcome, "url_failed", "The request for this URL failed; the host is well.", "", ""},
	{Outcome, "rate_limited", "The host asked for fewer requests (429 or 503), and waits.", "", ""},
	{Outcome, "host_failed", "The host cannot be reached, and waits.", "", ""},
	{Outcome, "aborted", "The node ended the request itself: it stops, or lost its right to fetch. The URL stays queued.", "", ""},
	{Outcome, "robots_pending", "robots.txt cannot be had yet. The URL stays queued.", "", ""},
	{Outcome, "blocked", "The crawl must not connect to the host's address.", "", ""},
	{Outcome, "lost", "A connection that was kept open had ended. The URL stays queued, and a new connection is made.", "", ""},

	{Step, "known", "All nodes accept both keys, once all have confirmed it.", "", ""},
	{Step, "used", "The nodes send the new key.", "", ""},
	{Step, "alone", "The nodes refuse the old key: the change is complete.", "", ""},

	{Role, "nobody", "The caller has no right.", "", ""},
	{Role, "read", "The caller may read everything and change nothing.", "", ""},
	{Role, "operate", "The caller may also add seeds, and pause and resume the crawl.", "", ""},
	{Role, "admin", "The caller may also stop the crawl, change its settings, drain and forget nodes, revoke tokens and replace the key.", "", ""},

	{Removed, "removed", "It was queued, and is not any more. Links do not bring it back; `seeds add` does.", "", ""},
	{Removed, "in_flight", "It is being fetched: too late.", "", ""},
	{Removed, "done", "It was fetched, has failed or was refused before.", "", ""},
	{Removed, "unknown", "No node knows it.", "", ""},
}
