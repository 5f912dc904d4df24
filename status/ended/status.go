package ended

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"crawlnode/crawl"
	"crawlnode/output/archive"
	"crawlnode/status"
)

// Status makes the status document of nodes that do not run: what was done and what is queued.
func (n *Node) Status(context.Context, bool) (*crawl.Status, error) {
	view := n.places[0].members.State.View
	for _, p := range n.places[1:] {
		if v := p.members.State.View; v.Number > view.Number {
			view = v
		}
	}
	picture := status.Picture{Now: time.Now(), Name: n.dirs(), Version: n.version, Joined: true,
		Protocol: view.Cluster.Protocol, Cluster: view.Cluster.Name, View: view.Number,
		Doc:   n.docs.Current().Doc,
		Total: view.Cluster.Partitions, Factor: view.Cluster.Replication}
	read, sums := n.store.Folders()
	for i := range n.places {
		p := &n.places[i]
		b := crawl.NodeBlock{View: p.members.State.View.Number, Counters: sums[i]}
		queued := sums[i].QueuedTotal()
		b.Node = crawl.NodeStatus{ID: p.members.ID, Name: n.ref(p.members.ID).Name, Queued: &queued,
			Partitions: crawl.PartitionCounts{Held: &read[i]}}
		if err := files(p.dir, &b.Output); err != nil {
			return nil, err
		}
		picture.Nodes = append(picture.Nodes, status.Node{
			Block: b, Heard: true, Counts: true, State: crawl.NodeStopped,
		})
	}
	s := status.Merge(picture)
	for i := range s.Nodes {
		s.Nodes[i].AgeSeconds = nil
	}
	s.Cluster.State = crawl.ClusterStopped
	s.Cluster.Message = "no node runs: this is what the data directories have"
	s.Cluster.Health = crawl.Health{Level: crawl.HealthOK, Reasons: []crawl.HealthReason{}}
	s.Ring.UnderReplicated, s.Ring.Repair = 0, crawl.RepairStatus{}
	s.Ring.Served, _ = n.Partitions()
	s.Output.WARCFilesAway, s.Output.WARCBytesAway = 0, 0
	s.Crawl.AllowedActions = []string{}
	s.Bottleneck = crawl.BottleneckStatus{Cause: crawl.BottleneckNone, Message: "no node runs"}
	if s.Crawl.State == crawl.CrawlRunning || s.Crawl.State == crawl.CrawlWaiting {
		s.Crawl.Message = fmt.Sprintf("it goes on when a node is started with --data-dir %s",
			n.places[0].dir)
	}
	return s, nil
}

// Nodes lists the nodes whose directories these are.
func (n *Node) Nodes(ctx context.Context) ([]crawl.NodeStatus, error) {
	s, err := n.Status(ctx, false)
	if err != nil {
		return nil, err
	}
	return s.Nodes, nil
}

func (n *Node) dirs() string {
	var dirs []string
	for _, p := range n.places {
		dirs = append(dirs, p.dir)
	}
	return strings.Join(dirs, ", ")
}

// files counts the archive's files of a data directory. Without --store warc there are none.
func files(dir string, o *crawl.OutputStatus) error {
	warc := filepath.Join(dir, "warc")
	if _, err := os.Stat(warc); os.IsNotExist(err) {
		return nil
	}
	paths, err := archive.Files(warc)
	if err != nil {
		return err
	}
	indexes, err := archive.Indexes(warc)
	if err != nil {
		return err
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		o.WARCFiles++
		o.WARCBytesTotal += info.Size()
	}
	for _, name := range indexes {
		info, err := os.Stat(filepath.Join(warc, name))
		if err != nil {
			return err
		}
		o.IndexBytesTotal += info.Size()
	}
	return nil
}
