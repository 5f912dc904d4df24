package config

import (
	"fmt"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// TestValidate changes one thing of a valid configuration at a time.
func TestValidate(t *testing.T) {
	t.Parallel()
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	endless, below := 100_000*time.Hour, -time.Second
	cases := []struct {
		name   string
		change func(*Config)
		want   []string // parts of the message; none: valid
	}{
		{"beyond loopback", func(c *Config) { c.HTTP = "0.0.0.0:80" }, []string{"--http 0.0.0.0:80", "--cluster-key-file", "--insecure"}},
		{"a bot key alone", func(c *Config) { c.BotKey = "bot.pem" }, []string{"--bot-key", "needs --bot-agent", "both or neither"}},
		{"a bot agent alone", func(c *Config) { c.BotAgent = "https://bot.example" }, []string{"--bot-agent", "needs --bot-key", "keygen --bot"}},
		{"a bot agent without https",
			func(c *Config) { c.BotKey, c.BotAgent = "bot.pem", "http://bot.example" },
			[]string{"--bot-agent", "https://"}},
		{"a bot key and agent", func(c *Config) { c.BotKey, c.BotAgent = "bot.pem", "https://bot.example" }, nil},
		{"all interfaces", func(c *Config) { c.Gossip = ":80" }, []string{"--gossip :80", "--insecure"}},
		{"a name", func(c *Config) { c.RPC = "node.example.org:80" }, []string{"--rpc", "--insecure"}},
		{"beyond loopback with a key", func(c *Config) { c.HTTP, c.ClusterKeyFile = "0.0.0.0:80", "key" }, nil},
		{"beyond loopback, insecure", func(c *Config) { c.HTTP, c.Insecure = "0.0.0.0:80", true }, nil},
		{"localhost", func(c *Config) { c.HTTP, c.RPC = "localhost:80", "[::1]:80" }, nil},
		{"system ports", func(c *Config) { c.HTTP, c.Gossip, c.RPC = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0" }, nil},
		{"same port", func(c *Config) { c.HTTP = c.RPC }, []string{"is given twice"}},
		{"no port", func(c *Config) { c.HTTP = "127.0.0.1" }, []string{"--http", "is not host:port"}},
		{"large port", func(c *Config) { c.RPC = "127.0.0.1:70000" }, []string{"--rpc", "no port between"}},
		{"join without port", func(c *Config) { c.Join = []string{"a", ":5", "b:0"} },
			[]string{`--join: "a"`, `":5" has no host`, `"b:0" has no port`}},
		{"profiles for everybody", func(c *Config) { c.DebugAddr = "0.0.0.0:6060" }, []string{"--debug-addr: 0.0.0.0:6060 is not on loopback"}},
		{"profiles for everybody, insecure",
			func(c *Config) { c.DebugAddr, c.Insecure, c.ClusterKeyFile = ":6060", true, "key" },
			[]string{"--debug-addr", "not on loopback"}},
		{"the frontier for everybody", func(c *Config) { c.FrontierAddr = "0.0.0.0:7071" },
			[]string{"--frontier-addr 0.0.0.0:7071: listens beyond loopback without a key"}},
		{"the frontier for everybody, with a key", func(c *Config) { c.FrontierAddr, c.ClusterKeyFile = "0.0.0.0:7071", "key" }, nil},
		{"the frontier nowhere", func(c *Config) { c.FrontierAddr = "7071" }, []string{"--frontier-addr", "is not host:port"}},
		{"profiles nowhere", func(c *Config) { c.DebugAddr = "6060" }, []string{"--debug-addr", "is not host:port"}},
		{"profiles on loopback", func(c *Config) { c.DebugAddr = "[::1]:6060" }, nil},
		{"a collector", func(c *Config) { c.OTLPEndpoint, c.TraceMatch = "http://127.0.0.1:4317", []string{"host:a.test"} }, nil},
		{"a collector without scheme", func(c *Config) { c.OTLPEndpoint = "127.0.0.1:4317" }, []string{"--otlp-endpoint", "http://HOST:PORT"}},
		{"a collector's path", func(c *Config) { c.OTLPEndpoint = "http://127.0.0.1:4318/v1/traces" }, []string{"--otlp-endpoint"}},
		{"a sample above all", func(c *Config) { c.TraceSample = 1.5 }, []string{"--trace-sample", "from 0 to 1"}},
		{"a sample that is no number", func(c *Config) { c.TraceSample = math.NaN() }, []string{"--trace-sample"}},
		{"traces of a broken pattern", func(c *Config) { c.TraceMatch = []string{"regex:("} }, []string{"--trace-match"}},
		{"sinks", func(c *Config) { c.Sinks = []string{"file:a", "nats://127.0.0.1:4222/a"} }, nil},
		{"a sink twice", func(c *Config) { c.Sinks = []string{"file:a", "file:a"} }, []string{"--sink: file:a is given twice"}},
		{"webhooks", func(c *Config) { c.Webhooks = []string{"http://127.0.0.1:1/a", "https://a.test"} }, nil},
		{"a webhook twice", func(c *Config) { c.Webhooks = []string{"http://a.test/", "http://a.test/"} },
			[]string{"--webhook: http://a.test/ is given twice"}},
		{"no webhook", func(c *Config) { c.Webhooks = []string{"a.test/b"} }, []string{"--webhook: write the URL"}},
		{"many webhooks", func(c *Config) {
			for i := range 17 {
				c.Webhooks = append(c.Webhooks, fmt.Sprint("http://a.test/", i))
			}
		}, []string{"--webhook: a node has at most 16 webhooks, not 17"}},
		{"no sink", func(c *Config) { c.Sinks = []string{"redis://a:1/b"} }, []string{"--sink", "is no sink"}},
		{"advertise with port", func(c *Config) { c.Advertise = "1.2.3.4:5" }, []string{"--advertise"}},
		{"advertise any", func(c *Config) { c.Advertise = "0.0.0.0" }, []string{"--advertise", "no single machine"}},
		{"advertise any, version 6", func(c *Config) { c.Advertise = "::" }, []string{"--advertise", "no single machine"}},
		{"advertise a group", func(c *Config) { c.Advertise = "224.0.0.1" }, []string{"--advertise", "no single machine"}},
		{"advertise two", func(c *Config) { c.Advertise = "10.0.0.1,10.0.0.2" }, []string{"--advertise", "write one"}},
		{"advertise version 6", func(c *Config) { c.Advertise = "2001:db8::1" }, nil},
		{"advertise", func(c *Config) { c.Advertise = "192.0.2.1" }, nil},
		{"partitions composite", func(c *Config) { c.Partitions = 1000 }, []string{"--partitions: 1000", "use 1024"}},
		{"partitions prime", func(c *Config) { c.Partitions = 1021 }, nil},
		{"partitions few", func(c *Config) { c.Partitions = 256 }, []string{"at least 512"}},
		{"partitions many", func(c *Config) { c.Partitions = 1 << 17 }, []string{"at most 65536"}},
		{"replication", func(c *Config) { c.Replication = 0 }, []string{"--replication"}},
		{"name", func(c *Config) { c.Name = "../x" }, []string{"--name"}},
		{"name with the ring's terminator", func(c *Config) { c.Name = "n#1" }, []string{"--name"}},
		{"cluster", func(c *Config) { c.ClusterName = "" }, []string{"--cluster: is empty"}},
		{"quorum", func(c *Config) { c.Quorum = "offf" }, []string{`did you mean "off"?`}},
		{"delay 0", func(c *Config) { c.Delay = 0 }, []string{"--delay", "--allow-net"}},
		{"delay 0 inside", func(c *Config) { c.Delay, c.AllowNet = 0, loopback }, nil},
		{"delay below zero", func(c *Config) { c.Delay, c.AllowNet = below, loopback }, []string{"--delay"}},
		{"delay without end", func(c *Config) { c.Delay = 100_000 * time.Hour }, []string{"--delay", "too long: give at most 24h"}},
		{"ip-delay without end", func(c *Config) { c.IPDelay = &endless }, []string{"--ip-delay", "too long: give at most 24h"}},
		{"ip-delay below zero", func(c *Config) { c.IPDelay = &below }, []string{"--ip-delay"}},
		{"robots ignore", func(c *Config) { c.Robots = "ignore" }, []string{"--robots", "--allow-net"}},
		{"robots ignore inside", func(c *Config) { c.Robots, c.AllowNet = "ignore", loopback }, nil},
		{"no contact", func(c *Config) { c.Seeds = []string{"https://example.org/"} }, []string{"--contact: is required"}},
		{"no contact inside", func(c *Config) { c.Seeds, c.AllowNet = []string{"http://127.0.0.1/"}, loopback }, nil},
		{"contact", func(c *Config) { c.Seeds, c.Contact = []string{"https://example.org/"}, "me@example.org" }, nil},
		{"contact page", func(c *Config) { c.Contact = "https://example.org/bot" }, nil},
		{"contact breaks the header", func(c *Config) { c.Contact = "me@example.org\r\nX: y" }, []string{"--contact"}},
		{"contact is a word", func(c *Config) { c.Contact = "me" }, []string{"--contact"}},
		{"user agent breaks the header", func(c *Config) { c.UserAgent = "a\nb" }, []string{"--user-agent"}},
		{"dns without port", func(c *Config) { c.DNS = []string{"192.0.2.53"} }, []string{"--dns"}},
		{"pattern", func(c *Config) { c.Include = []string{"regex:("} }, []string{"--include"}},
		{"memory", func(c *Config) { c.Memory = 1 }, []string{"--memory: 1B is too small: give at least 64MiB"}},
		{"max-body", func(c *Config) { c.MaxBody = 0 }, []string{"--max-body"}},
		{"max-pages", func(c *Config) { c.MaxPages = -1 }, []string{"--max-pages"}},
		{"compression", func(c *Config) { c.WARCCompression = "zst" }, []string{"--warc-compression", "zstd"}},
		{"drain-timeout", func(c *Config) { c.DrainTimeout = below }, []string{"--drain-timeout"}},
		{"weight", func(c *Config) { c.Weight = 16 }, nil},
		{"no weight", func(c *Config) { c.Weight = 0 }, []string{"--weight: 0"}},
		{"too heavy", func(c *Config) { c.Weight = 17 }, []string{"--weight: 17"}},
		{"zone", func(c *Config) { c.Zone = "rack 7, Zürich" }, nil},
		{"long zone", func(c *Config) { c.Zone = strings.Repeat("z", 33) }, []string{"--zone: a zone has at most 32 bytes, not 33"}},
		{"zone of two lines", func(c *Config) { c.Zone = "a\nb" }, []string{`--zone: zone "a\nb" is no text`}},
		{"derive", func(c *Config) { c.Derive = []string{"pages", "links", "hosts", "text", "all"} }, nil},
		{"derive nonsense", func(c *Config) { c.Derive = []string{"pages", "link"} },
			[]string{`--derive: "link" is not`, `did you mean "links"?`}},
		{"log-skipped", func(c *Config) { c.LogSkipped = 0 }, nil},
		{"log-skipped in percent", func(c *Config) { c.LogSkipped = 50 }, []string{"--log-skipped: 50", "1 (all)"}},
		{"log-skipped no number", func(c *Config) { c.LogSkipped = math.NaN() }, []string{"--log-skipped: NaN"}},
		{"recrawl", func(c *Config) { c.Recrawl, c.RecrawlShare, c.RecrawlChanged = "adaptive", 1, "payload" }, nil},
		{"recrawl misspelt", func(c *Config) { c.Recrawl = "adaptiv" },
			[]string{`--recrawl: "adaptiv" is not off, fixed or adaptive; did you mean "adaptive"?`}},
		{"recrawl on", func(c *Config) { c.Recrawl = "on" }, []string{`--recrawl: "on" is not off, fixed or adaptive`}},
		{"what changed", func(c *Config) { c.RecrawlChanged = "any" }, []string{`--recrawl-changed: "any" is not text or payload`}},
		{"no share", func(c *Config) { c.RecrawlShare = 0 }, []string{"--recrawl-share: 0 must be above 0", "--recrawl off"}},
		{"no worth", func(c *Config) { c.RecrawlWorth = 0 }, nil},
		{"a worth never reached", func(c *Config) { c.RecrawlWorth = 1 }, []string{"--recrawl-worth: 1 must be at least 0 and below 1"}},
		{"a worth below zero", func(c *Config) { c.RecrawlWorth = -0.1 }, []string{"--recrawl-worth: -0.1 must be"}},
		{"a worth that is no number", func(c *Config) { c.RecrawlWorth = math.NaN() }, []string{"--recrawl-worth: NaN"}},
		{"a share in percent", func(c *Config) { c.RecrawlShare = 50 }, []string{"--recrawl-share: 50 must be"}},
		{"a share that is no number", func(c *Config) { c.RecrawlShare = math.NaN() }, []string{"--recrawl-share: NaN"}},
		{"an interval below its bounds", func(c *Config) { c.RecrawlInterval = 30 * time.Minute },
			[]string{"--recrawl-interval: 30m is shorter than --recrawl-min, which is 1h"}},
		{"an interval above its bounds", func(c *Config) { c.RecrawlInterval = 91 * 24 * time.Hour },
			[]string{"--recrawl-interval: 91d is longer than --recrawl-max, which is 90d"}},
		{"bounds the other way round",
			func(c *Config) { c.RecrawlMin, c.RecrawlMax = c.RecrawlMax, c.RecrawlMin },
			[]string{"--recrawl-min: 90d is longer than --recrawl-max, which is 1h"}},
		{"the same three", func(c *Config) { c.RecrawlMin, c.RecrawlMax = c.RecrawlInterval, c.RecrawlInterval }, nil},
		{"often", func(c *Config) { c.RecrawlMin, c.RecrawlInterval = time.Second, 10*time.Second },
			[]string{"--recrawl-min: 1s, below 1m", "--recrawl-interval: 10s, below 1m", "--allow-net"}},
		{"often inside", func(c *Config) { c.RecrawlMin, c.RecrawlInterval, c.AllowNet = time.Second, 10*time.Second, loopback }, nil},
		{"never", func(c *Config) { c.RecrawlMin, c.RecrawlMax = 0, 11*365*24*time.Hour },
			[]string{"--recrawl-min: 0s is not above zero", "--recrawl-max: 4015d is too long"}},
		{"all of revisits at once", func(c *Config) {
			c.Recrawl, c.RecrawlChanged, c.RecrawlShare, c.RecrawlMin, c.Priority = "x", "y", 2, -1,
				"depth=2,bread=1"
		},
			[]string{"--recrawl: ", "--recrawl-changed: ", "--recrawl-share: ", "--recrawl-min: -1ns",
				"--priority: depth=2: the weight", `--priority: "bread" is no weight`}},
		{"no weights", func(c *Config) { c.Priority = "" }, []string{"--priority: "}},
		{"all weights 0", func(c *Config) { c.Priority = "depth=0" }, []string{"--priority: all weights are 0"}},
		{"nothing to dedupe", func(c *Config) { c.Store, c.DedupeAgainst = "none", []string{"a.cdxj"} },
			[]string{"--dedupe-against", "--store none"}},
		{"two at once", func(c *Config) { c.Store, c.LogLevel = "s3", "loud" }, []string{"--store", "--log-level"}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := Default()
			tc.change(&c)
			err := c.Validate()
			if len(tc.want) == 0 && err != nil {
				t.Fatalf("refused: %v", err)
			}
			for _, part := range tc.want {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("error %v does not say %q", err, part)
				}
			}
		})
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	c := Default()
	if ua := c.Settings("1.2").UserAgent; ua != "crawlnode/1.2" {
		t.Errorf("user agent %q", ua)
	}
	c.Contact, c.Robots, c.TLSVerify, c.Store = "me@example.org", "ignore", "record", "none"
	s := c.Settings("1.2")
	if s.UserAgent != "crawlnode/1.2 (+me@example.org)" || !s.RobotsIgnore || !s.TLSRecord ||
		s.Archive {
		t.Errorf("settings %+v", s)
	}
	c.UserAgent = "other"
	if ua := c.Settings("1.2").UserAgent; ua != "other" {
		t.Errorf("user agent %q", ua)
	}
}

func TestNameFrom(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Web-7.example.org": "web-7.example.org", "": "node", "...": "node", "Büro#1": "b-ro-1",
		strings.Repeat("x", 99): strings.Repeat("x", 63),
	} {
		got := NameFrom(in)
		if got != want {
			t.Errorf("NameFrom(%q) = %q, want %q", in, got, want)
		}
		if err := checkName("name", got, false); err != nil {
			t.Error(err)
		}
	}
	c := Default()
	if dir := c.DataDirFor("n1"); dir != "crawlnode-data/n1" {
		t.Errorf("data dir %q", dir)
	}
}
