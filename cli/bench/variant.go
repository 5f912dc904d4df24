package bench

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"crawlnode/cli/command"
)

// variant is one of the things that bench compares.
type variant struct {
	webSize
	webWire
	nodeFlags
	executable string // of the nodes, or of the other crawler
	other      string // another crawler, or ""
}

// The other crawlers.
const (
	wget2  = "wget2"
	scrapy = "scrapy"
)

// own is what the flags describe.
func (v *Verb) own(env *command.Env) (variant, error) {
	if v.Pairs < 1 {
		return variant{}, fmt.Errorf("--pairs is %d, and at least 1 is needed", v.Pairs)
	}
	own := variant{
		webSize:    v.webSize,
		webWire:    v.webWire,
		nodeFlags:  v.nodeFlags,
		executable: env.Executable,
	}
	return own, own.check()
}

// check refuses what would make a run fail late.
func (v *variant) check() error {
	if v.Nodes < 1 {
		return fmt.Errorf("--nodes is %d, and at least 1 is needed", v.Nodes)
	}
	for _, s := range v.Set {
		if name, _, ok := strings.Cut(s, "="); !ok || name == "" || strings.HasPrefix(name, "-") {
			return fmt.Errorf("--set %q is not FLAG=VALUE, such as delay=1s", s)
		}
	}
	return nil
}

// others are what --against names.
func (v variant) others(against []string) ([]variant, error) {
	others := make([]variant, len(against))
	for i, name := range against {
		var err error
		if others[i], err = v.against(name); err != nil {
			return nil, fmt.Errorf("--against %q: %w", name, err)
		}
	}
	return others, nil
}

// against is v with the difference that --against names.
func (v variant) against(other string) (variant, error) {
	switch {
	case other == wget2:
		return v.wget2()
	case other == scrapy:
		return v.scrapy()
	case isPath(other):
		path, err := exec.LookPath(other)
		v.executable = path
		return v, err
	}
	v.Set = slices.Clone(v.Set)
	for change := range strings.SplitSeq(other, ",") {
		if err := v.change(change); err != nil {
			return v, err
		}
	}
	return v, v.check()
}

// isPath tells a path from FLAG=VALUE, whose value may be a path.
func isPath(other string) bool {
	before, _, _ := strings.Cut(other, "=")
	return strings.ContainsRune(before, filepath.Separator)
}

// wget2 is the crawler of that name on v's web. Of a connection of HTTP/2 that the server ends
// after some requests version 1.99 loses the pages that it has asked for by then.
func (v variant) wget2() (variant, error) {
	if v.TLS && !v.HTTP1 && v.ConnRequests > 0 {
		return v, errors.New("wget2 with --tls and --conn-requests needs --http1: " +
			"wget2 gives up pages when a server ends a connection of HTTP/2")
	}
	path, err := exec.LookPath(wget2)
	if err != nil {
		return v, fmt.Errorf("%w: install the package wget2, or name a build of it in PATH", err)
	}
	// Of a robots.txt with several groups wget2 takes the first that is its own or
	// everybody's.
	v.other, v.executable, v.Agent = wget2, path, "*"
	return v, nil
}

// scrapy is Scrapy on v's web, which must be one of plain HTTP: of a proxy for https it wants
// CONNECT, which the web has not.
func (v variant) scrapy() (variant, error) {
	if v.TLS {
		return v, errors.New("scrapy is compared over plain HTTP only: leave out --tls")
	}
	path, err := exec.LookPath(scrapy)
	if err != nil {
		return v, fmt.Errorf("%w: install the package python3-scrapy", err)
	}
	v.other, v.executable, v.Agent = scrapy, path, "*"
	return v, nil
}

// change makes one change, FLAG=VALUE. What is no flag of bench is one of start.
func (v *variant) change(change string) (err error) {
	name, value, ok := strings.Cut(change, "=")
	if !ok {
		return fmt.Errorf("%q is not wget2, not scrapy, not a path and not FLAG=VALUE", change)
	}
	number, boolean := func(to *int) { *to, err = strconv.Atoi(value) },
		func(to *bool) { *to, err = strconv.ParseBool(value) }
	switch name {
	case "nodes":
		number(&v.Nodes)
	case "gzip":
		number(&v.Gzip)
	case "conn-requests":
		number(&v.ConnRequests)
	case "tls":
		boolean(&v.TLS)
	case "http1":
		boolean(&v.HTTP1)
	case "bare":
		boolean(&v.Bare)
	default:
		v.Set = append(v.Set, change)
	}
	return err
}

// webArgs are the flags of the variant's web.
func (v *variant) webArgs() []string { return append(v.webSize.args(), v.webWire.args()...) }

// nodeArgs are the flags of every node. Of a flag that stands twice the last counts.
func (v *variant) nodeArgs(web *webAddresses) []string {
	args := []string{"--allow-net", "127.0.0.0/8", "--dns", web.DNS, "--delay", "0", "--store",
		v.Store, "--log-level", "warn",
		"--replication", strconv.Itoa(v.Copies)}
	if v.Bare { // a crawlnode of another day may not know it
		args = append(args, "--bare")
	}
	for _, s := range v.Set {
		args = append(args, "--"+s)
	}
	return args
}
