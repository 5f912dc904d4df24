package node

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"crawlnode/config"
	"crawlnode/node/crawldoc"
)

// warnAboutFlags tells, in one line, which of the flags that this node was started with
// count for nothing, because the cluster has its settings already: from its founder,
// which may be an earlier start of this very node, or from crawl-config.
func (n *Node) warnAboutFlags() {
	overruled := n.overruled()
	if len(overruled) == 0 {
		return
	}
	var flags, changes []string
	for _, o := range overruled {
		flags = append(flags, o.String())
		if o.Live {
			changes = append(changes, o.Changes()...)
		}
	}
	advice := "these cannot be changed for this crawl; another one needs another --data-dir"
	if len(changes) > 0 {
		advice = n.changeCommand(changes)
	}
	n.log.Warn("flags of this start do not count: the crawl keeps the settings that it has", "flags", strings.Join(flags, ", "), "to_change", advice)
}

// overruled are the settings that were given to this node and that the crawl has otherwise.
func (n *Node) overruled() []config.Overruled {
	stored := n.doc.Current().Doc.Settings
	overruled := n.cfg.Overruled(n.given, &stored, n.version)
	if v := n.members.Snapshot().View; v != nil {
		overruled = append(overruled, n.cfg.OverruledByFounding(n.given, v.Cluster.Partitions, v.Cluster.Replication)...)
	}
	return overruled
}

// adoptFlags makes the given settings those of the crawl, for Options.Adopt.
func (n *Node) adoptFlags() error {
	var live []config.Overruled
	var fixed, changed []string
	for _, o := range n.overruled() {
		if o.Live {
			live, changed = append(live, o), append(changed, o.Change())
		} else {
			fixed = append(fixed, o.String())
		}
	}
	if len(fixed) > 0 {
		return usageError(fmt.Errorf("%s: it cannot change for a crawl that has begun: leave it out, or give another --data-dir to begin another crawl", strings.Join(fixed, ", ")))
	}
	if len(live) == 0 {
		return nil
	}
	var refused error
	_, err := n.doc.Change(func(d *crawldoc.Document) *crawldoc.Document {
		s, err := config.Adopt(live, &d.Settings, n.version)
		if err != nil {
			refused = usageError(err)
			return nil
		}
		return d.With(s, n.id, time.Now())
	})
	if err = errors.Join(refused, err); err == nil {
		n.adopt(changed)
	}
	return err
}

// changeCommand is what a person types to change the crawl's settings through this node.
func (n *Node) changeCommand(changes []string) string {
	command := n.cfg.ChangeCommand(changes, n.http.Addr().String())
	if n.cfg.ExitWhenDone {
		command += fmt.Sprintf(" (while it runs; so that it stays: crawlnode --name %s --data-dir %s)", config.InShell(n.name), config.InShell(n.dir.Path()))
	}
	return command
}
