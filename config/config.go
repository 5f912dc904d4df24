package config

import (
	"net/netip"
	"time"
)

// Config is every setting of a node, under the names of the command line.
// Settings says which part of it belongs to the cluster.
//
// The tag live says when a setting counts: start (of this node), SIGHUP (then as
// well), cluster (the founding node's counts for all; see Settings), founding
// (fixed for the life of the cluster).
type Config struct {
	Node       `embed:""`
	Cluster    `embed:""`
	Scope      `embed:""`
	Politeness `embed:""`
	Output     `embed:""`
	Limits     `embed:""`
}

// Node is what concerns this process alone.
type Node struct {
	// Name is the human name, unique in the cluster. Empty: the host name, or
	// n1, n2... when that one is taken on this machine.
	Name string `group:"node" placeholder:"NAME" help:"Human name, unique in the cluster (default: the host name)." live:"start"`
	// DataDir holds everything that the node keeps. Empty: see DataDirFor.
	DataDir string `name:"data-dir" group:"node" placeholder:"DIR" help:"Everything the node keeps (default: crawlnode-data/<name>)." live:"start"`
	// HTTP, Gossip and RPC are host:port. When one of them is taken, the node
	// moves all three up by ten until a triple is free. Port 0 lets the system choose.
	HTTP   string `name:"http" group:"node" placeholder:"ADDR" default:"127.0.0.1:27295" help:"Status, API and metrics." live:"start"`
	Gossip string `group:"node" placeholder:"ADDR" default:"127.0.0.1:27296" help:"Gossip between nodes, TCP and UDP." live:"start"`
	RPC    string `name:"rpc" group:"node" placeholder:"ADDR" default:"127.0.0.1:27297" help:"Calls between nodes." live:"start"`
	// Advertise is an IP address or host name, without port.
	Advertise string `group:"node" placeholder:"HOST" help:"Address the others use, when it differs from the one listened on." live:"start"`
	// Fetchers bounds the concurrent fetches of this node.
	Fetchers int `group:"node" placeholder:"N" default:"256" help:"Concurrent fetches of this node." live:"start"`
	// DNS servers are ip:port; none: those of the system.
	DNS []string `name:"dns" group:"node" placeholder:"IP:PORT" help:"Name servers; repeatable (default: the system's)." live:"start"`
	// DenyNet holds networks that this node never connects a fetch to, whatever the
	// cluster's settings allow. Beside them it never does to the ports that it and its
	// peers listen on; nor, unless its own --allow-net names them, to link-local
	// addresses, the metadata services of clouds, its own addresses and its peers'.
	DenyNet []netip.Prefix `name:"deny-net" group:"node" placeholder:"CIDR" help:"Network that this node never fetches from, whatever the cluster's settings say; link-local, metadata, own and peers' addresses always are; repeatable." live:"start"`
	// AllowPorts are the ports of web servers that this node connects to.
	AllowPorts []PortRange `name:"allow-ports" group:"node" placeholder:"PORT|RANGE|seeds" default:"80,443,8000-9000,seeds" help:"Ports of web servers that this node fetches from; seeds: those of the seeds." live:"start"`
	// Memory is the target for caches and queues, in bytes.
	Memory Size `group:"node" placeholder:"SIZE" default:"1GiB" help:"Target for caches and queues." live:"start"`
	// ExitWhenDone ends the process when the cluster's crawl has ended.
	ExitWhenDone bool `name:"exit-when-done" group:"node" help:"Exit when the cluster's crawl has ended." live:"start"`
	// DrainTimeout bounds the polite stop after the first signal.
	DrainTimeout time.Duration `name:"drain-timeout" group:"node" placeholder:"DURATION" default:"25s" help:"For the polite stop after the first SIGTERM or SIGINT." live:"start"`
	// DebugAddr is host:port on loopback where profiles can be read. Empty: nowhere.
	DebugAddr string `name:"debug-addr" group:"node" placeholder:"ADDR" help:"Serve Go's profiles (pprof) at this loopback address (default: nowhere)." live:"start"`
	LogLevel  string `name:"log-level" group:"node" placeholder:"debug|info|warn|error" default:"info" help:"What is logged: this and all that is worse." live:"SIGHUP"`
	LogFormat string `name:"log-format" group:"node" placeholder:"auto|text|json" default:"auto" help:"auto: text on a terminal, JSON otherwise." live:"start"`
}

// Cluster is how nodes find, trust and replace each other.
type Cluster struct {
	// Join holds gossip addresses of any members, host:port.
	Join []string `group:"cluster" placeholder:"ADDR" help:"Gossip addresses of any members, the own one included; repeatable, comma-separated." live:"start"`
	// ClusterName is a label: clusters of different names never merge.
	ClusterName string `name:"cluster" group:"cluster" placeholder:"LABEL" default:"default" help:"Label; two clusters never merge." live:"founding"`
	// ClusterKeyFile holds the key that encrypts and authenticates everything.
	ClusterKeyFile string `name:"cluster-key-file" group:"cluster" placeholder:"FILE" help:"The cluster's key; required beyond loopback unless --insecure." live:"start"`
	// Insecure allows listening beyond loopback without a key.
	Insecure bool `group:"cluster" help:"Listen beyond loopback without a key (tests, closed networks)." live:"start"`
	// AllowRemoteUnsafe lets the API widen AllowNet, switch robots.txt off and change
	// the user agent; otherwise only who starts the founding node may, or who asks
	// a node without a key on its own machine.
	AllowRemoteUnsafe bool `name:"allow-remote-unsafe" group:"cluster" help:"Let the API's admins widen --allow-net, ignore robots.txt and change the user agent through this node." live:"start"`
	// Partitions and Replication count only for the node that founds a cluster.
	Partitions  int `group:"cluster" placeholder:"N" default:"1024" help:"Slices of the host space; a power of two or a prime, fixed by the founding node." live:"founding"`
	Replication int `group:"cluster" placeholder:"N" default:"2" help:"Copies of each partition; fixed by the founding node." live:"founding"`
	// Quorum is on or off; off takes over even in a minority, giving up that
	// at most one node crawls a host during a split.
	Quorum string `group:"cluster" placeholder:"on|off" default:"on" help:"off: take over even in a minority; two nodes may then crawl one host during a split." live:"start"`
	// ProofOfDeath is on or off; off where a refused connection proves nothing.
	ProofOfDeath string `name:"proof-of-death" group:"cluster" placeholder:"on|off" default:"on" help:"off: where firewalls reject, NAT or proxies stand between the nodes." live:"start"`
}

// Scope is what shall be crawled.
type Scope struct {
	// Seeds are URLs; SeedFiles are files with one a line, "-" is stdin. The
	// command reads and submits both.
	Seeds     []string `name:"seed" group:"scope" sep:"none" placeholder:"URL" help:"Where to begin; repeatable." live:"start"`
	SeedFiles []string `name:"seeds" group:"scope" sep:"none" placeholder:"FILE" help:"File with one URL a line; - is stdin; repeatable." live:"start"`
	// Mode is page, prefix, host, domain or any: relative to the seeds.
	Mode string `name:"scope" group:"scope" placeholder:"page|prefix|host|domain|any" default:"host" help:"What belongs to the crawl, relative to the seeds." live:"cluster"`
	// Include and Exclude are patterns: glob: (default), regex:, host:, prefix:.
	Include []string `group:"scope" sep:"none" placeholder:"PATTERN" help:"Crawl only what matches; glob: (default), regex:, host: or prefix:; repeatable." live:"cluster"`
	Exclude []string `group:"scope" sep:"none" placeholder:"PATTERN" help:"Never crawl what matches; wins over --include; repeatable." live:"cluster"`
	// ExcludeFiles are files with one pattern a line; Load adds them to Exclude.
	ExcludeFiles []string `name:"exclude-file" group:"scope" sep:"none" placeholder:"FILE" help:"File with one --exclude pattern a line; repeatable." live:"cluster"`
	Assets       bool     `group:"scope" help:"Crawl images, scripts, style sheets and srcset too." live:"cluster"`
}

// Politeness is how web servers are treated.
type Politeness struct {
	// Delay is the least gap from the end of a request to a host to the start
	// of the next. 0 holds only for hosts inside AllowNet.
	Delay time.Duration `group:"politeness" placeholder:"DURATION" default:"1s" help:"Least gap between two requests to one host; 0 only inside --allow-net." live:"cluster"`
	// IPDelay is the same for one address. Nil: 200ms, and 0 inside AllowNet.
	IPDelay *time.Duration `name:"ip-delay" group:"politeness" placeholder:"DURATION" help:"Least gap between two requests to one IP address (default: 200ms, and 0 inside --allow-net)." live:"cluster"`
	// UserAgent is sent with every request. Empty: see Settings.
	UserAgent string `name:"user-agent" group:"politeness" placeholder:"STRING" help:"Sent with every request (default: crawlnode/<version> (+<contact>))." live:"cluster"`
	// Contact is a mail address or a web page about the crawl.
	Contact string `group:"politeness" placeholder:"MAIL|URL" help:"Whom a site may ask; required for anything outside --allow-net." live:"cluster"`
	// Robots is obey or ignore; ignore holds only for hosts inside AllowNet.
	Robots string `group:"politeness" placeholder:"obey|ignore" default:"obey" help:"robots.txt; ignore only inside --allow-net." live:"cluster"`
	// AllowNet holds networks that may be crawled although they are private.
	AllowNet []netip.Prefix `name:"allow-net" group:"politeness" placeholder:"CIDR" help:"Network that may be crawled although private, e.g. 127.0.0.0/8; repeatable." live:"cluster"`
	// TLSVerify is strict or record; record goes on with a bad certificate.
	TLSVerify string `name:"tls-verify" group:"politeness" placeholder:"strict|record" default:"strict" help:"record: go on with a bad certificate and record it." live:"cluster"`
}

// Output is what is stored, and how surely.
type Output struct {
	// Store is warc or none.
	Store    string `group:"output" placeholder:"warc|none" default:"warc" help:"warc: archive files under <data-dir>/warc; none: keep no pages." live:"cluster"`
	WARCSize Size   `name:"warc-size" group:"output" placeholder:"SIZE" default:"1GiB" help:"Begin a new archive file at this size." live:"start"`
	// WARCCompression is gzip or zstd.
	WARCCompression string `name:"warc-compression" group:"output" placeholder:"gzip|zstd" default:"gzip" help:"Of new archive files: .warc.gz, or .warc.zst." live:"start"`
	// Derive names what is written beside the archive: pages, links, hosts, text, or all.
	Derive []string `group:"output" placeholder:"LIST" help:"Also write, under <data-dir>/derived: pages, links, hosts and text, comma-separated, or all (default: none)." live:"start"`
	// LogSkipped is the part of the URLs that are not crawled, and why, that is written down.
	LogSkipped float64 `name:"log-skipped" group:"output" placeholder:"0..1" default:"0.01" help:"Part of the skipped URLs that is logged with the reason, under <data-dir>/derived; 0: none, 1: all." live:"start"`
	// Sync makes every acknowledgement wait for the disk.
	Sync bool `group:"output" help:"fsync before each acknowledgement, against power loss; otherwise once a second." live:"start"`
}

// Limits end or bound the crawl. 0 is no limit, but for MaxBody.
type Limits struct {
	MaxDepth        int           `name:"max-depth" group:"limits" placeholder:"N" default:"0" help:"Links followed from a seed; 0: no limit." live:"cluster"`
	MaxPages        int64         `name:"max-pages" group:"limits" placeholder:"N" default:"0" help:"Pages of the whole cluster, never exceeded; 0: no limit." live:"cluster"`
	MaxPagesPerHost int64         `name:"max-pages-per-host" group:"limits" placeholder:"N" default:"0" help:"Pages of one host; 0: no limit." live:"cluster"`
	MaxDuration     time.Duration `name:"max-duration" group:"limits" placeholder:"DURATION" default:"0s" help:"End the crawl after this time; 0: no limit." live:"cluster"`
	// MaxBody is in bytes after decoding; longer bodies are cut and marked.
	MaxBody Size `name:"max-body" group:"limits" placeholder:"SIZE" default:"10MiB" help:"Cut longer pages." live:"cluster"`
}

// Default returns the settings of a node that was told nothing.
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
