package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/frontier/listing"
	"crawlnode/output/archive"
	"crawlnode/peer/fanout"
	"crawlnode/ring"
	"crawlnode/scheduler/core"
	"crawlnode/settings/crawldoc"
	"crawlnode/web/urlnorm"
)

// Options are the package's dependencies. All but Links are required.
type Options struct {
	Self       crawl.NodeID
	Documents  *crawldoc.Store
	Store      Store
	Dispatcher Dispatcher
	Archive    Archive
	Cluster    Cluster
	Peers      Peers
	// Away opens a record that no member has, in an object store; nil: there is none.
	Away func(ctx context.Context, file string, offset int64) (*archive.Member, error)
	// Audit reads the newest changes requested on this node, newest first.
	Audit func(limit int) ([]crawl.AuditEntry, error)
	// Links says what links say of a URL of a partition that this node holds; nil: it is not
	// measured.
	Links func(crawl.Partition, urlnorm.URL) (*crawl.LinksReport, error)
	// Withdraw takes a URL out of the dispatcher's memory, and reports whether a visit of it is under
	// way; then it changes nothing. Nil: no URL can be removed.
	Withdraw func(ctx context.Context, host crawl.Host, url string) (underWay bool, err error)
	// Copied notes the tenures of partitions before a change of them. What it returns waits for the
	// replicas: links.Router.Copied.
	Copied func([]crawl.Partition) func(context.Context) func(crawl.Partition) bool
	// Partitions describes the partitions that this node holds, has released, or should hold.
	Partitions func(ctx context.Context) ([]crawl.PartitionReport, error)
}

// Store has the stored data of hosts and URLs: *frontier.Frontier.
type Store interface {
	Meta(crawl.Partition) (m frontier.Meta, ok bool)
	Record(crawl.Partition, urlnorm.URL) (rec crawl.Record, ok bool, err error)
	Refer(crawl.Partition, *crawl.Record) error
	Host(crawl.Partition, crawl.Host) (s crawl.HostState, queued [crawl.Bands]int64, ok bool, err error)
	HostInfo(crawl.Partition, crawl.Host) (info frontier.HostInfo, ok bool, err error)
	SuspiciousPerHost() int64
	Remove(ctx context.Context, p crawl.Partition, u urlnorm.URL) (was crawl.RecordState, err error)
	List(ctx context.Context, p crawl.Partition, wanted *listing.Filter, after listing.Position, b listing.Budget) (listing.Page, error)
	Totals() crawl.Counters
}

// Dispatcher knows the hosts in memory. Its methods wait for a turn of its goroutine.
type Dispatcher interface {
	// Inspect returns the state of one host; ok is false when it is not in memory.
	Inspect(ctx context.Context, host crawl.Host) (s core.HostSnapshot, ok bool, err error)
	// LastFailure is why a host was last unreachable; nil: it was reached, or it is not in memory.
	LastFailure(ctx context.Context, host crawl.Host) (*crawl.HostFailure, error)
	// Lacks is what this node lacks to ask a host as the rules for sites say; "": nothing.
	Lacks(host crawl.Host) string
	// Top returns the first n hosts in an order, and counts all.
	Top(ctx context.Context, sort string, n int) (top []core.TopHost, inMemory int, err error)
}

// Archive reads this node's own WARC files.
type Archive interface {
	WriteRange(out io.Writer, r crawl.IndexRange) error
	OpenMember(file string, offset int64) (*archive.Member, error)
}

// Cluster is this node's knowledge of the cluster. Its methods read memory and call no node.
type Cluster interface {
	// Partitions is the number of partitions.
	Partitions() int
	// Table is the table of the installed view.
	Table() (view crawl.Epoch, t *ring.Table)
	// Owner is the owner of a partition by the table.
	Owner(crawl.Partition) crawl.NodeID
	// Holder is the other member that holds a partition, by its last report; "" when there is none.
	Holder(crawl.Partition) crawl.NodeID
	// Others are the other members.
	Others() []crawl.NodeRef
	// Ref names a node, also one that is gone.
	Ref(crawl.NodeID) crawl.NodeRef
	// HostsElsewhere counts the hosts that the other members know, by their last reports.
	HostsElsewhere() int64
}

// Peers sends questions to members.
type Peers interface {
	// Explain sends a question to a member's Serve.
	Explain(ctx context.Context, to crawl.NodeID, payload []byte) ([]byte, error)
	// Archive sends a question to a member's ServeArchive. The caller closes the reader.
	Archive(ctx context.Context, to crawl.NodeID, payload []byte) (io.ReadCloser, error)
	// Partitions asks a member for the result of its Options.Partitions, and for its earlier view.
	Partitions(ctx context.Context, to crawl.NodeID) (view crawl.Epoch, parts []crawl.PartitionReport, err error)
}

// Inspector answers the questions.
type Inspector struct {
	o     Options
	tops  topCache
	scans chan struct{} // one for each page of a list that is being read
}

// New makes a node's Inspector.
func New(o Options) *Inspector {
	return &Inspector{o: o, scans: make(chan struct{}, scansAtOnce)}
}

// question is a question to a member: about a URL or, when that is empty, about a host. It is sent
// as JSON, so fields are only ever added.
type question struct {
	Audit int        `json:"audit,omitempty"` // how many of the newest requested changes
	URL   string     `json:"url,omitempty"`   // canonical
	Host  crawl.Host `json:"host,omitempty"`
	// Top, if not empty, asks for the first of all hosts that the member has in memory, in that
	// order (crawl.SortQueued...).
	Top string `json:"top,omitempty"`
	// Remove asks to take the URL out of its queue.
	Remove bool `json:"remove,omitempty"`
	// List, if not nil, asks for URLs that the member holds.
	List *listQuestion `json:"list,omitempty"`
}

// answer is the answer to a question; unrequested parts are empty.
type answer struct {
	Audit  []crawl.AuditEntry  `json:"audit,omitempty"`
	Record *crawl.RecordReport `json:"record,omitempty"`
	Visits *visitsAnswer       `json:"visits,omitempty"`
	Links  *crawl.LinksReport  `json:"links,omitempty"`
	Robots *crawl.RobotsReport `json:"robots,omitempty"`
	Host   *crawl.HostReport   `json:"host,omitempty"`
	// Spent reports that the host has used up its budget of URLs that look like a trap.
	Spent bool `json:"spent,omitempty"`
	// Top is the answer to question.Top.
	Top *topHosts `json:"top,omitempty"`
	// Removal is the answer to question.Remove: crawl.RemovalDone...
	Removal string `json:"removal,omitempty"`
	// List is the answer to question.List.
	List *listAnswer `json:"list,omitempty"`
}

// ErrBadQuestion is a question that has no answer on any node.
var ErrBadQuestion = errors.New("a question about neither a canonical URL nor a host")

// errNotHeld: the asked node does not hold the partition.
var errNotHeld = errors.New("the asked node does not hold the partition")

// patience is how long a question waits for the holder of a partition that moves, and lookAgain how
// often it asks meanwhile: the next holder may be this node or another, and may be known here before
// it has the partition. A move takes a second or two, the take-over from a failed node about seven.
const (
	patience  = 10 * time.Second
	lookAgain = 50 * time.Millisecond
)

// errMoves: no member is known to hold the partition at the moment.
var errMoves = errors.New("it may be moving to a new holder")

// askHolder sends a question to the holder of a partition, which may be this node. While the
// partition moves, it waits for the next holder.
func (i *Inspector) askHolder(ctx context.Context, p crawl.Partition, q question) (answer, crawl.NodeID, error) {
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	for asked := time.Now(); ; {
		a, holder, err := i.askHolderOnce(ctx, p, q)
		moves := errors.Is(err, errMoves) || errors.Is(err, errNotHeld) || status.Code(err) == codes.FailedPrecondition
		if !moves || time.Since(asked) >= patience {
			return a, holder, err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return a, holder, err
		}
	}
}

func (i *Inspector) askHolderOnce(ctx context.Context, p crawl.Partition, q question) (answer, crawl.NodeID, error) {
	if i.holds(p) {
		a, err := i.answer(ctx, q)
		return a, i.o.Self, err
	}
	holder := i.o.Cluster.Holder(p)
	if holder == "" {
		return answer{}, "", fmt.Errorf("no member reports to hold partition %d: %w", p, errMoves)
	}
	reply, err := i.o.Peers.Explain(ctx, holder, encode(q))
	if err != nil {
		return answer{}, holder, fmt.Errorf("%s, the holder of partition %d, did not answer: %w", i.o.Cluster.Ref(holder).Name, p, err)
	}
	var a answer
	if err := json.Unmarshal(reply, &a); err != nil {
		return answer{}, holder, fmt.Errorf("%s, the holder of partition %d, sent an unreadable answer: %w", i.o.Cluster.Ref(holder).Name, p, err)
	}
	return a, holder, nil
}

// askMember sends a question to a member, whatever that holds.
func (i *Inspector) askMember(ctx context.Context, to crawl.NodeID, q question) (answer, error) {
	reply, err := i.o.Peers.Explain(ctx, to, encode(q))
	if err != nil {
		return answer{}, err
	}
	var a answer
	if err := json.Unmarshal(reply, &a); err != nil {
		return answer{}, err
	}
	return a, nil
}

// askOthers puts a question to all other members.
func (i *Inspector) askOthers(ctx context.Context, q question) []fanout.Answer[crawl.NodeRef, answer] {
	return fanout.Ask(i.o.Cluster.Others(), func(m crawl.NodeRef) (answer, error) { return i.askMember(ctx, m.ID, q) })
}

// Serve answers a question of another member.
func (i *Inspector) Serve(ctx context.Context, payload []byte) ([]byte, error) {
	var q question
	if err := json.Unmarshal(payload, &q); err != nil {
		return nil, status.Error(codes.InvalidArgument, fmt.Sprintf("the question: %v", err))
	}
	a, err := i.answer(ctx, q)
	switch {
	case errors.Is(err, errNotHeld):
		return nil, status.Error(codes.FailedPrecondition, err.Error())
	case errors.Is(err, ErrBadQuestion):
		return nil, status.Error(codes.InvalidArgument, err.Error())
	case err != nil:
		return nil, err
	}
	return encode(a), nil
}

// answer answers from this node's own store and memory.
func (i *Inspector) answer(ctx context.Context, q question) (answer, error) {
	if q.Audit > 0 {
		return i.auditAnswer(q.Audit)
	}
	if q.Top != "" {
		top, err := i.ownTop(ctx, q.Top)
		return answer{Top: top}, err
	}
	if q.List != nil {
		list, err := i.ownList(ctx, q.List)
		return answer{List: &list}, err
	}
	host := q.Host
	if q.URL != "" {
		u, err := urlnorm.ParseStored(q.URL)
		if err != nil || u.String() != q.URL {
			return answer{}, fmt.Errorf("%w: %.200q", ErrBadQuestion, q.URL)
		}
		host = crawl.Host(u.Host())
	}
	if u, err := urlnorm.Parse("http://" + string(host) + "/"); err != nil || u.Host() != string(host) {
		return answer{}, fmt.Errorf("%w: %.200q", ErrBadQuestion, host)
	}
	p := ring.PartitionOf(host, i.o.Cluster.Partitions())
	if !i.holds(p) {
		return answer{}, errNotHeld
	}
	if q.Remove {
		u, err := urlnorm.ParseStored(q.URL)
		if err != nil {
			return answer{}, fmt.Errorf("%w: %.200q", ErrBadQuestion, q.URL)
		}
		return i.removal(ctx, p, u)
	}
	info, known, err := i.o.Store.HostInfo(p, host)
	if err != nil {
		return answer{}, err
	}
	if q.URL == "" {
		return i.hostAnswer(ctx, p, host, info, known)
	}
	return i.urlAnswer(p, q.URL, info)
}

// holds reports whether this node's store holds a partition.
func (i *Inspector) holds(p crawl.Partition) bool {
	m, _ := i.o.Store.Meta(p)
	return m.State == frontier.Holder
}

// encode writes a question or an answer.
func encode(v any) []byte {
	payload, err := json.Marshal(v)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return payload
}
