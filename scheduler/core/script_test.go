package core

import (
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/urlnorm"
)

var rewrite = flag.Bool("rewrite", false, "write the scripts' expected output anew")

// TestScripts plays testdata/*.txt: a line that begins with "> " is a command,
// the lines below it are what the Core answers and asks for. Commands:
//
//	config delay=1s ipdelay=0s max=4 items=2 quantum=2 [turns]
//	turn ADDR yes|no [wait=1s]                  whose turn the address is from now on; with turns, no
//	+1500ms                                     time passes
//	activate HOST [p=1] [urls=/a,/b@3] [more] [acquired=-1s] [frozen=1h] [hold=2h] [backoff=8s] [crawldelay=5s]
//	offer HOST [urls=...] [more]                (a URL is path[@band])
//	queued HOST [band=0]
//	resolved HOST ADDR[,ADDR] [ttl=1m] | resolved HOST error | unanswered HOST -5s   (no server answers since then)
//	next | advance
//	release ID KIND [took=1ms] [retryafter=5s] [crawldelay=5s] [norequest]
//	hoststate ID | completed ID
//	acquired P -1s                              (from now)
//	freeze P | unfreeze P | drop P | evict N | lasttries | forget HOST | counts | remaining
func TestScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(want))
			if *rewrite {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(want) {
				t.Errorf("%s differs; got:\n%s", file, got)
			}
		})
	}
}

type player struct {
	t    *testing.T
	core *Core
	t0   time.Time
	now  time.Time
	seq  uint64
	out  strings.Builder
	wait map[netip.Addr]time.Duration // addresses whose turn it is, with turns
}

func (p *player) Turn(ip netip.Addr) (wait time.Duration, ok bool) {
	wait, ok = p.wait[ip]
	return wait, ok
}

func (p *player) Idle(ip netip.Addr) { p.say("  idle %v", ip) }

func play(t *testing.T, script string) string {
	t0 := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	p := &player{t: t, t0: t0, now: t0, core: New(Config{}), wait: map[netip.Addr]time.Duration{}}
	for line := range strings.Lines(script) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "> "):
			p.out.WriteString(line + "\n")
			p.command(strings.Fields(line[2:]))
			p.actions()
		case strings.HasPrefix(line, "#"), line == "":
			p.out.WriteString(line + "\n")
		}
	}
	return p.out.String()
}

func (p *player) say(format string, args ...any) { fmt.Fprintf(&p.out, format+"\n", args...) }

func (p *player) at(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Sub(p.t0).String()
}

func (p *player) actions() {
	for _, a := range p.core.Actions() {
		switch a.Kind {
		case Refill:
			p.say("  refill %s n=%d after=%v", a.Host, a.N, a.After)
		case Park:
			p.say("  park %s %s", a.Host, p.state(a.State))
		default:
			p.say("  %s %s", a.Kind, a.Host)
		}
	}
}

func (p *player) state(s crawl.HostState) string {
	return fmt.Sprintf("notbefore=%s backoff=%s failures=%d frozen=%s hold=%s lasttry=%v",
		p.at(s.NotBefore), s.Backoff, s.Failures, p.at(s.FrozenUntil), p.at(s.HoldUntil), s.LastTry)
}

type scriptArgs map[string]string

func (p *player) parse(fields []string) (words []string, args scriptArgs) {
	args = scriptArgs{}
	for _, f := range fields {
		if k, v, ok := strings.Cut(f, "="); ok {
			args[k] = v
		} else {
			words = append(words, f)
		}
	}
	return words, args
}

func (p *player) dur(s string) time.Duration {
	if s == "" {
		return 0
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		p.t.Fatal(err)
	}
	return d
}

func (p *player) num(s string) int {
	if s == "" {
		return 0
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

func (p *player) items(host, list string) []crawl.Item {
	var out []crawl.Item
	for path := range strings.SplitSeq(list, ",") {
		if path == "" {
			continue
		}
		path, band, _ := strings.Cut(path, "@")
		u, err := urlnorm.Parse("http://" + host + path)
		if err != nil {
			p.t.Fatal(err)
		}
		p.seq++
		out = append(out, crawl.Item{URL: u, Band: crawl.Band(p.num(band)), Seq: p.seq})
	}
	return out
}

func (p *player) future(d string) time.Time {
	if d == "" {
		return time.Time{}
	}
	return p.now.Add(p.dur(d))
}

func has(words []string, w string) bool {
	for _, o := range words {
		if o == w {
			return true
		}
	}
	return false
}

func (p *player) command(fields []string) {
	words, args := p.parse(fields)
	name, words := words[0], words[1:]
	if strings.HasPrefix(name, "+") {
		p.now = p.now.Add(p.dur(name[1:]))
		return
	}
	switch name {
	case "config":
		c := Config{
			Dispatcher:   &fakeRules{delay: p.dur(args["delay"]), ipDelay: p.dur(args["ipdelay"])},
			MaxActive:    p.num(args["max"]),
			ItemsPerHost: p.num(args["items"]),
			Quantum:      p.num(args["quantum"]),
		}
		if has(words, "turns") {
			c.Turns = p
		}
		p.core = New(c)
	case "activate":
		p.activate(words, args)
	case "offer":
		p.core.Offer(p.now, crawl.Host(words[0]), p.items(words[0], args["urls"]), Cursor{p.seq},
			has(words, "more"))
	case "queued":
		if !p.core.NoteQueued(p.now, crawl.Host(words[0]), crawl.Band(p.num(args["band"]))) {
			p.say("not in memory")
		}
	case "resolved":
		p.resolved(words, args)
	case "unanswered":
		p.core.Unanswered(p.now, crawl.Host(words[0]), p.future(words[1]), errors.New("silence"))
	case "next":
		p.next()
	case "advance":
		p.core.Advance(p.now)
	case "release":
		p.release(words, args)
	case "hoststate":
		if _, ok := p.core.HostState(uint64(p.num(words[0]))); !ok {
			p.say("unknown visit")
		}
	case "completed":
		p.core.Completed(p.now, uint64(p.num(words[0])))
	case "turn":
		ip := netip.MustParseAddr(words[0])
		delete(p.wait, ip)
		if has(words, "yes") {
			p.wait[ip] = p.dur(args["wait"])
			p.core.TurnCame(p.now, ip)
		}
	default:
		p.partitions(name, words)
	}
}

func (p *player) partitions(name string, words []string) {
	switch name {
	case "freeze":
		p.core.Freeze(p.now, crawl.Partition(p.num(words[0])))
		open, released := p.core.Open(crawl.Partition(p.num(words[0])))
		p.say("open=%v released=%v", open, released)
	case "unfreeze":
		p.core.Unfreeze(p.now, crawl.Partition(p.num(words[0])))
	case "acquired":
		p.core.Acquired(p.now, crawl.Partition(p.num(words[0])), p.future(words[1]))
	case "drop":
		p.parked(p.core.Drop(p.now, crawl.Partition(p.num(words[0]))))
	case "evict":
		p.parked(p.core.Evict(p.now, p.num(words[0])))
	case "lasttries":
		p.say("%d hosts", p.core.LastTries(p.now))
	case "forget":
		p.core.Forget(p.now, crawl.Host(words[0]))
	case "counts":
		p.say("%+v places=%d", p.core.Counts(), p.core.Places())
	case "remaining":
		p.say("%+v", p.core.Remaining(p.now))
	default:
		p.t.Fatalf("unknown command %q", name)
	}
}

func (p *player) parked(hosts []Parked) {
	for _, h := range hosts {
		p.say("parked %s %s", h.Host, p.state(h.State))
	}
}

func (p *player) activate(words []string, args scriptArgs) {
	q := Queue{
		Partition: crawl.Partition(p.num(args["p"])), Host: crawl.Host(words[0]),
		Items: p.items(words[0], args["urls"]), More: has(words, "more"),
		State: crawl.HostState{
			FrozenUntil: p.future(args["frozen"]), HoldUntil: p.future(args["hold"]),
			NotBefore: p.future(args["notbefore"]),
			Backoff:   p.dur(args["backoff"]), CrawlDelay: p.dur(args["crawldelay"]),
			Failures: p.num(args["failures"]),
		},
	}
	q.Next = Cursor{p.seq}
	if !p.core.Activate(p.now, q, p.future(args["acquired"])) {
		p.say("in memory already")
	}
}

func (p *player) resolved(words []string, args scriptArgs) {
	if words[1] == "error" {
		p.core.Resolved(p.now, crawl.Host(words[0]), nil, time.Time{}, errors.New("no such name"))
		return
	}
	var addrs []netip.Addr
	for a := range strings.SplitSeq(words[1], ",") {
		addrs = append(addrs, netip.MustParseAddr(a))
	}
	ttl := p.dur(args["ttl"])
	if ttl == 0 {
		ttl = time.Hour
	}
	p.core.Resolved(p.now, crawl.Host(words[0]), addrs, p.now.Add(ttl), nil)
}

func (p *player) next() {
	v, ok := p.core.Next(p.now)
	if !ok {
		p.say("none, look again at %s", p.at(p.core.NextWake()))
		return
	}
	robots := "no robots"
	if v.Robots != nil {
		robots = "robots"
	}
	p.say("visit %d %s addr=%s %s attempts=%d", v.ID, v.Item.URL, v.Addr, robots, v.Item.Attempts)
}

func kindOf(name string) (crawl.Kind, bool) {
	for k := crawl.Fetched; k <= crawl.Blocked; k++ {
		if k.String() == name {
			return k, true
		}
	}
	return 0, false
}

func (p *player) release(words []string, args scriptArgs) {
	kind, ok := kindOf(words[1])
	if !ok {
		p.t.Fatalf("unknown kind %q", words[1])
	}
	r := crawl.Response{
		Kind:       kind,
		Requested:  !has(words, "norequest"),
		Took:       p.dur(args["took"]),
		RetryAfter: p.dur(args["retryafter"]),
	}
	if kind == crawl.RobotsFetched {
		r.Robots = &crawl.Robots{
			Origin:     "http://" + args["origin"],
			Fetched:    p.now,
			Expires:    p.now.Add(24 * time.Hour),
			CrawlDelay: p.dur(args["crawldelay"]),
		}
	}
	s, ok := p.core.Release(p.now, uint64(p.num(words[0])), r)
	if !ok {
		p.say("unknown visit")
		return
	}
	excused := ""
	if p.core.Excused(uint64(p.num(words[0]))) {
		excused = " excused"
	}
	p.say("%s%s", p.state(s), excused)
}
