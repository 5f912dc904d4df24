package config

import (
	"net/netip"
	"time"

	"crawlnode/crawl"
)

// Config is every setting of a node, under the names of the command line.
// Settings returns the part that belongs to the cluster.
//
// The tag live says when a setting takes effect: start (of this node), SIGHUP (also
// then), cluster (the founding node's value applies to all; see Settings), founding
// (fixed for the life of the cluster). Settings with cluster or founding that have a field in
// crawl.Settings can be changed while the crawl runs, unless the tag fixed says why not.
//
// The tags min and max bound a number, a size or a time; without max there is no bound that
// matters. A placeholder of lower-case words with | between them lists the words that are allowed.
// The tags doc, empty and together are explained in document.go. With report:"days" the API writes
// a time as 7d.
type Config struct {
	Groups `embed:""`
}

// Groups are the settings without the methods of Config: a parser of command lines that fills them
// must not call Config.Validate, which judges flags, environment and file together.
type Groups struct {
	Node       `embed:""`
	Cluster    `embed:""`
	Scope      `embed:""`
	Politeness `embed:""`
	Output     `embed:""`
	Limits     `embed:""`
	Revisits   `embed:""`
	Rendering  `embed:""`
}

// Node has the settings of this process alone.
type Node struct {
	// Name is the human name, unique in the cluster. Empty: the host name, or n1, n2... if that is
	// already used on this machine.
	Name string `group:"node" placeholder:"NAME" help:"Human name, unique in the cluster (default: the host name)." live:"start"`
	// DataDir is the directory for everything that the node stores. Empty: see DataDirFor.
	DataDir string `name:"data-dir" group:"node" placeholder:"DIR" help:"Directory for everything the node stores (default: crawlnode-data/<name>)." live:"start"`
	// HTTP, Gossip and RPC are host:port. If the default port of one is busy, those that have their
	// default port move up by ten until all are free; a given port stays, and is an error when it is
	// busy. With port 0 the system chooses.
	HTTP   string `name:"http" group:"node" placeholder:"ADDR" default:"127.0.0.1:27295" help:"Status, API and metrics." live:"start"`
	Gossip string `group:"node" placeholder:"ADDR" default:"127.0.0.1:27296" help:"Gossip between nodes (TCP and UDP)." live:"start"`
	RPC    string `name:"rpc" group:"node" placeholder:"ADDR" default:"127.0.0.1:27297" help:"Calls between nodes (gRPC)." live:"start"`
	// Advertise is an IP address or host name, without port.
	Advertise string `group:"node" placeholder:"HOST" help:"Address that other nodes use, if it differs from the listening address." live:"start"`
	// Fetchers bounds the concurrent fetches of this node. When it is not given, it is the number at
	// the start: see package scheduler/breadth.
	Fetchers int `group:"node" placeholder:"N" default:"256" help:"Concurrent fetches of this node (not given: more while servers are slow and processors free)." min:"1" max:"100000" live:"start"`
	// DNS lists servers as ip:port; none: those of the system.
	DNS []string `name:"dns" group:"node" placeholder:"IP:PORT" help:"Name servers; repeatable (default: the system's)." live:"start"`
	// DenyNet holds networks that this node never fetches from, whatever the cluster's settings
	// allow. In addition it never connects to the ports that it and its peers listen on; nor,
	// unless its own --allow-net names them, to link-local addresses, cloud metadata services, its
	// own addresses and those of its peers.
	DenyNet []netip.Prefix `name:"deny-net" group:"node" placeholder:"CIDR" help:"Network that this node never fetches from, whatever the cluster's settings say; link-local, metadata, own and peers' addresses are always denied; repeatable." live:"start"`
	// AllowPorts are the ports of web servers that this node may connect to.
	AllowPorts []PortRange `name:"allow-ports" group:"node" placeholder:"PORT|RANGE|seeds" default:"80,443,8000-9000,seeds" help:"Ports of web servers that this node fetches from; seeds: the ports of the seeds." live:"start"`
	// Memory is the target for caches and queues, in bytes.
	Memory Size `group:"node" placeholder:"SIZE" default:"1GiB" help:"Target for caches and queues." min:"64MiB" live:"start"`
	// Weight is this node's share of the partitions against the others' weights, and Zone what fails
	// together with it: a rack, a building. crawlnode nodes weight and nodes zone change them while
	// the node runs.
	Weight int    `group:"node" placeholder:"N" default:"1" help:"Share of the partitions that this node owns, against the other nodes' weights." min:"1" max:"16" live:"SIGHUP"`
	Zone   string `group:"node" placeholder:"NAME" help:"What fails together with this node, such as a rack: the copies of a partition are in different zones while there are enough." live:"SIGHUP"`
	// ExitWhenDone ends the process when the cluster's crawl has ended.
	ExitWhenDone bool `name:"exit-when-done" group:"node" help:"Exit when the cluster's crawl has ended." live:"start"`
	// DrainTimeout bounds the graceful stop after the first signal.
	DrainTimeout time.Duration `name:"drain-timeout" group:"node" placeholder:"DURATION" default:"25s" help:"Time limit of the graceful stop after the first SIGTERM or SIGINT." min:"0s" max:"1h" live:"start"`
	// Secrets is a file of package secrets. Rules for sites name the secrets; the values never leave
	// the node.
	Secrets string `group:"node" placeholder:"FILE" help:"Secrets of this node, which rules for sites name as secret:NAME: lines NAME=VALUE, mode 0600; read again on SIGHUP." live:"SIGHUP"`
	// DebugAddr is a loopback host:port that serves profiles. Empty: none.
	DebugAddr string `name:"debug-addr" group:"node" placeholder:"ADDR" help:"Serve Go's profiles (pprof) at this loopback address (default: off)." live:"start"`
	LogLevel  string `name:"log-level" group:"node" placeholder:"debug|info|warn|error" default:"info" help:"Minimum level of log messages." live:"SIGHUP"`
	LogFormat string `name:"log-format" group:"node" placeholder:"auto|text|json" default:"auto" help:"auto: text on a terminal, JSON otherwise." live:"start"`
	Traces    `embed:""`
	Workers   `embed:""`
}

// Cluster has the settings by which nodes find, trust and replace each other.
type Cluster struct {
	// Join holds gossip addresses of any members, host:port.
	Join []string `group:"cluster" placeholder:"ADDR" help:"Gossip addresses of any members, possibly including this node's own; repeatable, comma-separated." live:"start"`
	// ClusterName is a label: clusters with different names never merge.
	ClusterName string `name:"cluster" group:"cluster" placeholder:"LABEL" default:"default" help:"Name of the cluster; clusters with different names never merge." live:"founding" fixed:"cannot change during the life of the cluster"`
	// ClusterKeyFile holds the key that encrypts and authenticates all traffic between nodes.
	ClusterKeyFile string `name:"cluster-key-file" group:"cluster" placeholder:"FILE" help:"The cluster's key; required beyond loopback unless --insecure." live:"start"`
	// Insecure allows listening beyond loopback without a key.
	Insecure bool `group:"cluster" help:"Listen beyond loopback without a key (tests, closed networks)." live:"start"`
	// AllowRemoteUnsafe lets the API widen AllowNet, switch robots.txt off and change the user
	// agent. Otherwise only the flags of the founding node may, or a request from the same machine
	// to a node without a key.
	AllowRemoteUnsafe bool `name:"allow-remote-unsafe" group:"cluster" help:"Let the API's admins widen --allow-net, ignore robots.txt, change the user agent, and give proxies or secrets to sites through this node." live:"start"`
	// Partitions and Replication apply only to the node that founds a cluster.
	Partitions  int `group:"cluster" placeholder:"N" default:"1024" help:"Number of slices of the host space; a power of two or a prime, fixed by the founding node." live:"founding" fixed:"is fixed by the founding node for the cluster's life"`
	Replication int `group:"cluster" placeholder:"N" default:"2" help:"Copies of each partition; fixed by the founding node." min:"1" max:"3" live:"founding" fixed:"is fixed by the founding node for the cluster's life"`
	// Quorum is on or off. off takes over partitions even in a minority; then two nodes may crawl
	// the same host during a split.
	Quorum string `group:"cluster" placeholder:"on|off" default:"on" help:"off: take over partitions even in a minority; two nodes may then crawl the same host during a split." live:"start"`
	// ProofOfDeath is on or off. off is for networks in which a refused connection proves nothing.
	ProofOfDeath string `name:"proof-of-death" group:"cluster" placeholder:"on|off" default:"on" help:"off: use where firewalls reject connections, or NAT or proxies are between the nodes." live:"start"`

	// CatchUp is how long the changes that a silent member misses are kept on the disk, so that it
	// needs no copies of whole partitions when it returns. 0: they are not kept.
	CatchUp time.Duration `name:"catch-up" group:"cluster" placeholder:"DURATION" default:"1h" help:"How long what a silent member misses is kept on disk, an eighth of the free space at most; 0: it is copied as a whole." min:"0s" max:"24h" live:"start"`
}

// Scope defines which URLs are crawled.
type Scope struct {
	// Seeds are URLs; SeedFiles are files with one URL per line, "-" is stdin. The command reads
	// and submits both.
	Seeds     []string `name:"seed" group:"scope" sep:"none" placeholder:"URL" help:"URL to start from; repeatable." live:"start" fixed:"is not a setting of a running crawl: add seeds with crawlnode seeds add"`
	SeedFiles []string `name:"seeds" group:"scope" sep:"none" placeholder:"FILE" help:"File with one URL per line; - is stdin; repeatable." live:"start" fixed:"is not a setting of a running crawl: add seeds with crawlnode seeds add"`
	// Mode is page, prefix, host, domain or any, relative to the seeds.
	Mode string `name:"scope" group:"scope" placeholder:"page|prefix|host|domain|any" default:"host" help:"Which URLs belong to the crawl, relative to the seeds." live:"cluster"`
	// Include and Exclude are patterns: glob: (default), regex:, host:, prefix:.
	Include []string `group:"scope" sep:"none" placeholder:"PATTERN" help:"Crawl only URLs that match; glob: (default), regex:, host: or prefix:; repeatable." live:"cluster"`
	Exclude []string `group:"scope" sep:"none" placeholder:"PATTERN" help:"Never crawl URLs that match; overrides --include; repeatable." live:"cluster"`
	// ExcludeFiles are files with one pattern per line; Load adds them to Exclude.
	ExcludeFiles []string `name:"exclude-file" group:"scope" sep:"none" placeholder:"FILE" help:"File with one --exclude pattern per line; repeatable." live:"cluster" fixed:"is read when a node starts: give its patterns as exclude"`
	// Assets is off, same-host or any.
	Assets crawl.AssetPolicy `group:"scope" placeholder:"off|same-host|any" default:"off" help:"Also fetch what pages are shown with (images, scripts, style sheets), out of scope too: on the page's host, or any. Alone: any." live:"cluster"`
	// Focus is the topic of a focused crawl; FocusMin is between 0 and 1.
	Focus    Topic   `group:"scope" placeholder:"FILE" help:"Topic model, made by crawlnode focus train: what fits it is crawled first." live:"cluster"`
	FocusMin float64 `name:"focus-min" group:"scope" placeholder:"0..1" default:"0" help:"With --focus: pages that fit less than this pass no links on; seeds always do." live:"cluster"`
	// Normalize are names of rules of web/normalize.
	Normalize []string `group:"scope" placeholder:"RULE" help:"Rules that make URLs of one page equal: sort-query, index-files, trailing-slash, session-ids, www; the founding node's, for the crawl's life." live:"founding" fixed:"decides which URLs are known, so it is fixed when the crawl is founded: another one needs another --data-dir"`
	// Priority are weights in the form of importance.ParseWeights.
	Priority string `group:"scope" placeholder:"WEIGHTS" default:"importance=0.3,authority=0.25,change=0.2,depth=0.15,freshness=0.1" help:"Weights of a queued URL's score, each 0 to 1; what is left out weighs 0. The queue is ordered by it when weights other than the default are given (of more than depth), or with --recrawl; otherwise by depth. Weights of importance or authority other than the default have importance by links measured." live:"cluster"`
}

// Politeness defines how web servers are treated.
type Politeness struct {
	// Delay is the minimum gap from the end of a request to a host to the start of the next. 0
	// applies only to hosts inside AllowNet.
	Delay time.Duration `group:"politeness" placeholder:"DURATION" default:"1s" help:"Minimum gap between two requests to one host; 0 only inside --allow-net." live:"cluster"`
	// IPDelay is the same for one address. Nil: 200ms, and 0 inside AllowNet.
	IPDelay *time.Duration `name:"ip-delay" group:"politeness" placeholder:"DURATION" help:"Minimum gap between two requests to one IP address (default: 200ms, and 0 inside --allow-net)." live:"cluster"`
	// UserAgent is sent with every request. Empty: see Settings.
	UserAgent string `name:"user-agent" group:"politeness" placeholder:"STRING" help:"Sent with every request (default: crawlnode/<version> (+<contact>))." live:"cluster"`
	// RobotsAgent is the product token that site owners address. Empty: that of the user agent.
	RobotsAgent string `name:"robots-agent" group:"politeness" placeholder:"TOKEN" help:"Group of robots.txt, X-Robots-Tag and meta robots that is obeyed (default: the product token of --user-agent)." live:"cluster"`
	// BotKey is a file of package botauth, BotAgent the https address that publishes its keys. Each
	// node reads its own file, so that the private key is never sent between nodes.
	BotKey   string `name:"bot-key" group:"politeness" placeholder:"FILE" help:"Sign every request with this Ed25519 key (Web Bot Auth), the same on all nodes; crawlnode keygen --bot makes it. With --bot-agent." live:"start"`
	BotAgent string `name:"bot-agent" group:"politeness" placeholder:"URL" help:"https address that publishes the keys of --bot-key: a host with the well-known path, or the key set itself." live:"start"`
	// WallMarks is a file of package wall, read by each node.
	WallMarks string `name:"wall-marks" group:"politeness" placeholder:"FILE" help:"Marks of more bot walls, beside those that crawlnode knows; see docs/operations.md. The same on all nodes." live:"start"`
	// Contact is a mail address or a web page about the crawl.
	Contact string `group:"politeness" placeholder:"MAIL|URL" help:"Contact for site owners; required to crawl anything outside --allow-net." live:"cluster"`
	// Robots is obey or ignore; ignore applies only to hosts inside AllowNet.
	Robots string `group:"politeness" placeholder:"obey|ignore" default:"obey" help:"robots.txt; ignore only inside --allow-net." live:"cluster" doc:"robots_ignore=ignore"`
	// AllowNet holds private networks that may be crawled.
	AllowNet []netip.Prefix `name:"allow-net" group:"politeness" placeholder:"CIDR" help:"Private network that may be crawled, e.g. 127.0.0.0/8; repeatable." live:"cluster"`
	// TLSVerify is strict or record; record continues with a bad certificate.
	TLSVerify string `name:"tls-verify" group:"politeness" placeholder:"strict|record" default:"strict" help:"record: continue with a bad certificate and record it." live:"cluster" doc:"tls_record=record"`
	Answers   `embed:""`
	Reading   `embed:""`
	// Sites are rules for sites, and Proxy are addresses of proxies, as package web/proxy reads them.
	Sites Sites    `group:"politeness" placeholder:"FILE" help:"Rules for sites (YAML): another delay, header, login, proxy, depth and more for some hosts, domains or URLs; see docs/sites.md." live:"cluster"`
	Proxy []string `group:"politeness" sep:"none" placeholder:"URL" help:"Proxy for all requests to web servers: http://, https:// or socks5://HOST:PORT, with a password as socks5://secret:NAME@HOST:PORT (see --secrets); repeatable: they are used in turn." live:"cluster"`
}

// Output defines what is stored, and how safely.
type Output struct {
	// Store is warc or none.
	Store    string `group:"output" placeholder:"warc|none" default:"warc" help:"warc: archive files under <data-dir>/warc; none: store no pages." live:"cluster" doc:"archive=warc" fixed:"is fixed when a node starts, because it opens its archive then: restart the nodes with the flag"`
	WARCSize Size   `name:"warc-size" group:"output" placeholder:"SIZE" default:"1GiB" help:"Start a new archive file at this size." min:"1MiB" live:"start"`
	// Index is off or on.
	Index string `group:"output" placeholder:"off|on" default:"off" help:"Index pages while they are crawled, for crawlnode search and /api/v1/search: on, those that are fetched from then on." live:"cluster" doc:"index=on"`
	// WARCCompression is gzip or zstd.
	WARCCompression string `name:"warc-compression" group:"output" placeholder:"gzip|zstd" default:"gzip" help:"Compression of new archive files: .warc.gz or .warc.zst." live:"start"`
	// Derive lists the derived outputs: pages, links, hosts, text, or all.
	// Sinks are the targets of results (package sink).
	Sinks []string `name:"sink" sep:"none" group:"output" placeholder:"file:PATH|kafka://...|nats://..." help:"Also send a result for each page there, at least once, in the order of each host: file:PATH, kafka://HOST:PORT/TOPIC or nats://HOST:PORT/SUBJECT (JetStream); repeatable; implies --derive pages." live:"start"`
	// Webhooks are URLs to which the node's events are sent (package webhooks).
	Webhooks []string `name:"webhook" sep:"none" group:"output" placeholder:"URL" help:"Also send this node's events there, as JSON, each by a POST, at least once and in order; signed with the secret named webhook of --secrets; repeatable." live:"start"`
	Derive   []string `group:"output" placeholder:"LIST" help:"Also write, under <data-dir>/derived: pages, links, hosts and text, comma-separated, or all (default: none)." live:"start"`
	// LogSkipped is the fraction of skipped URLs that is logged with the reason.
	LogSkipped float64 `name:"log-skipped" group:"output" placeholder:"0..1" default:"0.01" help:"Fraction of the skipped URLs that is logged with the reason, under <data-dir>/derived; 0: none, 1: all." live:"start"`
	// DedupeAgainst are indexes of other archives, as package output/dedupe reads them.
	DedupeAgainst []string `name:"dedupe-against" group:"output" placeholder:"FILE" help:"Index of another archive, CDXJ or CDX, plain or .gz: a payload that it names is not stored again, but written as a revisit that refers to it; repeatable, comma-separated." live:"start"`
	// Upload is s3://bucket/prefix, or "".
	Upload string `group:"output" placeholder:"s3://BUCKET/PREFIX" help:"Copy finished archive files, indexes and derived files to an object store; credentials as AWS tools take them." live:"start"`
	// UploadEndpoint is the URL of a store that is not Amazon S3.
	UploadEndpoint string `name:"upload-endpoint" group:"output" placeholder:"URL" help:"The store's address, such as http://127.0.0.1:9000 (default: Amazon S3)." live:"start"`
	// KeepLocal is all, index, none or a size.
	KeepLocal string `name:"keep-local" group:"output" placeholder:"all|index|none|SIZE" default:"all" help:"Which files stay on the disk once the store has them, verified: all, the indexes, none, or the indexes and the newest files up to this size." live:"start"`
	// Sync makes every acknowledgement wait for the disk.
	Sync bool `group:"output" help:"fsync before each acknowledgement, against power loss; otherwise once a second." live:"start"`
}

// Limits end or bound the crawl. 0 is no limit, except for MaxBody.
type Limits struct {
	MaxDepth        int           `name:"max-depth" group:"limits" placeholder:"N" default:"0" help:"Maximum links followed from a seed; 0: no limit." min:"0" max:"1073741824" live:"cluster"`
	MaxPages        int64         `name:"max-pages" group:"limits" placeholder:"N" default:"0" help:"Maximum pages of the whole cluster, never exceeded; 0: no limit." min:"0" live:"cluster"`
	MaxPagesPerHost int64         `name:"max-pages-per-host" group:"limits" placeholder:"N" default:"0" help:"Maximum pages of one host; 0: no limit." min:"0" live:"cluster"`
	MaxDuration     time.Duration `name:"max-duration" group:"limits" placeholder:"DURATION" default:"0s" help:"End the crawl after this time; 0: no limit." min:"0s" live:"cluster"`
	// MaxBody is in bytes after decoding; longer bodies are cut and marked.
	MaxBody Size `name:"max-body" group:"limits" placeholder:"SIZE" default:"10MiB" help:"Maximum page size; longer pages are cut." min:"1B" max:"1GiB" live:"cluster"`
	// MaxSuspiciousPerHost bounds the URLs of one host that look like a trap.
	MaxSuspiciousPerHost int64 `name:"max-suspicious-per-host" group:"limits" placeholder:"N" default:"10000" help:"Maximum URLs of one host that look like a trap, such as the months of a calendar without end; 0: no limit." min:"0" live:"cluster"`
}

// Default returns the settings of a node without flags.
func Default() Config {
	var c Config
	for _, f := range fieldsOf(&c) {
		if def, ok := f.tag.Lookup("default"); ok {
			if err := f.set(f.split(def)); err != nil {
				panic("BUG: the default of --" + f.name + ": " + err.Error())
			}
		}
	}
	return c
}
