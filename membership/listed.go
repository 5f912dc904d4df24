package membership

import (
	"errors"
	"net"
	"slices"
	"strings"
	"time"

	"crawlnode/crawl"
)

// What is wrong at the addresses of Join is told in one warning each, and shown while
// it lasts. Two things are nobody's mistake and are not told: an address where a node
// has yet to start, for some seconds, and one of a node that was there and is down,
// which others say.

// How long something is wrong at an address of Join before it is told.
const (
	silentPatience = 10 * time.Second
	wrongPatience  = 3 * time.Second // a node that is just ending looks like another one
)

// JoinTrouble is an address of Join that is of no use.
type JoinTrouble struct {
	Addr string
	// Code is crawl.ReasonJoinSilent or crawl.ReasonJoinWrong.
	Code string
	// Reason says what was found there, and what to do.
	Reason string
	Since  time.Time
}

// listing is what is known of one address of Join.
type listing struct {
	answered bool // in this boot, once
	now      JoinTrouble
	told     map[string]bool // codes already logged
}

// look takes in what was found at the place; known says that it is one of a member or of
// a node that was in sight.
func (l *listing) look(p *place, known bool, now time.Time) {
	l.answered = l.answered || p.err == nil || p.self
	code, reason := troubleOf(p)
	if code == crawl.ReasonJoinSilent && (l.answered || known) {
		code = ""
	}
	if code == "" {
		l.now = JoinTrouble{}
		return
	}
	if l.now.Code != code {
		l.now.Since = now
	}
	l.now.Addr, l.now.Code, l.now.Reason = p.addr, code, reason
}

// due reports whether the trouble has lasted long enough to be told.
func (l *listing) due(now time.Time) bool {
	patience := silentPatience
	if l.now.Code == crawl.ReasonJoinWrong {
		patience = wrongPatience
	}
	return l.now.Code != "" && now.Sub(l.now.Since) >= patience
}

// lookAtListed takes in a round's places, and tells what is new.
func (l *loop) lookAtListed(places []place) {
	now := time.Now()
	for i := range places {
		p := &places[i]
		at := l.listed[p.addr]
		if at == nil {
			at = &listing{told: map[string]bool{}}
			l.listed[p.addr] = at
		}
		at.look(p, l.knows(p), now)
		if p.err != nil {
			l.m.o.Logger.Debug("join failed", "addr", p.addr, "err", p.err)
		}
		if at.due(now) && !at.told[at.now.Code] {
			at.told[at.now.Code] = true
			l.m.o.Logger.Warn("an address of --join is of no use", "addr", p.addr, "reason", at.now.Reason)
		}
	}
}

// joinTroubles lists the addresses of Join that are of no use, in its order. An address
// that is in sight is not tried any more.
func (l *loop) joinTroubles(peers []Peer) []JoinTrouble {
	var out []JoinTrouble
	now := time.Now()
	for _, addr := range l.m.o.Join {
		at := l.listed[addr]
		if at == nil || !at.due(now) {
			continue
		}
		if slices.ContainsFunc(peers, func(p Peer) bool { return p.Gossip == addr && p.State == crawl.NodeAlive }) {
			at.now = JoinTrouble{}
			continue
		}
		out = append(out, at.now)
	}
	return out
}

// knows reports whether a place is one of a node that is or was in sight: it leads to
// its gossip address, or its host is the one that the node advertises.
func (l *loop) knows(p *place) bool {
	host := func(addr string) string {
		h, _, _ := net.SplitHostPort(addr)
		return h
	}
	s := l.m.snapshot.Load()
	return s != nil && slices.ContainsFunc(s.Peers, func(peer Peer) bool {
		if peer.ID == l.m.self.ID || peer.Gossip == "" {
			return false
		}
		named := host(p.addr)
		return slices.Contains(p.at, peer.Gossip) || p.addr == peer.Gossip ||
			net.ParseIP(named) == nil && (named == host(peer.RPC) || named == host(peer.HTTP))
	})
}

// errNoAddress: a name of Join stands for no address.
var errNoAddress = errors.New("its name has no address now")

// troubleOf says what was found at a place that is of no use; "" of one that is.
// memberlist's errors are texts.
func troubleOf(p *place) (code, reason string) {
	switch {
	case p.self && p.others:
		return crawl.ReasonJoinWrong, "several nodes answer at this name, this one among them: put an address of a single node first, or nobody founds the cluster"
	case p.err == nil, p.self:
		return "", ""
	}
	if detail, ok := mismatch(p.err); ok {
		return crawl.ReasonJoinWrong, "another cluster answers there: " + strings.TrimPrefix(detail, ": ") + ": correct the address or --cluster"
	}
	if why := whyNoAnswer(p.err); why != "" {
		return crawl.ReasonJoinWrong, why
	}
	text := p.err.Error()
	has := func(part string) bool { return strings.Contains(text, part) }
	switch {
	case errors.Is(p.err, errNoAddress):
		reason = errNoAddress.Error() + " (" + whyNoAddress(p.err) + "): correct the name, or look at DNS"
	case has("read tcp") && has("i/o timeout"):
		reason = "it takes connections and says nothing: name the port of --gossip, not that of --http or --rpc; or the node there hangs"
	case has("connection refused"):
		reason = "nothing listens there: start that node, or name the port of its --gossip"
	case has("unreachable"), has("no route to host"):
		reason = "the network knows no way there: correct the address, or look at the routes"
	default:
		reason = "nobody answers there: correct the address, start that node, or open its --gossip port, TCP and UDP, in the firewall"
	}
	return crawl.ReasonJoinSilent, reason
}

// whyNoAddress says it without the ports and servers, which differ each time.
func whyNoAddress(err error) string {
	var dns *net.DNSError
	switch {
	case !errors.As(err, &dns):
		return "none was found"
	case dns.IsNotFound:
		return "no such host"
	case dns.IsTimeout:
		return "the name servers do not answer"
	}
	return dns.Err
}

// isSilent reports whether an error of joining says that nobody was there.
func isSilent(err error) bool {
	_, other := mismatch(err)
	return err != nil && !other && whyNoAnswer(err) == ""
}

// mismatch returns what an error of joining says of a cluster that does not fit.
func mismatch(err error) (detail string, ok bool) {
	if err == nil {
		return "", false
	}
	_, detail, ok = strings.Cut(err.Error(), ErrMismatch.Error())
	return strings.TrimSpace(detail), ok
}

// whyNoAnswer says what an operator has to know of a join that failed because something
// else answers there, or "" when nobody does.
func whyNoAnswer(err error) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	has := func(part string) bool { return strings.Contains(text, part) }
	switch {
	case has("remote state is encrypted and encryption is not configured") && !has("remote error"):
		return "it has a cluster key and this node has none: give this node the same --cluster-key-file"
	case has("remote state is not encrypted"), has("remote error: remote state is encrypted"):
		return "it has no cluster key and this node has one: give all nodes the same --cluster-key-file"
	case has("no installed keys could decrypt"):
		return "it has another cluster key: give all nodes the same --cluster-key-file"
	case has("invalid msgType"):
		return "what listens there does not speak gossip: name the port of --gossip, not that of --http or --rpc"
	case has("EOF"), has("reset by peer"), has("broken pipe"):
		return "it closed the connection unread: another --cluster, another cluster key, or no crawlnode"
	}
	return ""
}
