package join

import (
	"errors"
	"net"
	"strings"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership/gossip"
)

// Each problem with an address of --join is logged once, and shown while it lasts. Two
// cases are no mistake and are not reported: for some seconds, an address where a node
// has yet to start; and the address of a node that was there and is down, which is
// reported elsewhere.

// How long a problem with an address of --join lasts before it is reported.
const (
	silentPatience = 10 * time.Second
	wrongPatience  = 3 * time.Second // a node that is ending looks like a foreign one
)

// Trouble is an address of --join that is of no use.
type Trouble struct {
	Addr string
	// Code is crawl.ReasonJoinSilent or crawl.ReasonJoinWrong.
	Code string
	// Reason says what was found there, and how to mend it.
	Reason string
	Since  time.Time
}

// Listing is what is known of one address of --join.
type Listing struct {
	answered bool // at least once in this boot
	now      Trouble
	told     map[string]bool // codes already logged
}

// Look takes in what was found at the place. known says that the address is a member's,
// or one of a node that was in sight.
func (l *Listing) Look(p *Place, known bool, now time.Time) {
	l.answered = l.answered || p.Err == nil || p.Self
	code, reason := troubleOf(p)
	if code == crawl.ReasonJoinSilent && (l.answered || known) {
		code = ""
	}
	if code == "" {
		l.Clear()
		return
	}
	if l.now.Code != code {
		l.now.Since = now
	}
	l.now.Addr, l.now.Code, l.now.Reason = p.Addr, code, reason
}

// Due returns the trouble if it has lasted long enough to be reported.
func (l *Listing) Due(now time.Time) (Trouble, bool) {
	patience := silentPatience
	if l.now.Code == crawl.ReasonJoinWrong {
		patience = wrongPatience
	}
	return l.now, l.now.Code != "" && now.Sub(l.now.Since) >= patience
}

// Changed is Due for a trouble that Changed has not returned yet.
func (l *Listing) Changed(now time.Time) (Trouble, bool) {
	t, due := l.Due(now)
	if !due || l.told[t.Code] {
		return Trouble{}, false
	}
	if l.told == nil {
		l.told = map[string]bool{}
	}
	l.told[t.Code] = true
	return t, true
}

// Clear ends the trouble.
func (l *Listing) Clear() { l.now = Trouble{} }

// errNoAddress: a name of --join has no address.
var errNoAddress = errors.New("its name has no address now")

// troubleOf returns why a place is of no use, or "" if it is of use. memberlist's errors
// are texts, so they are recognised by their texts.
func troubleOf(p *Place) (code, reason string) {
	switch {
	case p.Self && p.Others:
		return crawl.ReasonJoinWrong, "several nodes answer at this name, this one among them: put an address of a single node first, or nobody founds the cluster"
	case p.Err == nil, p.Self:
		return "", ""
	}
	if detail, ok := mismatch(p.Err); ok {
		return crawl.ReasonJoinWrong,
			"another cluster answers there: " + strings.TrimPrefix(detail, ": ") + ": " + remedy(detail)
	}
	if why := WhyRefused(p.Err); why != "" {
		return crawl.ReasonJoinWrong, why
	}
	text := p.Err.Error()
	has := func(part string) bool { return strings.Contains(text, part) }
	switch {
	case errors.Is(p.Err, errNoAddress):
		reason = errNoAddress.Error() + " (" + whyNoAddress(p.Err) + "): correct the name, or look at DNS"
	case has("read tcp") && has("i/o timeout"):
		reason = "it accepts connections but sends nothing: name the port of --gossip, not that of --http or --rpc; or the node there hangs"
	case has("connection refused"):
		reason = "nothing listens there: start that node, or name the port of its --gossip"
	case has("unreachable"), has("no route to host"):
		reason = "the network knows no way there: correct the address, or look at the routes"
	default:
		reason = "nobody answers there: correct the address, start that node, or open its --gossip port, TCP and UDP, in the firewall"
	}
	return crawl.ReasonJoinSilent, reason
}

// whyNoAddress is the error of a lookup without ports and servers, which differ each time.
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

// isSilent reports whether an error of joining says that no node was there.
func isSilent(err error) bool {
	_, other := mismatch(err)
	return err != nil && !other && WhyRefused(err) == ""
}

// mismatch returns how the cluster that answered differs, if an error of joining says so.
func mismatch(err error) (detail string, ok bool) {
	if err == nil {
		return "", false
	}
	_, detail, ok = strings.Cut(err.Error(), gossip.ErrMismatch.Error())
	return strings.TrimSpace(detail), ok
}

// remedy is what makes two nodes fit that differ so, by the clauses of consensus.Cluster.Difference.
func remedy(detail string) string {
	switch {
	case strings.Contains(detail, "cluster id"):
		return "this node's data directory is of a cluster of its own, which stays so: correct the address, " +
			"or to join that cluster give an empty --data-dir"
	case strings.Contains(detail, "protocol version"), strings.Contains(detail, "virtual nodes"):
		return "correct the address, or run the same release of crawlnode on all nodes"
	case strings.Contains(detail, "--partitions"):
		return "correct the address or --partitions, or give an empty --data-dir"
	}
	return "correct the address or --cluster"
}

// WhyRefused explains an error of joining to an operator, if something that is not a
// fitting node answers there; "" if nothing answers.
func WhyRefused(err error) string {
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
