package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/botauth"
	"crawlnode/web/normalize"
	"crawlnode/web/scope"
)

// Bounds of the settings.
const (
	maxNameBytes  = 63
	minPartitions = 512
	maxPartitions = 1 << 16 // crawl.Partition has 16 bits
)

// Validate reports everything that is wrong with c, one line each, or nil. Each line names the flag
// and the remedy. The same checks apply to a Config built by a program.
func (c *Config) Validate() error {
	return errors.Join(
		c.validateByTags(),
		c.validateNode(),
		c.validateAddresses(),
		c.validateCluster(),
		c.validateScope(),
		c.validatePoliteness(),
		c.validateOutput(),
		c.validateRevisits(),
		c.validateRender(),
		c.validateAnswers(),
		c.validateDocuments(),
		c.validateProxies(),
		c.validateSites(),
		c.validateTraces(),
		c.validateWorkers(),
	)
}

func (c *Config) validateNode() error {
	return errors.Join(
		checkName("name", c.Name, true),
		c.validateZone(),
		c.validateDNS(),
	)
}

// validateZone checks the zone; the weight has bounds in its tags.
func (c *Config) validateZone() error {
	if err := (crawl.PlaceChange{Zone: &c.Zone}).Check(); err != nil {
		return fmt.Errorf("--zone: %s: give a short name",
			strings.TrimPrefix(err.Error(), crawl.ErrPlace.Error()+": "))
	}
	return nil
}

// validateDNS requires ip:port: the name of a name server could not be resolved.
func (c *Config) validateDNS() error {
	var problems []error
	for _, server := range c.DNS {
		if _, err := netip.ParseAddrPort(server); err != nil {
			problems = append(problems,
				fmt.Errorf("--dns: %q is not ip:port: write it like 192.0.2.53:53", server))
		}
	}
	return errors.Join(problems...)
}

// validateAddresses checks the listening addresses, and that none is open to strangers by accident.
func (c *Config) validateAddresses() error {
	var problems, beyond []string
	for _, l := range [...]struct{ flag, addr string }{{"http", c.HTTP}, {"gossip", c.Gossip},
		{"rpc", c.RPC}, {"frontier-addr", c.FrontierAddr}} {
		if l.flag == "frontier-addr" && l.addr == "" {
			continue // it is off
		}
		if err := checkHostPort(l.addr, true); err != nil {
			problems = append(problems, fmt.Sprintf("--%s: %v", l.flag, err))
		} else if !IsLoopback(l.addr) {
			beyond = append(beyond, "--"+l.flag+" "+l.addr)
		}
	}
	if same := sameAddress(c.HTTP, c.Gossip, c.RPC); same != "" {
		problems = append(problems,
			fmt.Sprintf("--http, --gossip and --rpc: %s is given twice: give each its own port", same))
	}
	if len(beyond) > 0 && c.ClusterKeyFile == "" && !c.Insecure {
		problems = append(problems, fmt.Sprintf(
			"%s: listens beyond loopback without a key, so any stranger could join and command the node: "+
				"give all nodes one --cluster-key-file, or use --insecure on a closed network", strings.Join(
				beyond, ", ")))
	}
	if c.DebugAddr != "" {
		if err := checkHostPort(c.DebugAddr, true); err != nil {
			problems = append(problems, fmt.Sprintf("--debug-addr: %v", err))
		} else if !IsLoopback(c.DebugAddr) {
			problems = append(problems, fmt.Sprintf("--debug-addr: %s is not on loopback: "+
				"profiles show the contents of memory, so give an address such as 127.0.0.1:6060", c.DebugAddr))
		}
	}
	if err := checkAdvertise(c.Advertise); err != nil {
		problems = append(problems, fmt.Sprintf("--advertise: %v", err))
	}
	for _, addr := range c.Join {
		if err := checkHostPort(addr, false); err != nil {
			problems = append(problems, fmt.Sprintf("--join: %v", err))
		}
	}
	return joinLines(problems)
}

func (c *Config) validateCluster() error {
	return errors.Join(
		checkName("cluster", c.ClusterName, false),
		checkPartitions(c.Partitions),
	)
}

func (c *Config) validateScope() error {
	var problems []string
	for _, list := range []struct {
		flag string
		o    scope.Options
	}{{"include", scope.Options{Include: c.Include}}, {"exclude", scope.Options{Exclude: c.Exclude}}} {
		if _, err := scope.Compile(list.o); err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				problems = append(problems, "--"+list.flag+": "+line)
			}
		}
	}
	return joinLines(problems)
}

// maxDelay bounds the gaps: a crawl with a longer one stands still, and nobody means that.
const maxDelay = 24 * time.Hour

func (c *Config) validatePoliteness() error {
	var problems []string
	add := func(format string, args ...any) {
		problems = append(problems, fmt.Sprintf(format, args...))
	}
	switch {
	case c.Delay < 0:
		add("--delay: %v is below zero: give the minimum gap between two requests, such as 1s", c.Delay)
	case c.Delay > maxDelay:
		add("--delay: %v is too long: give at most %v", c.Delay, maxDelay)
	case c.Delay == 0 && len(c.AllowNet) == 0:
		add("--delay: 0 is allowed only for hosts inside --allow-net: give a delay such as 1s, " +
			"or name your own network with --allow-net")
	}
	switch {
	case c.IPDelay == nil:
	case *c.IPDelay < 0:
		add("--ip-delay: %v is below zero: give a gap such as 200ms, or leave it out", *c.IPDelay)
	case *c.IPDelay > maxDelay:
		add("--ip-delay: %v is too long: give at most %v", *c.IPDelay, maxDelay)
	}
	if c.Robots == "ignore" && len(c.AllowNet) == 0 {
		add("--robots: ignore is allowed only for hosts inside --allow-net: obey, " +
			"or name your own network with --allow-net")
	}
	if !printable(c.UserAgent) {
		add("--user-agent: contains bytes that a header may not have: use plain ASCII")
	}
	if c.RobotsAgent != "" && !crawl.IsProductToken(c.RobotsAgent) {
		add("--robots-agent: %q is no product token: use letters, _ and - only, as in FieldBot",
			c.RobotsAgent)
	}
	problems = append(problems, c.botProblems()...)
	if c.Contact != "" && !isContact(c.Contact) {
		add("--contact: %q is neither a mail address nor a web page: write me@example.org "+
			"or https://example.org/crawl", c.Contact)
	}
	if c.Contact == "" && len(c.AllowNet) == 0 && len(c.Seeds)+len(c.SeedFiles) > 0 {
		add("--contact: is required to crawl anything outside --allow-net: " +
			"give a contact for site owners, such as --contact me@example.org")
	}
	return joinLines(problems)
}

// botProblems are what is wrong with the settings of signed requests.
func (c *Config) botProblems() []string {
	switch {
	case c.BotKey == "" && c.BotAgent == "":
		return nil
	case c.BotAgent == "":
		return []string{"--bot-key: needs --bot-agent, the https address that publishes the key, " +
			"such as https://bot.example: give both or neither"}
	}
	var problems []string
	if c.BotKey == "" {
		problems = append(problems, "--bot-agent: needs --bot-key, "+
			"the key whose public half is published there: give both or neither; "+
			"crawlnode keygen --bot FILE makes one")
	}
	if _, err := botauth.ParseAgent(c.BotAgent); err != nil {
		problems = append(problems, fmt.Sprintf("--bot-agent: %q: %v", c.BotAgent, err))
	}
	return problems
}

func (c *Config) validateOutput() error {
	return errors.Join(
		c.validateDerive(),
		c.validateDedupe(),
		c.validateUpload(),
		c.validateSinks(),
		c.validateWebhooks(),
		c.validateNormalize(),
		c.validateFocus(),
	)
}

// validateNormalize requires known rules.
func (c *Config) validateNormalize() error {
	if _, err := normalize.Parse(c.Normalize); err != nil {
		return fmt.Errorf("--normalize: %w", err)
	}
	return nil
}

// validateDedupe requires an archive: without one nothing is stored that could be left out.
func (c *Config) validateDedupe() error {
	if c.Store == "none" && len(c.DedupeAgainst) > 0 {
		return errors.New("--dedupe-against: needs an archive, and --store none keeps none: " +
			"leave one of the two out")
	}
	return nil
}

// validateDerive requires known outputs, and a fraction.
func (c *Config) validateDerive() error {
	var problems []error
	for _, name := range c.Derive {
		problems = append(problems, checkWord("derive", name, "pages", "links", "hosts", "text", "all"))
	}
	if !(c.LogSkipped >= 0 && c.LogSkipped <= 1) { // NaN too
		problems = append(problems,
			fmt.Errorf("--log-skipped: %v must be between 0 (none) and 1 (all)", c.LogSkipped))
	}
	return errors.Join(problems...)
}

// IsLoopback reports whether only this machine can reach a listener at addr. A name other than
// localhost does not count: it may resolve to anything.
func IsLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// checkAdvertise refuses what cannot be the address of one node.
func checkAdvertise(host string) error {
	if host == "" {
		return nil
	}
	if strings.ContainsAny(host, " \t/,") || isHostPort(host) {
		return fmt.Errorf("%q is not a host name or an IP address: write one, without scheme and port",
			host)
	}
	if ip, err := netip.ParseAddr(host); err == nil && (ip.IsUnspecified() || ip.IsMulticast() ||
		ip.Unmap() == netip.AddrFrom4([4]byte{255, 255, 255, 255})) {
		return fmt.Errorf(
			"%s leads to no single machine: give the address at which the other nodes reach this one", host)
	}
	return nil
}

func isHostPort(s string) bool {
	_, _, err := net.SplitHostPort(s)
	return err == nil
}

// checkHostPort requires host:port. An empty host and port 0 are valid only for listening.
func checkHostPort(addr string, listen bool) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%q is not host:port: write it like 127.0.0.1:27296", addr)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 && !listen {
		return fmt.Errorf("%q has no port between 1 and 65535", addr)
	}
	if host == "" && !listen {
		return fmt.Errorf("%q has no host: write it like 127.0.0.1:27296", addr)
	}
	return nil
}

// sameAddress returns an address with a fixed port that occurs twice, or "".
func sameAddress(addrs ...string) string {
	for i, a := range addrs {
		if !strings.HasSuffix(a, ":0") && slices.Contains(addrs[:i], a) {
			return a
		}
	}
	return ""
}

// joinLines makes one error of several messages.
func joinLines(messages []string) error {
	if len(messages) == 0 {
		return nil
	}
	return errors.New(strings.Join(messages, "\n"))
}

// maxWebhooks bounds the receivers of a node's events, each a goroutine and a connection.
const maxWebhooks = 16

func (c *Config) validateWebhooks() error {
	var problems []error
	if n := len(c.Webhooks); n > maxWebhooks {
		problems = append(problems,
			fmt.Errorf("--webhook: a node has at most %d webhooks, not %d", maxWebhooks, n))
	}
	for i, text := range c.Webhooks {
		target, err := crawl.ParseWebhook(text)
		if err != nil {
			problems = append(problems, fmt.Errorf("--webhook: %w", err))
		} else if slices.Contains(c.Webhooks[:i], text) {
			problems = append(problems, fmt.Errorf("--webhook: %s is given twice", target))
		}
	}
	return errors.Join(problems...)
}

func (c *Config) validateSinks() error {
	var problems []error
	for i, text := range c.Sinks {
		if _, err := crawl.ParseSink(text); err != nil {
			problems = append(problems, fmt.Errorf("--sink: %w", err))
		}
		if slices.Contains(c.Sinks[:i], text) {
			problems = append(problems, fmt.Errorf("--sink: %s is given twice", text))
		}
	}
	return errors.Join(problems...)
}
