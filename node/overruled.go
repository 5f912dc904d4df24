package node

import (
	"fmt"
	"strings"

	"crawlnode/config"
)

// warnAboutFlags tells, in one line, which of the flags that this node was started with
// count for nothing, because the cluster has its settings already: from its founder,
// which may be an earlier start of this very node, or from crawl-config.
func (n *Node) warnAboutFlags() {
	own := n.doc.Current().Doc.Settings
	overruled := n.cfg.Overruled(n.given, &own, n.version)
	if v := n.members.Snapshot().View; v != nil {
		overruled = append(overruled, n.cfg.OverruledByFounding(n.given, v.Cluster.Partitions, v.Cluster.Replication)...)
	}
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

// changeCommand is what a person types to change the crawl's settings through this node.
func (n *Node) changeCommand(changes []string) string {
	command := "crawlnode crawl-config set"
	for _, c := range changes {
		command += " " + config.InShell(c)
	}
	command += " --addr " + n.http.Addr().String()
	if n.cfg.ClusterKeyFile != "" {
		command += " --cluster-key-file " + config.InShell(n.cfg.ClusterKeyFile)
	}
	if n.cfg.ExitWhenDone {
		command += fmt.Sprintf(" (while it runs; so that it stays: crawlnode --name %s --data-dir %s)", config.InShell(n.name), config.InShell(n.dir.Path()))
	}
	return command
}
