package ended

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/frontier/listing"
	"crawlnode/frontier/offline"
	"crawlnode/local/datadir"
	"crawlnode/membership/storage"
	"crawlnode/ring"
	"crawlnode/scheduler/core"
	"crawlnode/settings/crawldoc"
	"crawlnode/status/inspect"
	"crawlnode/web/urlnorm"
)

// Node are nodes that do not run, and answer all the same.
type Node struct {
	places  []place
	store   *offline.Store
	docs    *crawldoc.Store // the newest
	inspect *inspect.Inspector
	names   map[crawl.NodeID]string
	version string
	release []func()
}

// place is one data directory.
type place struct {
	dir     string
	members *storage.Document
}

// Open opens data directories. With copies, partitions are read too of which only a copy is there.
// version is that of this program. The error is a *datadir.LockedError when a node runs there.
func Open(copies bool, version string, dirs ...string) (n *Node, err error) {
	n = &Node{names: map[crawl.NodeID]string{}, version: version}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close())
		}
	}()
	var fronts []string
	for _, dir := range dirs {
		release, err := datadir.Hold(dir)
		if err != nil {
			return n, err
		}
		n.release = append(n.release, release)
		fronts = append(fronts, filepath.Join(dir, "frontier"))
	}
	for _, dir := range dirs {
		if err := n.add(dir); err != nil {
			return n, err
		}
	}
	if n.store, err = offline.Open(copies, fronts...); err != nil {
		return n, datadir.Class(datadir.ErrStorage, err)
	}
	n.inspect = inspect.New(inspect.Options{Self: n.places[0].members.ID, Documents: n.docs,
		Store: stores{n.store, n.docs}, Dispatcher: nobody{}, Cluster: cluster{n}})
	return n, nil
}

// add reads what a directory says of its node and of the crawl.
func (n *Node) add(dir string) error {
	raw, err := storage.NewFile(dir, nil).Load()
	if err != nil {
		return datadir.Failed("read "+filepath.Join(dir, storage.FileName), err)
	}
	if raw == nil {
		return datadir.Usage(fmt.Errorf("the node of %s has never begun: nothing was crawled there", dir))
	}
	m, err := storage.Decode(raw)
	if err != nil {
		return datadir.Failed("read "+filepath.Join(dir, storage.FileName), err)
	}
	if m.State.View == nil {
		return datadir.Usage(fmt.Errorf("the node of %s has never been in a cluster: nothing was "+
			"crawled there", dir))
	}
	if len(n.places) > 0 && n.places[0].members.Cluster.ID != m.Cluster.ID {
		return datadir.Usage(fmt.Errorf("%s and %s are of two crawls: give the directories of one",
			n.places[0].dir, dir))
	}
	docs, err := crawldoc.OpenReadOnly(dir)
	if err != nil {
		return err
	}
	n.places = append(n.places, place{dir, m})
	for _, f := range m.Former {
		n.names[f.ID] = cmp.Or(n.names[f.ID], f.Name)
	}
	for _, member := range m.State.View.Members {
		n.names[member.ID] = member.Name
	}
	n.names[m.ID] = cmp.Or(n.names[m.ID], filepath.Base(filepath.Clean(dir)))
	if n.docs == nil {
		n.docs = docs
		return nil
	}
	if docs.Current().Doc.NewerThan(n.docs.Current().Doc) {
		docs, n.docs = n.docs, docs
	}
	return docs.Close()
}

// Close lets the directories go.
func (n *Node) Close() error {
	var errs []error
	if n.store != nil {
		errs = append(errs, n.store.Close())
	}
	if n.docs != nil {
		errs = append(errs, n.docs.Close())
	}
	for _, release := range n.release {
		release()
	}
	return errors.Join(errs...)
}

// Verify reads the stores whole and names a file that is damaged: answers may lack something then.
func (n *Node) Verify() error { return n.store.Verify() }

// Partitions counts the partitions that are read, and those of which only copies are here.
func (n *Node) Partitions() (read, left int) { return n.store.Partitions() }

// ListURLs reads a page of the URLs that a query wants.
func (n *Node) ListURLs(ctx context.Context, q crawl.URLQuery) (*crawl.URLPage, error) {
	return n.store.Page(ctx, q)
}

// ExplainURL tells what is known of a URL and what the rules say of it: inspect.Inspector.URL.
func (n *Node) ExplainURL(ctx context.Context, raw string, depth int) (*crawl.URLReport, error) {
	r, err := n.inspect.URL(ctx, raw, depth)
	if err != nil || r.Partition == nil {
		return r, err
	}
	holder := n.holder(*r.Partition)
	r.Owner, r.Holder = &holder, &holder
	r.Summary = strings.TrimSuffix(r.Summary, "; crawlnode hosts show tells why its host waits")
	return r, nil
}

// DescribeHost tells what is kept of a host: inspect.Inspector.Host.
func (n *Node) DescribeHost(ctx context.Context, name string) (*crawl.HostReport, error) {
	r, err := n.inspect.Host(ctx, name)
	if err != nil {
		return nil, err
	}
	r.Owner = n.holder(r.Partition)
	r.Holder = r.Owner
	if r.State == crawl.HostParked {
		r.Summary = "its URLs wait on disk, and no node runs"
	}
	return r, nil
}

// CrawlConfig shows the settings of the crawl.
func (n *Node) CrawlConfig(context.Context) (crawl.CrawlReport, error) {
	return n.docs.Current().Doc.Report(), nil
}

// Sites returns the rules for sites.
func (n *Node) Sites(context.Context) (string, error) {
	text, _ := n.docs.Current().Sites()
	return text, nil
}

// TestSites tells which rules for sites apply to a URL: crawldoc.Rulebook.TestSites.
func (n *Node) TestSites(_ context.Context, url string, text *string) (crawl.SiteReport, error) {
	return n.docs.Current().TestSites(url, text)
}

// holder names the node in whose directory a partition is read.
func (n *Node) holder(p crawl.Partition) crawl.NodeRef {
	at, ok := n.store.Folder(p)
	if !ok {
		return crawl.NodeRef{Name: "a node whose directory was not given"}
	}
	return n.ref(n.places[at].members.ID)
}

func (n *Node) ref(id crawl.NodeID) crawl.NodeRef {
	return crawl.NodeRef{ID: id, Name: cmp.Or(n.names[id], string(id))}
}

// stores is what package inspect asks of a frontier. It says that each partition is held, so that it
// is asked for here at once, and is then told what is missing.
type stores struct {
	*offline.Store
	docs *crawldoc.Store
}

func (stores) Meta(p crawl.Partition) (frontier.Meta, bool) {
	return frontier.Meta{Partition: p, State: frontier.Holder}, true
}

func (s stores) Host(p crawl.Partition, h crawl.Host) (
	crawl.HostState, [crawl.Bands]int64, bool, error) {
	info, ok, err := s.HostInfo(p, h)
	return info.State, info.Queued, ok, err
}

// SuspiciousPerHost is the crawl's setting.
func (s stores) SuspiciousPerHost() int64 { return s.docs.Current().Doc.Settings.SuspiciousPerHost() }

// Remove refuses: an ended crawl is only read.
func (stores) Remove(context.Context, crawl.Partition, urlnorm.URL) (crawl.RecordState, error) {
	return 0, frontier.ErrNotHolder
}

// List is not asked for: Node.ListURLs reads all partitions.
func (stores) List(context.Context, crawl.Partition, *listing.Filter, listing.Position,
	listing.Budget) (listing.Page, error) {
	return listing.Page{}, frontier.ErrNotHolder
}

func (s stores) Totals() (sum crawl.Counters) {
	_, sums := s.Folders()
	for i := range sums {
		sum.Plus(&sums[i])
	}
	return sum
}

// nobody is a dispatcher without hosts: none is in memory.
type nobody struct{}

func (nobody) Inspect(context.Context, crawl.Host) (s core.HostSnapshot, ok bool, err error) {
	return s, false, nil
}

// Lacks: a node that does not run asks nobody.
func (nobody) Lacks(crawl.Host) string { return "" }

func (nobody) LastFailure(context.Context, crawl.Host) (*crawl.HostFailure, error) {
	return nil, nil
}

func (nobody) Top(context.Context, string, int) ([]core.TopHost, int, error) {
	return nil, 0, nil
}

// cluster is the cluster as the directories know it.
type cluster struct{ n *Node }

func (c cluster) Partitions() int { return c.n.places[0].members.Cluster.Partitions }

func (cluster) Table() (crawl.Epoch, *ring.Table) { return 0, nil }

func (c cluster) Owner(p crawl.Partition) crawl.NodeID { return c.n.holder(p).ID }

func (c cluster) Holder(p crawl.Partition) crawl.NodeID { return c.n.holder(p).ID }

func (cluster) Others() []crawl.NodeRef { return nil }

func (c cluster) Ref(id crawl.NodeID) crawl.NodeRef { return c.n.ref(id) }

func (cluster) HostsElsewhere() int64 { return 0 }
